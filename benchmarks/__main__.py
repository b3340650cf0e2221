"""`python -m benchmarks [NAME ...]`: measures, and prints one table."""

import argparse
import importlib
import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from benchmarks.row import Row

NAMES = {
    "attention": "GGSA against global and local attention, short and long texts; linear in length",
    "hardest": "learning from the hardest of 50 negatives against learning through all",
    "learning": "a training step by the pairs that learn against gradients for all",
    "convolution": "CNN and maximum over time against torch's Conv1d and a masked copy of its states",
    "cut": "scoring through the cut against pair by pair",
    "metrics": "ranking metrics against torchmetrics' own",
    "measure": "`qaexp measure` on a thousand run files",
    "memory": "peak memory of scoring at InsuranceQA's full size",
    "grid": "TC-LSTMs along anti-diagonals against cell by cell; memory of the grid",
    "pooling": "what attentive pooling costs over its encoder",
    "recurrent": "training steps of CTRN, QRNN, LSTM and AP-biLSTM",
    "padding": "the share of padding in training batches of every data set at hand (needs QAEXP_DATA)",
    "products": "training steps on a CPU: oneDNN's products against MKL's, in bfloat16 against in float32",
    "pairing": "training steps of iGGSA and of stacked coupled LSTMs: pairs in blocks by length against in one",
    "pretrain": "a step of pre-training at 100,000 words: adaptive against full softmax",
    "optimizer": "training steps with tuned word vectors on WikiQA: fused optimisers over the words of training (needs QAEXP_DATA)",
    "matchzoo": "training steps on WikiQA against MatchZoo-py (needs QAEXP_DATA, and MATCHZOO, a command that runs theirs)",
    "pretrained": "MiniLM against sentence-transformers, and through the cut (part of it needs QAEXP_DATA)",
    "rcnn": "a training step of the RCNN cell against the loop as printed and an LSTM, on the CPU",
    "tables": "all of the papers' tables from 2,000 records",
    "corpus": "reading a corpus of 167,765 questions, made up; its peak memory",
    "start": "start of a process to its first training batch (needs QAEXP_DATA)",
}


def main(arguments: Sequence[str]) -> int:
    """The exit status: 0, or 1 where a target was missed."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description="Measures qaexp against the alternatives on this machine and prints one table. Exits 1 where a target is missed.",
        epilog="benchmarks:\n" + "\n".join(f"  {name:10} {says}" for name, says in NAMES.items()),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"which to run, of {', '.join(NAMES)}; all when none is named")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the figures there")
    chosen = parser.parse_args(arguments)
    if unknown := [name for name in chosen.names if name not in NAMES]:
        parser.error(f"no benchmark is called {', '.join(unknown)}; choose from {', '.join(NAMES)}")
    if chosen.json and not chosen.json.resolve().parent.is_dir():
        parser.error(f"--json {chosen.json}: there is no folder {chosen.json.parent}")

    rows: list[Row] = []
    for name in chosen.names or NAMES:
        sys.stderr.write(f"{name} ... ")
        sys.stderr.flush()
        start = time.perf_counter()
        try:
            rows += importlib.import_module(f"benchmarks.{name}").rows()
        except (AssertionError, subprocess.CalledProcessError) as error:
            rows.append(Row(f"{name} failed: {error}", held=False))
        sys.stderr.write(f"{time.perf_counter() - start:.0f} s\n")
    machine = describe_machine()
    show(rows, machine)
    if chosen.json:
        figures = {"machine": machine, "rows": [asdict(row) | {"ratio": row.ratio} for row in rows]}
        chosen.json.write_text(json.dumps(figures, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return int(any(row.held is False for row in rows))


def describe_machine() -> dict[str, str]:
    """Hardware and versions, and how busy others kept the machine."""
    import torch

    models = [line.split(":")[1].strip() for line in _lines("/proc/cpuinfo") if line.startswith("model name")]
    return {
        "processor": f"{models[0] if models else platform.processor() or platform.machine()}, {os.cpu_count()} cores",
        "gpu": torch.cuda.get_device_name() if torch.cuda.is_available() else "none",
        "torch": torch.__version__,
        "threads": str(torch.get_num_threads()),
        "load": f"{os.getloadavg()[0]:.1f}",
    }


def show(rows: Sequence[Row], machine: dict[str, str]) -> None:
    """The table, with the machine on top."""
    from rich.console import Console
    from rich.table import Table

    console = Console() if sys.stdout.isatty() else Console(width=140)
    console.print(" · ".join(f"{name} {value}" for name, value in machine.items()), highlight=False)
    clock = "seconds of one CPU thread" if machine["gpu"] == "none" else "seconds of the wall (metrics: of one CPU thread)"
    console.print(f"Alternating runs; {clock}, medians; ratios are the median (range) over neighbouring runs.")
    console.print("memory and start are processes of their own, with all threads and the seconds of the wall.\n")
    table = Table("what: ours, the other", box=None, pad_edge=False, header_style="bold")
    for column in ("ours", "the other", "ratio", "target", "held"):
        table.add_column(column, justify="right", no_wrap=True)
    for row in rows:
        ratio = f"{row.ratio:.2f} ({min(row.ratios):.2f}–{max(row.ratios):.2f})" if row.ratio is not None else ""
        held = {True: "[green]yes[/]", False: "[red bold]no[/]", None: "–"}[row.held]
        table.add_row(row.what, row.ours, row.other, ratio, row.target, held)
    console.print(table)


def _lines(path: str) -> list[str]:
    return Path(path).read_text().splitlines() if Path(path).is_file() else []


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
