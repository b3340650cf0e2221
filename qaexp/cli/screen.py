"""Shows a run on the terminal: its configuration as a tree, and a table of results."""

import math
from collections.abc import Sequence
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from statistics import mean
from typing import Any

from omegaconf import DictConfig, OmegaConf
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text
from rich.tree import Tree

from qaexp.evaluation.conventions import METRICS
from qaexp.evaluation.measures import heading, is_measure
from qaexp.explain.names import run_in_words
from qaexp.runs.folder import LOG
from qaexp.runs.record import RunRecord

FIRST, LAST = ("perplexity", *METRICS), ("questions", "pairs")
"""The columns of the results table that come first, and those that come last. Other measures stand between them."""

BARS = "▁▂▃▄▅▆▇█"


def show_config(cfg: DictConfig, usual: DictConfig | None = None) -> None:
    """Print the configuration as a tree, with the short name of each class. With `usual`, only what differs from it."""
    shown: Any = OmegaConf.to_container(cfg, resolve=True)
    title = "configuration"
    if usual is not None:
        shown = _differing(shown, OmegaConf.to_container(usual, resolve=True))
        title = f"configuration: {'what differs from ' if shown else ''}the defaults (print_config=full shows all)"
    tree = Tree(title, guide_style="dim")
    _grow(tree, shown)
    Console().print(tree)


def _differing(node: Any, usual: Any) -> dict[str, Any]:
    """The options of a node that differ from the usual ones. If its class differs, all of them.

    >>> _differing({"lr": 1, "loss": {"_target_": "Hinge", "margin": 1}, "seed": 2}, {"lr": 1, "loss": {"_target_": "Max", "margin": 1}})
    {'loss': {'_target_': 'Hinge', 'margin': 1}, 'seed': 2}
    """
    found = {}
    for name, value in node.items():
        there = usual.get(name, ...)
        if isinstance(value, dict) and isinstance(there, dict) and value.get("_target_") == there.get("_target_"):
            if inner := _differing(value, there):
                found[name] = {**({"_target_": value["_target_"]} if "_target_" in value else {}), **inner}
        elif value != there:
            found[name] = value
    return found


def title_of(record: RunRecord) -> str:
    """Such as `GGSA on WikiQA, seed 1 (partial data)`."""
    return (
        run_in_words(record.config)
        + (" (partial data)" if record.data.get("partial") else "")
        + (f" ({record.debug})" if record.debug else "")
    )


def results_table(record: RunRecord, width: int) -> Table:
    """A row for each split, measures in percent. If that is wider than `width` characters, a column for each split."""
    table = Table(title=escape(title_of(record)), title_justify="left")
    found = dict.fromkeys(metric for metrics in record.metrics.values() for metric in metrics)
    others = [metric for metric in found if metric not in FIRST and is_measure(metric)]
    shown = [metric for metric in (*FIRST, *others, *LAST) if metric in found]
    if "perplexity" in shown:
        shown.remove("pairs")  # to fit 80 columns
    lines = [("split", *map(heading, shown))]
    for split, metrics in record.metrics.items():
        lines.append((escape(split), *(_cell(metric, metrics[metric]) if metric in metrics else "" for metric in shown)))
    columns = list(zip(*lines, strict=True))
    if sum(max(map(len, column)) + 3 for column in columns) + 1 > width:
        lines, columns = columns, lines
    for place, column in enumerate(columns):
        table.add_column(column[0], justify="right" if place else "left", no_wrap=not place)
    for line in lines[1:]:
        table.add_row(*line)
    if any(map(is_measure, shown)):
        table.caption, table.caption_justify = "measures in percent", "left"
    return table


def _cell(metric: str, value: int | float) -> str:
    if metric in LAST:
        return f"{value:,.0f}"
    return f"{value:,.2f}" if metric == "perplexity" else f"{100 * value:.2f}"


def show_results(record: RunRecord, folder: Path) -> None:
    """Print a row for each split, and the run's folder; `run.log` in it holds the same lines."""
    console = Console(record=True)
    console.print(results_table(record, console.width))
    for split, metrics in record.metrics.items():
        if (share := metrics.get("tied at first answer", 0)) > 0.01:
            console.print(
                f"{split}: {share:.1%} of the questions have ties at their first answer, broken by the rule of `{record.convention}`",
                markup=False,
            )
    for note, count in _irregularities(record).items():
        console.print(f"{note}: {count:,}", highlight=False, markup=False)
    epoch = f"best epoch {record.best_epoch} of {len(record.history)}, " if record.best_epoch else ""
    console.print(f"convention {record.convention}; {epoch}{record.seconds.get('total', 0):.0f} s", highlight=False, markup=False)
    console.print(f"saved in {folder}", highlight=False, markup=False, soft_wrap=True)
    with suppress(OSError), (folder / LOG).open("a", encoding="utf-8") as log:
        log.write(console.export_text())


def _irregularities(record: RunRecord) -> dict[str, int]:
    """Counts of unusual data: the reader's notes, and texts cut at the length limits."""
    cut = {
        f"{split}: {what} (longer than the limit)": counts.get(what, 0)
        for split, counts in record.data.get("splits", {}).items()
        for what in ("cut questions", "cut candidates")
    }
    return {note: count for note, count in {**record.data.get("notes", {}), **cut}.items() if count}


def sparkline(values: Sequence[float], width: int = 40) -> str:
    """A bar for each value, scaled from the lowest to the highest. With more values than `width`, a bar is a mean of neighbours.

    >>> sparkline([0.0, 1.0, 2.0, 7.0]), sparkline([1.0, 1.0]), sparkline([0.0, 0.0, 7.0, 7.0], width=2)
    ('▁▂▃█', '▁▁', '▁█')
    """
    finite = [value for value in values if math.isfinite(value)]
    if not finite:
        return ""
    stretches = min(width, len(finite))
    ends = [len(finite) * place // stretches for place in range(stretches + 1)]
    means = [mean(finite[first:last]) for first, last in pairwise(ends)]
    low, high = min(means), max(means)
    return "".join(BARS[round((len(BARS) - 1) * (value - low) / (high - low))] if high > low else BARS[0] for value in means)


def _grow(tree: Tree, node: Any) -> None:
    for key, value in node.items():
        if key in ("_partial_", "_convert_"):
            continue
        if isinstance(value, dict):
            target = value.get("_target_", "")
            name = escape(str(target).rpartition(".")[2])
            branch = tree.add(f"[bold]{escape(key)}[/] [cyan]{name}[/]" if target else f"[bold]{escape(key)}[/]")
            _grow(branch, {name: inner for name, inner in value.items() if name != "_target_"})
        else:
            tree.add(Text(f"{key}: ").append(str(value), style="green"))
