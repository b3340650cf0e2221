"""`qaexp compare RUN_A RUN_B ...`: tests the differences of systems on the same questions."""

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path

from qaexp.cli.command import print_lines
from qaexp.cli.measure import add_measures, aligned
from qaexp.evaluation.conventions import CONVENTIONS


def main(arguments: Sequence[str]) -> int:
    """Returns the exit code: 0, or 2 when the runs cannot be compared."""
    parser = argparse.ArgumentParser(
        prog="qaexp compare",
        description="Compare systems question by question: the mean difference (first minus second) with its 95% interval, Cohen's d of "
        "paired values, on how many questions the first is better, equal and worse, and p, also after Holm's correction for all rows.",
    )
    parser.add_argument("runs", type=Path, nargs="+", metavar="run", help="folders of runs or evaluations; with --qrels, run files")
    parser.add_argument("--qrels", type=Path, help="judgements; needed for run files")
    add_measures(parser)
    parser.add_argument("--split", default="test", help="the split to compare in folders (default: %(default)s)")
    parser.add_argument(
        "--test", choices=("randomisation", "t"), default="randomisation", help="the paired test behind p (default: %(default)s)"
    )
    parser.add_argument(
        "--convention",
        choices=CONVENTIONS,
        default="trec",
        help="with --qrels: rules of ties and divisors; without it, those of the runs count (default: %(default)s)",
    )
    parser.add_argument("-c", "--complete", action="store_true", help="with --qrels, count judged questions that a run lacks as 0")
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args(arguments)
    return print_lines(lambda: _lines(options))


def _lines(options: argparse.Namespace) -> Iterator[str]:
    from qaexp.runs.comparison import compare_runs

    table = compare_runs(options.runs, options.qrels, options.measures, options.split, options.test, options.convention, options.complete)
    if options.json:
        yield str(table.to_json(orient="records", indent=1))
        return
    systems = list(dict.fromkeys([*table["first"], *table["second"]]))
    letters = {name: f"({number})" for number, name in enumerate(systems, 1)}
    yield from (f"{letters[name]} {name}" for name in systems)
    rows = [["measure", "pair", "first", "second", "difference", "95% interval", "d", "+ = -", "p", "p (Holm)"]]
    for row in table.to_dict("records"):
        rows.append(
            [
                row["measure"],
                f"{letters[row['first']]}-{letters[row['second']]}",
                f"{row['first mean']:.4f}",
                f"{row['second mean']:.4f}",
                f"{row['difference']:+.4f}",
                f"{row['low']:+.4f} to {row['high']:+.4f}",
                f"{row['d']:+.2f}",
                f"{row['better']} {row['equal']} {row['worse']}",
                f"{row['p']:.3g}",
                f"{row['p (Holm)']:.3g}",
            ]
        )
    yield from aligned(rows)
