"""`make reproduce-table4`: the papers' tables and figures, from their files in `experiments/` to runs, to what we measured beside theirs.

python -m qaexp.reproduce --table 4 --paper ctrn
python -m qaexp.reproduce --figure 8 --paper ggsa
"""

import argparse
import difflib
import logging
import shlex
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from qaexp.config import PRETRAIN, compose
from qaexp.console import now_and_then
from qaexp.data.statistics import MISSING, StatisticsTable, measure
from qaexp.data.statistics import tables as statistics_tables
from qaexp.errors import ConfigError
from qaexp.exit_status import ended
from qaexp.results.ledger import Entry, Ledger
from qaexp.results.record import RunRecord
from qaexp.results.store import Outcome, error_of, run_overrides
from qaexp.tables.build import Measured, measured
from qaexp.tables.cells import Keys
from qaexp.tables.claims import claims
from qaexp.tables.configuration import ConfigurationTable, configuration_tables
from qaexp.tables.draw import write_figure
from qaexp.tables.held import held_against
from qaexp.tables.plan import Choice, Plan, Run, Times, plan
from qaexp.tables.spec import Figure, Table, result_figures, result_tables
from qaexp.tables.write import write_claims, write_configuration, write_overview, write_statistics, write_table

log = logging.getLogger(__name__)

FAILED = 1
SIGN_OF_LIFE = 300.0
"""Seconds; runs of hours are not silent where no terminal shows their progress."""

Other = ConfigurationTable | StatisticsTable
"""Tables of settings and of data statistics: nothing is trained for them."""


def main(arguments: Sequence[str]) -> int:
    """The exit status: 0, 1 where a run failed, 2 for a mistake of the user, 130 after Ctrl-C."""
    parser = _parser()
    options = parser.parse_args(arguments)
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    return ended(lambda: _reproduce(options), "what is finished is kept, and the same command goes on where it stopped")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m qaexp.reproduce",
        description="Run what the papers' tables and figures still need, and write them: ours beside theirs. Finished runs are kept, an "
        "interrupted one is taken up again, and several processes may work on the same tables.",
    )
    parser.add_argument("--table", help="its number; of every paper, unless --paper is given (default: all, unless --figure is given)")
    parser.add_argument("--figure", help="its number, likewise (default: all, unless --table is given)")
    parser.add_argument("--paper", help="ap, clstm, ctrn, ggsa or rcnn (default: all)")
    parser.add_argument("--rows", nargs="+", default=[], metavar="LABEL", help="only these rows, named as in the paper")
    parser.add_argument("--settings", nargs="+", default=[], metavar="NAME", help="only these of the table's settings, such as TRAIN")
    parser.add_argument("--seeds", type=_numbers, default=[], help="of the table's seeds only these, such as 1,2")
    parser.add_argument("--quick", action="store_true", help="small runs of one seed, in minutes; written to results/quick/, and called so")
    parser.add_argument("--plan", action="store_true", help="only say what is done, to be run and impossible")
    parser.add_argument(
        "--no-run", action="store_true", help="only write tables and figures from the ledger; nothing is trained, no data are read"
    )
    parser.add_argument("--latex", action="store_true", help="also write table<N>.tex (booktabs)")
    parser.add_argument("--logger", default="none", help="none or wandb (default: %(default)s)")
    parser.add_argument("--results", type=Path, default=Path("results"), help="where tables and ledger lie (default: %(default)s)")
    parser.add_argument("--runs", type=Path, default=Path("results/runs/tables"), help="where runs are kept (default: %(default)s)")
    return parser


def _numbers(text: str) -> list[int]:
    try:
        return [int(number) for number in text.split(",")]
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text!r} is no list of numbers such as 1,2") from error


def _reproduce(options: argparse.Namespace) -> int:
    everything, figures = result_tables(), result_figures()
    others: list[Other] = [*configuration_tables(), *statistics_tables()]
    chosen = _chosen(everything, figures, others, options)
    _require_known(chosen, options)
    results = options.results / "quick" if options.quick else options.results
    ledger = Ledger(results / "ledger")
    keys = Keys(Path(compose([]).cache_dir).expanduser() / "plans")
    failed: list[Run] = []
    if not options.no_run and (chosen or options.plan):
        planned = plan(chosen, ledger, keys, Choice(options.seeds, options.rows, options.settings, options.quick))
        keys.save()
        _show(planned, Times.of(ledger), options.runs)
        if options.plan:
            return 0
        failed = _run_all(planned, ledger, options)
    done = [measured(table, ledger, keys, options.quick) for table in chosen]
    keys.save()
    for each in done:
        folder = results / each.table.paper
        if isinstance(each.table, Figure):
            drawn = write_figure(each, ledger, folder)
            log.info("%s", drawn[0] if drawn else f"{each.table.title}: nothing measured that it could show")
        else:
            write_table(each, folder, options.latex)
            log.info("%s", folder / f"{each.table.name}.md")
    if not options.quick:
        for other in others:
            if not options.no_run and (options.table or not options.figure) and _is_meant(other, options.table, options.paper):
                _write_other(other, results / other.paper)
        fresh = {each.table.title: each for each in done}
        whole, pictures = ([fresh.get(each.title) or measured(each, ledger, keys) for each in all_of] for all_of in (everything, figures))
        keys.save()
        held = {paper: held_against(claims(paper), [each for each in whole if each.table.paper == paper]) for paper in _papers(everything)}
        for paper, frame in held.items():
            write_claims(paper, frame, results / paper)
        write_overview(whole, pictures, others, results, held)
        _tell_strays([*whole, *pictures], ledger)
    return FAILED if failed else 0


