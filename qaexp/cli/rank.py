"""`qaexp rank RUN FILE`: scores the pairs of a file, however long, with a trained run."""

import argparse
import contextlib
import json
import logging
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from math import isnan
from pathlib import Path
from typing import NamedTuple, TextIO

from qaexp.cli.command import exit_code
from qaexp.data.corpus_builder import text_names
from qaexp.data.datasets.own import seen
from qaexp.data.files import Faults, locate
from qaexp.data.rows import ENDINGS, NAMES, ending, rows
from qaexp.errors import ConfigError
from qaexp.evaluation.ranks import UnrankableScoresError
from qaexp.files import atomic_write, name_another_place

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
        description="Score the pairs of a file with a trained run. The file is read line by line, so it may have millions. A run of TREC "
        "has the candidates of each question by rank, so lines of one question stand together; JSONL has the pairs as they come.",
    )
    parser.add_argument("run", type=Path, help="a run's folder, or a checkpoint")
    parser.add_argument("file", type=Path, help=f"a question and a candidate a line; ends in {', '.join(ENDINGS)}, or these and .gz")
    parser.add_argument("--to", type=Path, metavar="FILE", help="JSONL if it ends in .jsonl, else a run of TREC (default: print that)")
    parser.add_argument("--columns", nargs="+", default=[], metavar="OURS=THEIRS", help="names of columns, such as candidate=Reply")
    options = parser.parse_args(arguments)
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    return exit_code(lambda: _rank(options))


def _rank(options: argparse.Namespace) -> int:
    columns = dict(named.partition("=")[::2] for named in options.columns)
    if odd := [name for name, theirs in columns.items() if name not in NAMES or not theirs]:
        raise ConfigError(f"--columns {odd[0]}={columns[odd[0]]}: write one of {', '.join(NAMES)}, =, and the file's name of it")
    [path] = locate([options.file], LAYOUT)
    if not ending(path):
        raise ConfigError(f"{path}: its ending should say what it is: {', '.join(ENDINGS)}")
    import torch

    from qaexp.runs.ranker import load

    ranker = load(options.run)
    if ranker.classes:
        raise ConfigError(f"{options.run} predicts one of {', '.join(ranker.classes)} and ranks nothing; name a run that ranks")
    ranker.scorer.to("cuda" if torch.cuda.is_available() else "cpu")
    with _opened(options.to) as out, Faults(path, LAYOUT) as faults:
        scored = _scored(_pairs(faults, columns), lambda chunk: ranker.scores([(pair.question, pair.candidate) for pair in chunk]).tolist())
        as_json = options.to and options.to.suffix == ".jsonl"
        out.writelines(_json_lines(scored) if as_json else _trec_lines(scored, faults, ranker.tokenise))
    if ranker.words_unknown:
        log.info(
            "%s of %s words are not in the run's vocabulary, and were read as one unknown word",
            *(f"{count:,}" for count in (ranker.words_unknown, ranker.words_read)),
        )
    return 0


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
            faults.add(int(place.partition(".")[0]), f"{odd[0]!r} is no text")
        elif odd := [name for name in ids if name and name.split() != [name]]:
            faults.add(int(place.partition(".")[0]), f"the id {odd[0]!r} has white space, which a run of TREC cannot hold")
        else:
            yield Pair(place, *texts, *ids)


def _scored(pairs: Iterable[Pair], score: Callable[[Sequence[Pair]], list[float]]) -> Iterator[tuple[Pair, float]]:
    """Each pair with its score, a chunk at a time.

    Raises:
        UnrankableScoresError: a score is NaN.
    """
    rest = iter(pairs)
    while chunk := list(islice(rest, CHUNK)):
        scores = score(chunk)
        if odd := next((pair for pair, value in zip(chunk, scores, strict=True) if isnan(value)), None):
            raise UnrankableScoresError(f"the score of line {odd.line} is NaN: has training diverged?")
        yield from zip(chunk, scores, strict=True)


def _json_lines(scored: Iterable[tuple[Pair, float]]) -> Iterator[str]:
    for pair, score in scored:
        named = {"question_id": pair.question_id, "candidate_id": pair.candidate_id}
        entry = {**{name: value for name, value in named.items() if value}, "question": pair.question, "candidate": pair.candidate}
        yield json.dumps({**entry, "score": score}, ensure_ascii=False) + "\n"


def _trec_lines(scored: Iterable[tuple[Pair, float]], faults: Faults, tokenise: Callable[[str], list[str]]) -> Iterator[str]:
    """A pool at a time. Ids that the file lacks are those of `dataset=own`, and so are its rules for repeated candidates."""
    key, name, pool = "", "", dict[int, tuple[str, float]]()
    finished = set[int]()
    for pair, score in scored:
        if (of := pair.question_id or seen(pair.question)) != key or not pool:
            yield from _ranked(name, pool)
            finished.add(hash(key))
            if hash(of) in finished:
                faults.add(pair.line, "other questions stand between this line and those of its question; sort the file by question")
            key, name, pool = of, pair.question_id or f"Q{pair.line}", {}
        words = [] if pair.candidate_id else text_names([tokenise(pair.candidate)])
        same = hash(pair.candidate_id or (*words, seen(pair.candidate)))
        pool.setdefault(same, (pair.candidate_id or f"{words[0]}-{pair.place}", score))
    yield from _ranked(name, pool)


def _ranked(question: str, pool: dict[int, tuple[str, float]]) -> Iterator[str]:
    """By falling score; of equal scores the larger id is first, as in trec_eval."""
    in_order = sorted(pool.values(), key=lambda each: (each[1], each[0].encode()), reverse=True)
    for rank, (candidate, score) in enumerate(in_order, start=1):
        yield f"{question} Q0 {candidate} {rank} {score:.9g} qaexp\n"
