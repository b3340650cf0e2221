"""`qaexp rank RUN FILE`: scores the pairs of a file, however long, with a trained run, or gives the classes of pairs."""

import argparse
import contextlib
import json
import logging
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TextIO

from qaexp.cli.command import exit_code
from qaexp.data.corpus_builder import CorpusBuilder, readable, text_names
from qaexp.data.datasets.own import seen
from qaexp.data.files import Faults, locate
from qaexp.data.rows import ENDINGS, NAMES, ending, rows
from qaexp.data.vocabulary import SPECIAL_WORDS
from qaexp.errors import ConfigError, UnrankableScoresError
from qaexp.files import atomic_write, name_another_place
from qaexp.runs.folder import checkpoint_file

if TYPE_CHECKING:
    from torch import Tensor

    from qaexp.runs.ranker import Ranker

log = logging.getLogger(__name__)

CHUNK = 512
"""The number of pairs that are scored at a time."""

LAYOUT = (
    "A line has a question and a candidate. Name other columns with --columns question=NAME candidate=NAME. Lines of one question stand "
    "together."
)


class Pair(NamedTuple):
    """A question and a candidate of a file."""

    place: str
    question: str
    candidate: str
    question_id: str
    """Empty if the file has none, as is `candidate_id`."""
    candidate_id: str

    @property
    def line(self) -> int:
        return int(self.place.partition(".")[0])


def main(arguments: Sequence[str]) -> int:
    """Returns the exit code: 0, or 2 when the run or the file cannot be read."""
    parser = argparse.ArgumentParser(
        prog="qaexp rank",
        description="Score the pairs of a file with a trained run. The file is read line by line, so it may have millions of lines. The "
        "output is a TREC run file, with the candidates of each question by rank, or JSONL, with the pairs in the order of the file. For a "
        "TREC run file, the lines of one question must stand together. If the run predicts classes, the output is JSONL, with the "
        "probability of each class. Words that are new to the run get vectors from its published files, or are read as one unknown word.",
    )
    parser.add_argument("run", type=Path, help="a run's folder, or a checkpoint")
    parser.add_argument("file", type=Path, help=f"a question and a candidate a line; ends in {', '.join(ENDINGS)}, or these and .gz")
    kinds = "JSONL if it ends in .jsonl or the run predicts classes, else a TREC run file (default: print)"
    parser.add_argument("--to", type=Path, metavar="FILE", help=kinds)
    parser.add_argument("--columns", nargs="+", default=[], metavar="OURS=THEIRS", help="names of columns, such as candidate=Reply")
    options = parser.parse_args(arguments)
    return exit_code(lambda: _rank(options))


def _rank(options: argparse.Namespace) -> int:
    columns = dict(named.partition("=")[::2] for named in options.columns)
    if odd := [name for name, theirs in columns.items() if name not in NAMES or not theirs]:
        raise ConfigError(f"--columns {odd[0]}={columns[odd[0]]}: write OURS=THEIRS, with {', '.join(NAMES)} as OURS")
    if options.file.is_dir():
        raise ConfigError(f"{options.file} is a folder; name a file in it")
    [path] = locate([options.file], LAYOUT)
    if not ending(path):
        raise ConfigError(f"{path}: name the file by its format, with the ending {', '.join(ENDINGS)}")
    if options.to and options.to.exists() and options.to.samefile(path):
        raise ConfigError(f"--to {options.to} is the file that is read; name another one")
    if options.to and options.to.suffix.lower() in (".csv", ".tsv", ".parquet", ".gz"):
        raise ConfigError(f"--to {options.to}: only JSONL and TREC run files are written; name a file such as scores.jsonl or ranking.trec")
    import torch

    from qaexp.runs.ranker import load

    ranker = load(options.run)
    as_json = bool(ranker.classes or (options.to and options.to.suffix == ".jsonl"))
    _add_words(ranker, checkpoint_file(options.run).parent, path, columns)
    ranker.scorer.to("cuda" if torch.cuda.is_available() else "cpu")
    with _opened(options.to) as out, Faults(path, LAYOUT) as faults:
        scored = _scored(_pairs(faults, columns), lambda chunk: ranker.scores([(pair.question, pair.candidate) for pair in chunk]))
        out.writelines(_json_lines(scored, ranker.classes) if as_json else _trec_lines(scored, faults, ranker.tokenise))
    if ranker.words_unknown:
        log.info(
            "%s of %s words are not in the run's vocabulary, and were read as one unknown word",
            *(f"{count:,}" for count in (ranker.words_unknown, ranker.words_read)),
        )
    return 0