def _chosen(tables: Sequence[Table], figures: Sequence[Figure], others: Sequence[Other], options: argparse.Namespace) -> list[Table]:
    """Those with the given numbers, or all where neither a table nor a figure is named.

    Raises:
        ConfigError: there is no such paper, table or figure; a table among the `others` is one, though it has nothing to run.
    """
    papers = _papers([*tables, *figures])
    if options.paper is not None and options.paper not in papers:
        raise ConfigError(f"there is no paper {options.paper!r}; papers: {', '.join(papers)}")
    chosen = list[Table]()
    for what, number, other, everything, beside in (
        ("table", options.table, options.figure, tables, others),
        ("figure", options.figure, options.table, figures, ()),
    ):
        if number is None and other is not None:
            continue
        found = [each for each in everything if _is_meant(each, number, options.paper)]
        if number is not None and not found and not any(_is_meant(each, number, options.paper) for each in beside):
            whose = f" in {options.paper}" if options.paper else ""
            there = [each for each in (*everything, *beside) if options.paper in (None, each.paper)]
            raise ConfigError(f"there is no {what} {number}{whose}; there are {_by_paper(there) or 'none'}")
        chosen += found
    return chosen


def _tell_strays(everything: Sequence[Measured], ledger: Ledger) -> None:
    """A run is known by its whole configuration: where that has changed since, its cell is empty again, and nothing else would say so."""
    shown = {entry.key for each in everything for state in each.states.values() for entry in state.entries}
    if strays := [f"{entry.name}_{entry.key}" for entry in ledger.entries if entry.key not in shown]:
        named = ", ".join(strays[:3]) + (f" and {len(strays) - 3} more" if len(strays) > 3 else "")
        log.warning("%s: of no table as it is configured now, and may be deleted: %s", ledger.folder, named)


def _by_paper(tables: Sequence[Table | Other]) -> str:
    """Such as `ap 3, 4; ctrn 3`."""
    numbers = {paper: sorted((each.number for each in tables if each.paper == paper), key=int) for paper in _papers(tables)}
    return "; ".join(f"{paper} {', '.join(of_paper)}" for paper, of_paper in numbers.items())


def _is_meant(table: Table | Other, number: str | None, paper: str | None) -> bool:
    return paper in (None, table.paper) and number in (None, table.number)


def _write_other(table: Other, folder: Path) -> None:
    """What stands in the configuration, or what the data sets hold; where none of these is here, the table stays as it is."""
    if isinstance(table, ConfigurationTable):
        write_configuration(table, folder)
    else:
        rows = measure(table, None)
        if all(row.status == MISSING for row in rows):
            log.info("%s: none of its data sets is here", table.title)
            return
        write_statistics(table, rows, folder)
    log.info("%s", folder / f"{table.name}.md")


def _papers(tables: Sequence[Table | Other]) -> list[str]:
    return sorted({table.paper for table in tables})


def _require_known(chosen: Sequence[Table], options: argparse.Namespace) -> None:
    """Raises: ConfigError, for a row, a setting or a seed that none of the tables has."""
    labels = [row.label for table in chosen for row in table.rows]
    named = {table.named(row.label, setting): (row.label, setting) for table in chosen for row in table.rows for setting in table.settings}
    for name in options.rows:
        if name in named and name not in labels:  # as a plan names a run
            row, setting = map(shlex.quote, named[name])
            raise ConfigError(f"{name!r} is a row under one of its settings: --rows {row} --settings {setting}")
    _require_among("row", options.rows, labels)
    _require_among("setting", options.settings, [setting for table in chosen for setting in table.settings])
    seeds = sorted({seed for table in chosen for seed in table.seeds})
    if strange := [seed for seed in options.seeds if seed not in seeds]:
        raise ConfigError(f"seed {strange[0]} is none of these tables'; theirs are {', '.join(map(str, seeds))}")


def _require_among(what: str, given: Sequence[str], there: Sequence[str]) -> None:
    for name in given:
        if name not in there:
            near = difflib.get_close_matches(name, there, n=2, cutoff=0.3) or sorted(set(there))
            raise ConfigError(f"no {what} is called {name!r}; did you mean {' or '.join(near)}?")


