"""`qaexp measure QRELS RUN ...`: measures of the run files of any system."""

import argparse
import json
import logging
from collections.abc import Iterator, Sequence
from pathlib import Path

from qaexp.cli.command import print_lines
from qaexp.evaluation.conventions import CONVENTIONS, METRICS
from qaexp.evaluation.measures import heading, measure_keys

log = logging.getLogger(__name__)


def main(arguments: Sequence[str]) -> int:
    """Returns the exit code: 0, or 2 when a file cannot be read."""
    parser = argparse.ArgumentParser(
        prog="qaexp measure",
        description="Measure run files of any system against judgements, as trec_eval does: candidates without a judgement count as wrong; "
        "questions without judgements, and judged questions that a run lacks, are left out of its means.",
    )
    parser.add_argument("qrels", type=Path, help="judgements, with lines: question 0 candidate label; may end in .gz")
    parser.add_argument("runs", type=Path, nargs="+", metavar="run", help="run file, with lines: question Q0 candidate rank score tag")
    add_measures(parser)
    parser.add_argument("--convention", choices=CONVENTIONS, default="trec", help="rules of ties and divisors (default: %(default)s)")
    parser.add_argument("-c", "--complete", action="store_true", help="count judged questions that a run lacks as 0, as trec_eval -c does")
    parser.add_argument("-q", "--per-question", action="store_true", help="print the measures of each question, too")
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args(arguments)
    return print_lines(lambda: _lines(options))


def add_measures(parser: argparse.ArgumentParser) -> None:
    """The option `--measures`."""
    parser.add_argument(
        "--measures",
        nargs="+",
        metavar="NAME",
        default=METRICS,
        help="such as AP RR nDCG@10 P@1 R@5 Success@1, or any name of ir-measures (default: P@1 RR AP P@5 nDCG@10)",
    )


def _lines(options: argparse.Namespace) -> Iterator[str]:
    keys = measure_keys(options.measures)
    from qaexp.evaluation.run_files import Qrels, measure_run  # needs torch

    qrels, listed = Qrels.read(options.qrels), []
    rows = [["run", *map(heading, keys), "questions"]]
    for path in options.runs:
        found = measure_run(path, qrels, keys, options.convention, options.complete)
        if found.not_judged:
            log.warning("%s: %d of its questions have no judgements and are left out", path, found.not_judged)
        if found.not_ranked:
            how = "count as 0" if options.complete else "are left out; -c counts them as 0"
            log.warning("%s lacks %d of the %d judged questions; they %s", path, found.not_ranked, len(qrels.questions), how)
        means = found.values.mean()
        if options.json:
            each = {"per question": found.values.to_dict("index")} if options.per_question else {}
            listed.append({"run": str(path), "questions": len(found.values), "measures": means.to_dict(), **each})
            continue
        if options.per_question:
            rows += [[f"{path} {question}", *_shown(values), ""] for question, *values in found.values.itertuples()]
        rows.append([str(path), *_shown(means.tolist()), str(len(found.values))])
    if options.json:
        yield json.dumps({"qrels": str(options.qrels), "convention": options.convention, "runs": listed}, indent=1)
    else:
        yield from aligned(rows)
        yield f"convention {options.convention}"


def _shown(values: Sequence[float]) -> list[str]:
    return [f"{value:.4f}" for value in values]


def aligned(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Rows as aligned lines: the first column to the left, the others to the right.

    >>> list(aligned([["run", "MAP"], ["a.run", "0.5"]]))
    ['run    MAP', 'a.run  0.5']
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for first, *others in rows:
        cells = [first.ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(others, widths[1:], strict=True))]
        yield "  ".join(cells).rstrip()
