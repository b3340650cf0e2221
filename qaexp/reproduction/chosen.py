"""Which tables and figures a command line means, and whether it names anything that they have not."""

import argparse
import shlex
from collections.abc import Sequence

from qaexp.errors import ConfigError, meant
from qaexp.reproduction.configuration import ConfigurationTable
from qaexp.reproduction.spec import Figure, Table, Tuning
from qaexp.reproduction.statistics import StatisticsTable

Other = ConfigurationTable | StatisticsTable
"""Tables of settings and of data statistics: nothing is trained for them."""


def chosen_of(tables: Sequence[Table], figures: Sequence[Figure], others: Sequence[Other], options: argparse.Namespace) -> list[Table]:
    """Those with the given numbers, or all where neither a table nor a figure is named.

    Raises:
        ConfigError: there is no such paper, table or figure; a table among the `others` is one, though it has nothing to run.
    """
    papers = papers_of([*tables, *figures])
    if options.paper is not None and options.paper not in papers:
        raise ConfigError(f"there is no paper {options.paper!r}; papers: {', '.join(papers)}")
    chosen = list[Table]()
    for what, number, other, everything, beside in (
        ("table", options.table, options.figure, tables, others),
        ("figure", options.figure, options.table, figures, ()),
    ):
        if number is None and other is not None:
            continue
        asked = [each for each in everything if number or options.no_run or not isinstance(each, Tuning)]  # no table waits for it
        found = [each for each in asked if is_meant(each, number, options.paper)]
        if number is not None and not found and not any(is_meant(each, number, options.paper) for each in beside):
            whose = f" in {options.paper}" if options.paper else ""
            there = [each for each in (*everything, *beside) if options.paper in (None, each.paper)]
            single = " (those of single runs come from `python -m qaexp.figures`)" if what == "figure" else ""
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


def is_meant(table: Table | Other, number: str | None, paper: str | None) -> bool:
    """By number, or by the name of its file, as the tunings of one paper have one `number` and a file for each data set."""
    return paper in (None, table.paper) and number in (None, table.number, table.name)


def papers_of(tables: Sequence[Table | Other]) -> list[str]:
    return sorted({table.paper for table in tables})


def require_known(chosen: Sequence[Table], options: argparse.Namespace) -> None:
    """Raises: ConfigError, for a row, a setting or a seed that none of the tables has."""
    labels = [row.label for table in chosen for row in table.rows]
    named = {table.named(row.label, setting): (row.label, setting) for table in chosen for row in table.rows for setting in table.settings}
    for name in options.rows:
        if name in named and name not in labels:  # as a plan names a run
            row, setting = map(shlex.quote, named[name])
            raise ConfigError(f"{name!r} is a row under one of its settings: --rows {row} --settings {setting}")
    _require_among("row", options.rows, labels)
    _require_among("setting", options.settings, [setting for table in chosen for setting in table.settings])
    if options.quick and options.seeds:
        raise ConfigError("a quick version has one seed, the table's first; leave --seeds out")
    seeds = sorted({seed for table in chosen for seed in table.seeds})
    if strange := [seed for seed in options.seeds if seed not in seeds]:
        raise ConfigError(f"seed {strange[0]} is none of these tables'; theirs are {', '.join(map(str, seeds))}")


def _require_among(what: str, given: Sequence[str], there: Sequence[str]) -> None:
    for name in given:
        if name not in there:
            raise ConfigError(f"no {what} is called {name!r}; {meant(name, sorted(set(there)), cutoff=0.3)}")
