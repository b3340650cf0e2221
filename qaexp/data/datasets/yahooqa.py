"""YahooQA (Tay et al. 2017): the published pickle, read without running any of its code, and two small text files of the same kind."""

import io
import pickle
import reprlib
import zipfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from random import Random
from typing import Any

from qaexp.data.corpus import RankingCorpus
from qaexp.data.corpus_builder import CorpusBuilder, connected_groups, held_out_counts, text_names
from qaexp.data.fetch.remotes import fetch_hint
from qaexp.data.files import UNREADABLE, Faults, lines, locate, published
from qaexp.data.tokenise import bare
from qaexp.errors import plural
from qaexp.limits import Rate, Seed

POOL = 5
"""Candidates per question: one right, four wrong."""

ADMITTED = {(module, kind.__name__): kind for module in ("builtins", "__builtin__") for kind in (set, frozenset)}
"""The globals that a pickle may use. The other containers, strings and numbers need none."""


class RestrictedUnpickler(pickle._Unpickler):
    """Unpickles builtin containers, strings and numbers only. It stops at any other name before importing it.

    It is the unpickler written in Python, three times as slow as the one in C, which allocates as much memory as the largest index in the
    file asks for.

    >>> RestrictedUnpickler(io.BytesIO(pickle.dumps({"train": [("why", {1, 2.5})]}))).load()
    {'train': [('why', {1, 2.5})]}
    >>> RestrictedUnpickler(io.BytesIO(pickle.dumps(print))).load()
    Traceback (most recent call last):
    ...
    _pickle.UnpicklingError: it names the global builtins.print: only builtin containers, strings and numbers are read
    """

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in ADMITTED:
            raise pickle.UnpicklingError(f"it names the global {module}.{name}: only builtin containers, strings and numbers are read")
        return ADMITTED[module, name]


REMEDY = "The pickle is not laid out as its readme says. If only its keys differ, name them in dataset.reader.splits."

MAX_PICKLE = 1 << 28
"""Bytes: four times what the published pairs have in plain text."""

DAMAGED = (pickle.UnpicklingError, EOFError, AttributeError, ImportError, LookupError, TypeError, ValueError, MemoryError, OverflowError)
"""Raised by a damaged or hostile pickle."""


@dataclass(frozen=True)
class YahooQAReader:
    """Reads `env.pkl.zip`, a zip archive with one pickle.

    The file could not be obtained here, so its content is unknown. Its layout is taken from the readme of its repository
    (vanzytay/YahooQA_Splits: a dictionary, "split into train, test and dev, which are by itself, dictionaries of the format
    train_QA[question] = [[ans1,0],[ans2,1],[ans3],0] etc.") and from public programs, which go through `env[split].items()` and split each
    candidate into text and label. A file in another layout is refused, and the error shows the keys that were found.

    Reading: a text is a string or a list of words. A list is joined by spaces; then the tokeniser splits the text. Python 2 wrote the file:
    its byte strings are taken as UTF-8, and texts with other bytes are counted. Repeated candidates stay, as the published number of pairs
    (253K for 50.1K questions) speaks of pools of more than five.
    """

    folder: str
    file: str
    splits: Mapping[str, str]
    """Split to the key of the pickled dictionary."""
    tokenise: Callable[[str], list[str]]

    version = 1

    def files(self) -> list[Path]:
        """The zip.

        Raises:
            MissingDataError: it is absent.
        """
        return locate([Path(self.folder) / self.file], fetch_hint("yahooqa"))

    def read(self) -> RankingCorpus:
        """Read every split.

        Raises:
            BadDataError: the file is damaged, names a global, or has another layout.
        """
        builder, tokenise = CorpusBuilder(), bare(self.tokenise)
        (path,) = self.files()
        env = _unpickled(path)
        with Faults(path, REMEDY) as faults:
            for split, key in self.splits.items():
                builder.split(split)
                if not isinstance(env, dict) or not isinstance(env.get(key), dict) or not env[key]:
                    faults.add_whole(f"split {split}: no dictionary of questions under the key {key!r}; there is {_shape(env)}")
                    continue
                for number, (question, pool) in enumerate(env[key].items(), start=1):
                    wrong = list(_pool_faults(question, pool))
                    for fault in wrong:
                        faults.add_whole(f"question {number} of {key!r}: {fault}")
                    if not wrong:
                        candidates = [(_text(answer), int(label)) for answer, label in pool]
                        _add(builder, split, f"{split}-{number}", _text(question), candidates, tokenise)
        return builder.build()


