"""`qaexp show RUN`: a record at a glance, with curves; with `--question ID`, the run's ranking of one question, with its texts."""

import argparse
import logging
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pandas as pd
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from qaexp.cli.command import exit_code, positive_int
from qaexp.cli.screen import results_table, sparkline, title_of
from qaexp.config import program_of
from qaexp.errors import ConfigError, MissingDataError, QaexpError, meant, plural
from qaexp.evaluation.measures import FALLING, heading, is_curve
from qaexp.logs import duration
from qaexp.runs.folder import RECORD, RUNS
from qaexp.runs.record import RunRecord

log = logging.getLogger(__name__)

OTHER_COLUMNS = 50
"""The width that the table of curves needs beside the bars."""


def main(arguments: Sequence[str]) -> int:
    """The exit status: 0, or 2 for a mistake of the user."""
    parser = argparse.ArgumentParser(
        prog="qaexp show",
        description="Show a run at a glance: what it was, when, on what, how long, its curves and metrics. With --question, one ranking.",
    )
    parser.add_argument("run", type=Path, nargs="?", metavar="RUN", help=f"a run's folder (default: the newest in {RUNS})")
    parser.add_argument("--question", metavar="ID", help="the id of a question or pair, as in <split>.questions.csv")
    parser.add_argument("--split", help="where to look for the question (default: the first split that has it, test before dev)")
    parser.add_argument("--top", type=positive_int, default=10, metavar="N", help="candidates shown, beside all right ones (default: 10)")
    parser.add_argument("--data", metavar="DIR", help="the data folder, for the texts (default: that of the run)")
    options = parser.parse_args(arguments)
    return exit_code(lambda: _show(options))


def _show(options: argparse.Namespace) -> int:
    run = options.run or _newest(RUNS)
    record, console = RunRecord.load(run), Console(file=sys.stdout, highlight=False)
    if options.question is None:
        _show_record(record, run, console)
    else:
        _show_question(record, run, options, console)
    return 0


def _newest(folder: Path) -> Path:
    records = sorted(folder.rglob(RECORD), key=lambda path: path.stat().st_mtime)
    if not records:
        raise MissingDataError(f"{folder} holds no run; `qaexp` makes one, or name a run's folder")
    return records[-1].parent


def _show_record(record: RunRecord, run: Path, console: Console) -> None:
    facts = Table.grid(padding=(0, 2))
    facts.add_column(style="dim")
    facts.add_column(overflow="fold")
    for name, value in _facts(record, run).items():
        if value:
            facts.add_row(name, Text(value))
    console.print(Text(f"{title_of(record)}: {record.status}", style="bold" if record.status == "finished" else "bold red"))
    console.print(facts)
    if record.history:
        console.print()
        console.print(_curves(record, console.width))
    if record.metrics:
        table = results_table(record, console.width)
        table.title = None
        console.print(table)


def _how_to_go_on(record: RunRecord, run: Path) -> str:
    """The command that continues a run; empty if it has ended."""
    command = program_of(record.config).resume(run)
    mended = f"{command} (when the cause of the error is removed)"
    return {"interrupted": command, "running": f"{command} (if it was killed)", "failed": mended}.get(record.status, "")


def _facts(record: RunRecord, run: Path) -> dict[str, str]:
    """What, when, how long and on what; empty where the record does not say."""
    had, took = record.hardware, record.seconds
    stages = ", ".join(f"{name} {duration(took[name])}" for name in ("data", "fit", "test") if name in took)
    threads = had.get("threads")
    machine = had.get("gpu") or ", ".join(filter(None, [had.get("processor"), threads and plural(threads, "thread")]))
    splits = (f"{name} {_size(counts)}" for name, counts in record.data.get("splits", {}).items())
    weights = record.parameters
    return {
        "folder": str(run),
        "error": record.error or "",
        "go on with": _how_to_go_on(record, run),
        "command": record.command_line.strip(),
        "started": record.started.replace("T", " "),
        "took": f"{duration(took['total'])} ({stages})" if "total" in took else "",
        "on": machine,
        "code": ", ".join(filter(None, [record.commit[:12] + record.commit[40:], f"torch {record.versions.get('torch', '')}"])),
        "data": ", ".join([f"{record.data['fingerprint'][:8]}", *splits]) if record.data else "",
        "convention": record.convention,
        "parameters": f"{weights['trainable']:,} trained, {weights['trainable without word embeddings']:,} without word vectors"
        if "trainable without word embeddings" in weights
        else "",
    }


def _size(counts: Mapping[str, int]) -> str:
    """The number of questions or, of data with classes, of pairs."""
    unit = "questions" if "questions" in counts else "pairs"
    return f"{counts[unit]:,} {unit}"


def _curves(record: RunRecord, width: int) -> Table:
    """A line for the loss and each dev metric: all epochs as bars, and the first, the best and the last."""
    chosen = record.selection_metric
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1), pad_edge=False)
    for column in ("", f"epochs 1 to {len(record.history)}", "first", "best", "last"):
        table.add_column(column, justify="right" if column in ("first", "best", "last") else "left", no_wrap=True)
    names = dict.fromkeys(name for epoch in record.history for name in epoch if is_curve(name))
    for name in sorted(names, key=lambda name: (name != "train/loss", name != chosen)):
        values = [float(epoch[name]) for epoch in record.history if name in epoch]
        split, _, measure = name.rpartition("/")
        falling = measure in FALLING
        ends = values[0], (min if falling else max)(values), values[-1]
        bars = sparkline(values, max(10, min(60, width - OTHER_COLUMNS)))
        table.add_row(f"{split} {heading(measure)}", bars, *(f"{value:.4f}" if falling else f"{100 * value:.2f}" for value in ends))
    if record.best_epoch:
        table.caption, table.caption_justify = f"the best epoch is {record.best_epoch}, by {chosen}", "left"
    return table


