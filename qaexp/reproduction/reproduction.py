"""Runs `make reproduce-table4`: selects tables, plans and makes their runs, and writes tables, figures, claims and overview."""

import argparse
import logging
import shlex
from collections.abc import Sequence
from pathlib import Path

from qaexp.config import cache_folder
from qaexp.data.files import progress
from qaexp.errors import ConfigError, require_among
from qaexp.reproduction.cells import Keys, cells_of
from qaexp.reproduction.claims import claim_verdicts, claims
from qaexp.reproduction.ledger import Ledger
from qaexp.reproduction.measured import Measured, measured
from qaexp.reproduction.overview import write_overview
from qaexp.reproduction.page import write_claims, write_configuration, write_statistics, write_table
from qaexp.reproduction.plan import Choice, Run, Times, plan
from qaexp.reproduction.runs import run_all, show_plan
from qaexp.reproduction.settings import ConfigurationTable, configuration_tables
from qaexp.reproduction.spec import Figure, Table, Tuning, result_figures, result_tables, tunings
from qaexp.reproduction.statistics import MISSING, StatisticsTable, measure
from qaexp.reproduction.statistics import tables as statistics_tables

log = logging.getLogger(__name__)

FAILED = 1

Other = ConfigurationTable | StatisticsTable
"""Tables of settings and of data statistics, which need no runs."""


def reproduce(options: argparse.Namespace) -> int:
    """The exit status: 0, or 1 if a run failed.

    Raises:
        ConfigError: as `select` and `require_known`, or a file of `experiments/` is wrong.
        OutputError: results or runs cannot be written.
        KilledError: with --jobs, the process of a run was killed.
    """
    tables, figures, tuned = result_tables(), result_figures(), tunings()
    others: list[Other] = [*configuration_tables(), *statistics_tables()]
    chosen = select([*tables, *tuned], figures, others, options)
    require_known(chosen, options)
    results = options.results / "quick" if options.quick else options.results
    ledger = Ledger(results / "ledger")
    keys = Keys(cache_folder() / "plans")
    failed: list[Run] = []
    if options.plan or (chosen and not options.no_run):
        planned = plan(chosen, ledger, keys, Choice(options.seeds, options.rows, options.settings, options.quick))
        keys.save()
        show_plan(planned, Times.of(ledger), options.runs, options.jobs, each=options.plan)
        if options.plan:
            return 0
        failed = run_all(planned, ledger, options)
        ledger.reload()
    found = _measured(chosen if options.quick else [*tables, *figures, *tuned], ledger, keys, options.quick)
    keys.save()
    wanted = {table.title for table in chosen}
    for each in found:
        if each.table.title in wanted:
            _write(each, ledger, results, options.latex)
    if not options.quick:
        for other in others:
            if not options.no_run and (options.table or not options.figure) and is_selected(other, options.table, options.paper):
                _write_other(other, results / other.paper, options.latex)
        whole, drawn, grids = ([each for each in found if type(each.table) is kind] for kind in (Table, Figure, Tuning))
        verdicts = {}
        for paper in papers_of([each.table for each in (*whole, *drawn) if any(state.entries for state in each.states.values())]):
            if of_paper := claims(paper):
                verdicts[paper] = claim_verdicts(of_paper, [each for each in (*whole, *drawn) if each.table.paper == paper])
                write_claims(paper, verdicts[paper], results / paper)
        write_overview(whole, drawn, grids, others, results, verdicts)
        _report_strays(found, ledger, keys, options.prune)
        keys.save()
    return FAILED if failed else 0


def _measured(tables: Sequence[Table], ledger: Ledger, keys: Keys, quick: bool = False) -> list[Measured]:
    """The tables with our numbers. Shows a progress bar, since composing the keys takes a minute the first time."""
    with progress() as bar:
        return [measured(table, ledger, keys, quick) for table in bar.track(tables, description="tables")]


def _write(table: Measured, ledger: Ledger, results: Path, latex: bool) -> None:
    """Writes a table, or a figure that has measurements."""
    folder, about = results / table.table.paper, table.table
    if isinstance(about, Figure):
        from qaexp.reproduction.figures.picture import write_figure  # matplotlib takes long to import

        drawn = write_figure(table, ledger, folder)
        log.info("%s", drawn[0] if drawn else f"{about.title}: there are no measurements to draw")
    else:
        write_table(table, folder, latex)
        log.info("%s", folder / f"{about.name}.md")


def _write_other(table: Other, folder: Path, latex: bool) -> None:
    """Writes a table of settings or of statistics. Without any of its data sets, a table of statistics is left as it is."""
    if isinstance(table, ConfigurationTable):
        write_configuration(table, folder, latex)
    else:
        rows = measure(table, None)
        if all(row.status == MISSING for row in rows):
            log.info("%s: none of its data sets is here", table.title)
            return
        write_statistics(table, rows, folder, latex)
    log.info("%s", folder / f"{table.name}.md")