def _unpickled(path: Path) -> Any:
    """The content of the only pickle in a zip archive."""
    with published(path, f"It was not opened further. {fetch_hint('yahooqa')}") as faults:
        try:
            with zipfile.ZipFile(path) as archive:
                names = [name for name in archive.namelist() if name.endswith(".pkl") and not name.startswith("__MACOSX/")]
                if len(names) != 1:
                    faults.add_whole(f"one .pkl file is expected in it; there is {', '.join(archive.namelist()[:10]) or 'nothing'}")
                    return None
                if archive.getinfo(names[0]).file_size > MAX_PICKLE:
                    faults.add_whole(f"{names[0]} unpacks to more than {MAX_PICKLE:,} bytes")
                    return None
                content = archive.read(names[0])
        except UNREADABLE as error:
            faults.add_whole(f"it is not a whole zip file ({error})")
            return None
        try:
            return RestrictedUnpickler(io.BytesIO(content), encoding="utf-8", errors="replace").load()
        except DAMAGED as error:
            faults.add_whole(f"{names[0]}: {error or type(error).__name__}")


def _shape(value: object) -> str:
    """Describes a value in a few words.

    >>> _shape({"train_QA": [1], "dev_QA": {}})
    "a dict of 2 with the keys 'train_QA' (a list of 1), 'dev_QA' (a dict of 0)"
    """
    if isinstance(value, dict):
        keys = ", ".join(f"{reprlib.repr(key)} ({_brief(of)})" for key, of in list(value.items())[:20])
        return f"{_brief(value)} with the keys {keys}"
    return _brief(value)


def _brief(value: object) -> str:
    size = f" of {len(value)}" if isinstance(value, (dict, list, tuple, set, frozenset, str, bytes)) else ""
    name = type(value).__name__
    return f"{'an' if name[0] in 'aeiou' else 'a'} {name}{size}"


def _is_text(value: object) -> bool:
    return isinstance(value, str) or (isinstance(value, (list, tuple)) and all(isinstance(word, str) for word in value))


def _text(value: str | Iterable[str]) -> str:
    return value if isinstance(value, str) else " ".join(value)


def _pool_faults(question: object, pool: object) -> Iterator[str]:
    if not _is_text(question):
        yield f"the question is {_brief(question)}, a text expected"
    if not isinstance(pool, (list, tuple)):
        yield f"the pool is {_shape(pool)}, a list expected"
        return
    for place, candidate in enumerate(pool):
        if not isinstance(candidate, (list, tuple)) or len(candidate) != 2 or not _is_text(candidate[0]):
            yield f"candidate {place} is {reprlib.repr(candidate)}, [text, label] expected"
        elif not isinstance(candidate[1], (int, float)) or candidate[1] not in (0, 1):
            yield f"candidate {place}: the label is {reprlib.repr(candidate[1])}, 0 or 1 expected"


def _add(
    builder: CorpusBuilder,
    split: str,
    question_id: str,
    question: str,
    candidates: Sequence[tuple[str, int]],
    tokenise: Callable[[str], list[str]],
) -> None:
    if any("\N{REPLACEMENT CHARACTER}" in text for text in (question, *(text for text, _ in candidates))):
        builder.note("pools with bytes that are not UTF-8 (replaced)")
    text = builder.text(tokenise(question), written=question)
    pool = [tokenise(candidate) for candidate, _ in candidates]
    texts = [builder.text(words, written=candidate) for words, (candidate, _) in zip(pool, candidates, strict=True)]
    builder.question(split, question_id, text, zip(text_names(pool), texts, (label for _, label in candidates), strict=True))
    if split == "train":
        for answer in texts:
            builder.answer(answer)


HINT = f"{fetch_hint('yahooqa_partial')} For the whole set use dataset=yahooqa: {fetch_hint('yahooqa')}"