def _show_question(record: RunRecord, run: Path, options: argparse.Namespace, console: Console) -> None:
    split, ranked = _find(record, run, options.question, options.split)
    console.print(Text(f"{title_of(record)}: {split} {options.question}", style="bold"))
    texts = _texts(run, split, options.question, options.data)
    if "" in texts:
        console.print(Text(texts[""]))
    if "predicted" in ranked:
        [row] = ranked.to_dict("records")
        console.print(Text(texts.get("candidate", "")))
        for name, value in row.items():
            console.print(Text(f"{name}: {value:.4g}" if isinstance(value, float) else f"{name}: {value}"))
        return
    right = ranked["label"] > 0
    shown = ranked.loc[right | (ranked["rank"] <= options.top)]
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1), pad_edge=False)
    for column in ("rank", "score", "label", "candidate"):
        table.add_column(column, justify="left" if column == "candidate" else "right")
    for row in shown.to_dict("records"):
        text, label = texts.get(row["candidate"], row["candidate"]), f"✓ {row['label']:g}" if row["label"] > 0 else f"{row['label']:g}"
        table.add_row(str(row["rank"]), f"{row['score']:.4g}", label, Text(text), style="green" if row["label"] > 0 else None)
    console.print(table)
    if left_out := len(ranked) - len(shown):
        console.print(Text(f"left out below rank {options.top}: {plural(left_out, 'wrong candidate')}; --top N shows more", style="dim"))


def _find(record: RunRecord, run: Path, question: str, split: str | None) -> tuple[str, pd.DataFrame]:
    """The split that has a question, and a row for each of its candidates by rank. A pair with classes has one row.

    Raises:
        ConfigError: no split has the question, or there is no such split.
        MissingDataError: the run has no rankings.
    """
    measured = [name.removesuffix(" titles") for name in record.metrics]  # pre-training ranks by titles
    splits = [name for name in sorted(measured, key=lambda name: name == "dev") if (run / f"{name}.run").is_file()]
    paired = [name for name in record.metrics if (run / f"{name}.pairs.csv").is_file()]
    if not splits + paired:
        raise MissingDataError(f"{run} has no rankings, which a run writes at its end; finish it, or name another run")
    if split and split not in splits + paired:
        raise ConfigError(f"--split {split}: {meant(split, splits + paired)}")
    for name in [split] if split else [*splits, *paired]:
        found = _pair(run / f"{name}.pairs.csv", question) if name in paired else _ranking(run, name, question)
        if len(found):
            return name, found
    first = next(_ids(run, (split and [split]) or [*splits, *paired]), "")
    raise ConfigError(f"{run} has no question {question!r} in {split or ', '.join([*splits, *paired])}; ids look like {first}")


def _ids(run: Path, splits: Sequence[str]) -> Iterator[str]:
    for split in splits:
        if (ranking := run / f"{split}.run").is_file():
            with ranking.open(encoding="utf-8") as lines:
                yield from (line.split()[0] for line in lines)
        else:
            yield from pd.read_csv(run / f"{split}.pairs.csv", dtype=str, usecols=["pair"], keep_default_na=False)["pair"]


def _pair(path: Path, question: str) -> pd.DataFrame:
    table = pd.read_csv(path, dtype=dict.fromkeys(("pair", "class", "predicted"), str), keep_default_na=False)
    return table.loc[table["pair"] == question]


def _ranking(run: Path, split: str, question: str) -> pd.DataFrame:
    """Rank, score, label and id of each candidate of a question; none if the split lacks it."""
    ranked = [(int(rank), float(score), candidate) for _, _, candidate, rank, score, _ in _lines(run / f"{split}.run", question)]
    labels = {candidate: float(label) for _, _, candidate, label in _lines(run / f"{split}.qrels", question)}
    table = pd.DataFrame(ranked, columns=["rank", "score", "candidate"])
    return table.assign(label=[labels.get(candidate, 0.0) for candidate in table["candidate"]])


def _lines(path: Path, question: str) -> Iterator[list[str]]:
    """The fields of a question's lines. Reads line by line, since a file may have millions."""
    if path.is_file():
        with path.open(encoding="utf-8") as lines:
            yield from (line.split() for line in lines if line.startswith(f"{question} "))


def _texts(run: Path, split: str, question: str, data_dir: str | None) -> Mapping[str, str]:
    """The texts of a question and of its candidates, by the candidates' ids. The question's own text has the empty id.

    If the data cannot be read, it warns and returns an empty mapping.

    A pair with classes has its second text under the id `candidate`.
    """
    from qaexp.explain.run_data import data_of  # needs torch, which takes seconds

    try:
        data = data_of(run, data_dir)
        table, corpus = data.splits[split], data.corpus
        [place] = [number for number, name in enumerate(table.question_ids.tolist()) if name.decode() == question]
        pool = range(table.offsets[place], table.offsets[place + 1])
        of_candidates = {table.candidate_ids[pair].decode(): corpus.written(int(table.candidates[pair])) for pair in pool}
        if data.classes:
            of_candidates = {"candidate": next(iter(of_candidates.values()))}
        return {**of_candidates, "": corpus.written(int(table.questions[place]))}
    except (QaexpError, OSError, ValueError, KeyError) as error:
        log.warning("ids are shown in place of texts: %s", " ".join(str(error).split()) or repr(error))
        return {}
