"""`qaexp evaluate RUN dataset=...`: ranks a data set with a trained run and measures it."""

import argparse
import json
import logging
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path

from qaexp.cli.command import print_lines
from qaexp.cli.measure import aligned

log = logging.getLogger(__name__)


def main(arguments: Sequence[str]) -> int:
    """Returns the exit code: 0, or 2 when the run or the data set cannot be read."""
    parser = argparse.ArgumentParser(
        prog="qaexp evaluate",
        description="Rank the dev and test sets of a data set with a trained run, measure the rankings and write them. Without options, it "
        "is the run's own data set. Words that are new to the run get vectors from the run's files, or are read as one unknown word.",
    )
    parser.add_argument("run", type=Path, help="a run's folder, or a checkpoint")
    parser.add_argument("options", nargs="*", default=[], metavar="dataset=NAME", help="the data set and its options, as in training")
    parser.add_argument("--to", type=Path, metavar="FOLDER", help="where to write (default: evaluations/<data set> in the run's folder)")
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_intermixed_args(arguments)
    return print_lines(lambda: _lines(options))


def _lines(options: argparse.Namespace) -> Iterator[str]:
    from qaexp.api import evaluate
    from qaexp.evaluation.measures import heading, is_measure

    done = evaluate(options.run, options.options, to=options.to)
    if options.json:
        yield json.dumps({**asdict(done), "folder": str(done.folder)}, indent=1)
        return
    names = list(dict.fromkeys(name for metrics in done.metrics.values() for name in metrics))
    shown = [name for name in names if is_measure(name) or name in ("questions", "pairs")]
    rows = [["split", *(heading(name) for name in shown)]]
    for split, metrics in done.metrics.items():
        rows.append([split, *(f"{metrics[name]:{',' if isinstance(metrics[name], int) else '.4f'}}" for name in shown)])
    yield from aligned(rows)
    words = done.words
    if words.outside and not words.unknown:
        yield f"{words.outside:,} words are new to the run; {words.with_vectors:,} of them have vectors in its files, others random ones"
    if words.unknown:
        yield f"{words.unknown:,} words ({words.share_unknown:.1%} of all words) are new to the run, which read them as one unknown word"
    yield f"convention {done.convention}"
    yield f"saved in {done.folder}"