def _add_words(ranker: "Ranker", run: Path, path: Path, columns: dict[str, str]) -> None:
    """Add words of the file that are new to the run to the ranker, with their vectors from the run's published files, if it has any."""
    from qaexp.runs.record import vector_files_of

    if ranker.scorer.subwords or not vector_files_of(run):
        return
    known, new = set(ranker.vocabulary.words), dict[str, None]()
    for pair in _pairs(Faults(path, LAYOUT), columns):  # faults are reported when the pairs are scored
        for text in (pair.question, pair.candidate):
            new.update(dict.fromkeys(word for word in map(readable, ranker.tokenise(text)) if word not in known))
    if not new:
        return
    import numpy as np
    import torch

    from qaexp.training.evaluate import vectors_of  # needs Lightning

    builder = CorpusBuilder()
    builder.text(list(new))
    corpus = builder.build()
    if vectors := vectors_of(corpus, run):
        added = vectors.known if ranker.drop_unknown else np.arange(len(SPECIAL_WORDS), len(corpus.vocabulary))
        if ranker.add_words([corpus.vocabulary.words[number] for number in added], torch.from_numpy(vectors.matrix[added])):
            log.info(
                "%s words are new to the run; %s of them have vectors in its files%s",
                *(f"{len(new):,}", f"{len(vectors.known):,}", ", and the others are left out" if ranker.drop_unknown else ""),
            )


@contextlib.contextmanager
def _opened(path: Path | None) -> Iterator[TextIO]:
    """The file to write, which appears when it is complete, or standard output."""
    if path is None:
        yield sys.stdout
        return
    with atomic_write(path, name_another_place("--to FILE")) as staging, staging.open("w", encoding="utf-8", newline="\n") as file:
        yield file


def _pairs(faults: Faults, columns: dict[str, str]) -> Iterator[Pair]:
    for place, row in rows(faults, columns, required=("question", "candidate")):
        texts = [row["question"], row["candidate"]]
        ids = ["" if row.get(name) is None else str(row[name]) for name in ("question_id", "candidate_id")]
        if odd := [text for text in texts if not isinstance(text, str)]:
            faults.add(int(place.partition(".")[0]), f"{odd[0]!r} is not text")
        elif odd := [name for name in ids if name and name.split() != [name]]:
            faults.add(int(place.partition(".")[0]), f"the id {odd[0]!r} has white space, which a TREC run file cannot hold")
        else:
            yield Pair(place, *texts, *ids)


def _scored(pairs: Iterable[Pair], score: "Callable[[Sequence[Pair]], Tensor]") -> Iterator[tuple[Pair, "Tensor"]]:
    """Yields each pair with its score, or with a score for each class. Pairs are scored in chunks.

    Raises:
        UnrankableScoresError: a score is NaN.
    """
    rest = iter(pairs)
    while chunk := list(islice(rest, CHUNK)):
        scores = score(chunk)
        if odd := next((pair for pair, value in zip(chunk, scores, strict=True) if value.isnan().any()), None):
            raise UnrankableScoresError(f"the score of line {odd.line} is NaN: has training diverged?")
        yield from zip(chunk, scores, strict=True)


def _json_lines(scored: Iterable[tuple[Pair, "Tensor"]], classes: Sequence[str]) -> Iterator[str]:
    for pair, score in scored:
        named = {"question_id": pair.question_id, "candidate_id": pair.candidate_id}
        entry = {**{name: value for name, value in named.items() if value}, "question": pair.question, "candidate": pair.candidate}
        if classes:
            probabilities = dict(zip(classes, score.softmax(dim=0).tolist(), strict=True))
            found = {"predicted": classes[int(score.argmax())], "probabilities": probabilities}
        else:
            found = {"score": score.item()}
        yield json.dumps({**entry, **found}, ensure_ascii=False) + "\n"


def _trec_lines(scored: Iterable[tuple[Pair, "Tensor"]], faults: Faults, tokenise: Callable[[str], list[str]]) -> Iterator[str]:
    """Yields the lines of a TREC run file, one pool at a time. It treats missing ids and repeated candidates as `dataset=own` does."""
    key, name, shown, pool = "", "", "", dict[int, tuple[str, float, str]]()
    finished = set[int]()
    for pair, score in scored:
        asked, answer = seen(pair.question), seen(pair.candidate)
        if (of := pair.question_id or asked) != key or not pool:
            yield from _ranked(name, pool)
            if pool:
                finished.add(hash(key))
            if hash(of) in finished:
                faults.add(pair.line, "other questions stand between this line and those of its question; sort the file by question")
            key, name, shown, pool = of, pair.question_id or f"Q{pair.line}", asked, {}
        elif shown != asked:
            faults.add(pair.line, f"id {name} already belongs to another question")
        words = [] if pair.candidate_id else text_names([tokenise(pair.candidate)])
        same = hash(pair.candidate_id or (*words, answer))
        kept = pool.setdefault(same, (pair.candidate_id or f"{words[0]}-{pair.place}", score.item(), answer))
        if kept[2] != answer:
            faults.add(pair.line, f"candidate {kept[0]} had another text in an earlier line")
    yield from _ranked(name, pool)


def _ranked(question: str, pool: dict[int, tuple[str, float, str]]) -> Iterator[str]:
    """By falling score; of equal scores the larger id is first, as in trec_eval."""
    in_order = sorted(pool.values(), key=lambda each: (each[1], each[0].encode()), reverse=True)
    for rank, (candidate, score, _) in enumerate(in_order, start=1):
        yield f"{question} Q0 {candidate} {rank} {score:.9g} qaexp\n"