@dataclass(frozen=True)
class YahooQATextReader:
    """Reads two public excerpts of Yahoo! Answers ranking data, which hold a question, an answer and a label on each line.

    Every question has five candidates, one of them right. The excerpts carry no split: one is drawn here, from `split_seed`, so that no
    text (a question, a right or a wrong answer; equal if their tokens are) is in two splits. Pools that have a text in common, directly or
    through other pools, form one group. Groups are drawn for dev and test until these have their shares; a group that is too large for what
    is left of both goes to train. With a split by question alone, a rule that ignores the question and ranks the wrong answers of training
    last has a test P@1 of 0.52, since each wrong answer of the hash file serves three or four questions.

    Departs: seven tenths of the pools are one group, among them all of the hash file; dev and test come from the tab-separated file.
    Whether the published splits share answers cannot be seen here.

    Reading: five lines make a pool. The tab-separated file is sorted, so the lines of a question that was asked k times are mixed (18
    questions): each of the k pools gets one right answer, and the wrong ones in turn. If the k pools shared their wrong answers, which are
    then k times in the file, this restores the pools.

    The last line of a file may be cut off, as the tab-separated one's is; it is left out and counted.
    """

    folder: str
    hash_separated: str
    tab_separated: str
    tokenise: Callable[[str], list[str]]
    split_seed: Seed
    dev_share: Rate
    """The largest share of the pools that goes to dev; `test_share` likewise."""
    test_share: Rate

    version = 2

    def files(self) -> list[Path]:
        """The two files, `#`-separated and tab-separated.

        Raises:
            MissingDataError: naming those that are absent.
        """
        return locate([Path(self.folder) / name for name in (self.hash_separated, self.tab_separated)], HINT)

    def read(self) -> RankingCorpus:
        """Read both files and draw the splits.

        Raises:
            BadDataError: a line's number of fields or its label, or the number of a question's lines or right answers is wrong.
        """
        builder, tokenise = CorpusBuilder(), bare(self.tokenise)
        pools: list[tuple[str, str, list[tuple[str, int]]]] = []
        for name, path, separator in zip(("hash", "tab"), self.files(), ("#", "\t"), strict=True):
            with published(path, HINT) as faults:
                pools += ((f"{name}-{line}", question, pool) for line, question, pool in read_text_file(faults, separator, builder))
        texts = [[" ".join(tokenise(text)) for text in (question, *(answer for answer, _ in pool))] for _, question, pool in pools]
        split_of = self._draw_splits(texts)
        for split in ("train", "dev", "test"):
            builder.split(split)
            for of, (question_id, question, pool) in zip(split_of, pools, strict=True):
                if of == split:
                    _add(builder, split, question_id, question, pool, tokenise)
        return builder.build()

    def _draw_splits(self, texts: Sequence[Sequence[str]]) -> list[str]:
        """Assigns each pool, given by its texts, to a split."""
        first_with = dict[str, int]()
        shared = [(first_with.setdefault(text, number), number) for number, pool in enumerate(texts) for text in pool]
        group_of = connected_groups(len(texts), shared)
        size_of = Counter(group_of)
        num_dev, num_test = held_out_counts(len(texts), self.dev_share, self.test_share)
        room = {"dev": num_dev, "test": num_test}
        split_of = dict[int, str]()
        for group in Random(self.split_seed).sample(sorted(size_of), len(size_of)):
            split_of[group] = next((split for split in room if size_of[group] <= room[split]), "train")
            if split_of[group] in room:
                room[split_of[group]] -= size_of[group]
        return [split_of[group] for group in group_of]


def read_text_file(faults: Faults, separator: str, builder: CorpusBuilder) -> list[tuple[int, str, list[tuple[str, int]]]]:
    """The pools of the file of `faults`: line, question, and candidates with their labels."""
    pools: list[tuple[int, str, list[tuple[str, int]]]] = []
    for question, run in groupby(_rows(faults, separator, builder), key=lambda row: row[1][0]):
        rows = list(run)
        first, candidates = rows[0][0], [(answer, int(label)) for _, (_, answer, label) in rows]
        right = sum(label for _, label in candidates)
        if len(candidates) != POOL * right:
            faults.add(first, f"{len(candidates)} lines of {question[:40]!r} with {right} right, 1 in {POOL} expected")
            continue
        pools += ((first + POOL * number, question, pool) for number, pool in enumerate(_pools(candidates)))
    if not pools and not faults:
        faults.add_whole("there is no question")
    return pools


def _rows(faults: Faults, separator: str, builder: CorpusBuilder) -> Iterator[tuple[int, list[str]]]:
    """The three fields of each line, with its number."""
    cut_off: tuple[int, int] | None = None
    for line, text in lines(faults):
        if cut_off:
            faults.add(cut_off[0], f"{plural(cut_off[1], 'field')}, 3 expected")
            cut_off = None
        fields = text.split(separator)
        if len(fields) != 3:
            cut_off = line, len(fields)
        elif fields[2] not in ("0", "1"):
            faults.add(line, f"the label is {fields[2]!r}, 0 or 1 expected")
        else:
            yield line, fields
    if cut_off:
        builder.note("last lines that are cut off (left out)")


def _pools(candidates: list[tuple[str, int]]) -> list[list[tuple[str, int]]]:
    """A question's candidates as pools: five by five, if each five are distinct and have one right answer; otherwise one right answer for
    each pool, and the wrong ones in turn.

    >>> [[answer for answer, _ in pool] for pool in _pools([("a", 0), ("a", 0), ("b", 0), ("b", 0), ("c", 0), ("c", 0),
    ...     ("r", 1), ("s", 1), ("z", 0), ("z", 0)])]
    [['r', 'a', 'b', 'c', 'z'], ['s', 'a', 'b', 'c', 'z']]
    """
    fives = [candidates[start : start + POOL] for start in range(0, len(candidates), POOL)]
    if all(sum(label for _, label in five) == 1 and len(dict(five)) == POOL for five in fives):
        return fives
    right = [candidate for candidate in candidates if candidate[1]]
    wrong = [candidate for candidate in candidates if not candidate[1]]
    return [[answer, *wrong[place :: len(right)]] for place, answer in enumerate(right)]