def _report_strays(everything: Sequence[Measured], ledger: Ledger, keys: Keys, prune: bool) -> None:
    """Warns of ledger entries that no table shows: a run is identified by its configuration, which may have changed since.

    Runs on another choice of data, such as a part of a data set, are not strays if a table would show them there.
    """
    shown = {entry.key for each in everything for state in each.states.values() for entry in state.entries}
    cells = [cell for each in everything for cell in cells_of(each.table) if cell.dataset in ledger.datasets]
    for key in (key for cell in cells for key in keys.of(cell, cell.table.seeds)):
        shown |= {key.whole, *(entry.key for entry in (ledger.find(key), ledger.beginning_of(key)) if entry)}
    if strays := [f"{entry.name}_{entry.key}" for entry in ledger.entries if entry.key not in shown]:
        named = ", ".join(strays[:3]) + (f" and {len(strays) - 3} more" if len(strays) > 3 else "")
        if prune:
            ledger.remove({entry.key for entry in ledger.entries} - shown)
        said = "deleted" if prune else "to be deleted with --prune"
        log.warning("%s: entries that no table shows as it is configured now, %s: %s", ledger.folder, said, named)


def select(tables: Sequence[Table], figures: Sequence[Figure], others: Sequence[Other], options: argparse.Namespace) -> list[Table]:
    """The tables and figures with the given numbers; all if neither a table nor a figure is named.

    Raises:
        ConfigError: there is no such paper, table or figure. The numbers of `others` are accepted; they need no runs.
    """
    papers = papers_of([*tables, *figures])
    if options.paper is not None and options.paper not in papers:
        raise ConfigError(
            f"there is no paper {options.paper!r}; papers: {', '.join(papers)}. Tables of your own are read from "
            f"experiments/{options.paper}/ in the current folder"
        )
    chosen = list[Table]()
    for what, number, other, everything, beside in (
        ("table", options.table, options.figure, tables, others),
        ("figure", options.figure, options.table, figures, ()),
    ):
        if number is None and other is not None:
            continue
        asked = [each for each in everything if number or options.no_run or not isinstance(each, Tuning)]  # tables do not depend on tunings
        found = [each for each in asked if is_selected(each, number, options.paper)]
        if number is not None and not found and not any(is_selected(each, number, options.paper) for each in beside):
            whose = f" in {options.paper}" if options.paper else ""
            there = [each for each in (*everything, *beside) if options.paper in (None, each.paper)]
            single = " (those of single runs come from `qaexp figures`)" if what == "figure" else ""
            raise ConfigError(f"there is no {what} {number}{whose}; there are {_by_paper(there) or 'none'}{single}")
        chosen += found
    return chosen


def _by_paper(tables: Sequence[Table | Other]) -> str:
    """Such as `ap 3, 4; ctrn 3, tuning_trecqa`."""
    numbers = {
        paper: sorted(
            {each.name if isinstance(each, Tuning) else each.number for each in tables if each.paper == paper},
            key=lambda number: number.zfill(2),
        )
        for paper in papers_of(tables)
    }
    return "; ".join(f"{paper} {', '.join(of_paper)}" for paper, of_paper in numbers.items())


def is_selected(table: Table | Other, number: str | None, paper: str | None) -> bool:
    """By number or by the name of its file: all tunings of a paper have the same `number`."""
    return paper in (None, table.paper) and number in (None, table.number, table.name)


def papers_of(tables: Sequence[Table | Other]) -> list[str]:
    return sorted({table.paper for table in tables})


def require_known(chosen: Sequence[Table], options: argparse.Namespace) -> None:
    """Raises ConfigError if no chosen table has a row, setting or seed of the options, or if a quick version is to have seeds."""
    labels = [row.label for table in chosen for row in table.rows]
    named = {table.named(row.label, setting): (row.label, setting) for table in chosen for row in table.rows for setting in table.settings}
    for name in options.rows:
        if name in named and name not in labels:  # as --plan prints a row
            row, setting = map(shlex.quote, named[name])
            raise ConfigError(f"{name!r} is a row under one of its settings: --rows {row} --settings {setting}")
    require_among("--rows", options.rows, sorted(set(labels)), cutoff=0.3)
    require_among("--settings", options.settings, sorted({setting for table in chosen for setting in table.settings}), cutoff=0.3)
    if options.quick and options.seeds:
        raise ConfigError("a quick version has one seed, the table's first; leave --seeds out")
    seeds = sorted({seed for table in chosen for seed in table.seeds})
    if strange := [seed for seed in options.seeds if seed not in seeds]:
        raise ConfigError(f"these tables have no seed {strange[0]}; their seeds are {', '.join(map(str, seeds))}")