def _show(planned: Plan, times: Times, runs: Path) -> None:
    """The plan: what is done, what will run and how long that may take, what cannot run and why."""
    console = Console(highlight=False, soft_wrap=True)
    to_do = planned.to_do
    begun = {run.key: _begun(run, runs) for run in to_do}
    expected = [times.left(run, begun[run.key]) for run in to_do]
    known = [seconds for seconds in expected if seconds is not None]
    console.print(f"{len(planned.done)} runs done, {len(to_do)} to run, {len(planned.impossible)} impossible here")
    if known:
        unknown = f", and {len(to_do) - len(known)} of unknown length" if len(known) < len(to_do) else ""
        console.print(f"expected: {_spoken(sum(known))}{unknown}")
    for reason in dict.fromkeys(run.lacking for run in planned.impossible):
        cells = {(run.cell.table.title, run.cell.row.label) for run in planned.impossible if run.lacking == reason}
        named = ", ".join(dict.fromkeys(title for title, _ in cells))
        console.print(f"  impossible: {len(cells)} rows ({named}): {reason}", markup=False)
    if planned.impossible:
        console.print("  (QAEXP_DATA names the folder of the data; `python -m qaexp.data fetch --help` says where they are published)")
    for run in to_do:
        if record := begun[run.key]:
            console.print(f"  begun: {run.title}, as far as epoch {len(record.history)}", markup=False)
        for folder in _folders(run, runs):
            if before := error_of(folder):
                console.print(f"  failed before: {run.title}: {before}", markup=False)


def _run_all(planned: Plan, ledger: Ledger, options: argparse.Namespace) -> list[Run]:
    """The runs that failed. What another process is at is left to it."""
    failed, busy, times = list[Run](), 0, Times.of(ledger)
    waiting, untrained = planned.to_do, set[str]()
    started = time.monotonic()
    for place, run in enumerate(waiting, 1):
        cell = " ".join(run.cell.overrides)
        if cell in untrained:
            continue
        with now_and_then(SIGN_OF_LIFE, run.title, "qaexp.training.callbacks"):  # a line a run, not a line an epoch
            outcome = _run(run, options)
        if outcome.record is None:
            if outcome.status == "failed":
                failed.append(run)
                log.error("[%d/%d] %s failed: %s", place, len(waiting), run.title, outcome.error)
            busy += outcome.status == "busy"
            continue
        entry = ledger.enter(outcome.folder)
        if not entry.trained:
            untrained.add(cell)
        left = [times.expected(other) for other in waiting[place:]]
        log.info(
            "[%d/%d] %s: %s  (%s%s)",
            place,
            len(waiting),
            run.title,
            _values(run, entry),
            _spoken(entry.seconds["total"]),
            f", {_spoken(sum(seconds for seconds in left if seconds))} left" if any(left) else "",
        )
    if busy:
        log.info("%d runs are left to other processes", busy)
    if waiting:
        log.info("%d runs in %s, %d failed", len(waiting) - busy, _spoken(time.monotonic() - started), len(failed))
    return failed


def _run(run: Run, options: argparse.Namespace) -> Outcome:
    """A run, after the one whose encoder it begins with, if there is such."""
    folder, logger = _folder(run, options.runs), [f"logger={options.logger}"]
    labels = {"paper": run.cell.table.paper, "table": run.cell.table.name, "row": run.cell.row.label}
    begun: list[str] = []
    if pretraining := run.cell.pretraining(run.seed):
        before = run_overrides([*pretraining, *logger], folder, PRETRAIN, {**labels, "row": f"{run.cell.row.label}, pre-training"})
        if before.record is None:
            return before
        begun = [f"init_from={before.folder}"]
    return run_overrides([*run.cell.seeded(run.seed), *begun, *logger], folder, labels=labels)


def _values(run: Run, entry: Entry) -> str:
    """The run's numbers in its table's columns."""
    table = run.cell.table
    shown = {
        name: f"{number * table.scale_of(column):.{table.decimals_of(column)}f}"
        for name, column in table.columns.items()
        if table.setting_of(run.cell.row, column) == run.cell.setting
        if (metric := table.metric_of(column, run.cell.dataset)) and (number := entry.value(metric)) is not None
    }
    return ", ".join(f"{name} {number}" for name, number in shown.items())


def _folder(run: Run, runs: Path) -> Path:
    """Where a run is kept: runs over other data of the same name lie elsewhere."""
    return runs / run.fingerprint[:8]


def _folders(run: Run, runs: Path) -> list[Path]:
    """The folder of a run's own, if it was ever begun."""
    return list(_folder(run, runs).glob(f"*_{run.key}"))


def _begun(run: Run, runs: Path) -> RunRecord | None:
    """The record of a run that has whole epochs to go on from, or that another process is at."""
    records = [RunRecord.with_status(folder, "running", "interrupted") for folder in _folders(run, runs)]
    return next((record for record in records if record and record.history), None)


def _spoken(seconds: float) -> str:
    """
    >>> _spoken(41.3), _spoken(312.0), _spoken(8000.0)
    ('41 s', '5 min', '2.2 h')
    """
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
