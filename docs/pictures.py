"""`make pictures`: the pictures of the README as SVG, from a real run of the toy data and from a committed page of results."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

REPOSITORY = Path(__file__).resolve().parent.parent
IMAGES = REPOSITORY / "docs" / "images"
WIDTH = 96
OPTIONS = ["model=ggsa", "model/pooling=question_attention", "trainer.max_epochs=5"]


def main() -> None:
    """Draw both."""
    save(run_lines(), "qaexp", "run.svg")
    save([table_of(REPOSITORY / "results" / "ap" / "table5.md")], "results/ap/table5.md", "table.svg")


def save(parts: list[Text | Table], title: str, name: str) -> None:
    """Print the parts into a picture of a terminal."""
    console = Console(record=True, width=WIDTH, file=open(os.devnull, "w"), force_terminal=True, highlight=False)  # noqa: SIM115
    for part in parts:
        console.print(part)
    console.save_svg(str(IMAGES / name), title=title, unique_id=Path(name).stem)


def run_lines() -> list[Text | Table]:
    """What a run of the toy data prints."""
    environment = {**os.environ, "FORCE_COLOR": "1", "COLUMNS": str(WIDTH), "OMP_NUM_THREADS": "1", "WANDB_MODE": "disabled"}
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "qaexp", *OPTIONS]
        environment["QAEXP_RESULTS"] = folder
        done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=True)
        output = done.stdout.replace(folder, "results")
    lines = [Text.from_ansi(line) for line in output.splitlines()]
    return [Text(f"$ qaexp {' '.join(OPTIONS)}", style="bold"), *lines, Text("")]


def table_of(page: Path) -> Table:
    """The rows of a page of results, without their status and verdict: our number, and the paper's in brackets."""
    lines = page.read_text(encoding="utf-8").splitlines()
    heading, *rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("| ")]
    columns = [place for place, name in enumerate(heading) if name not in ("status", "verdict")]
    notes = [line.removeprefix("(a) ") for line in lines if line.startswith("(a) ")]
    title = f"{lines[0].lstrip('# ')}: WikiQA. Ours ± 95% interval over seeds (paper's)"
    table = Table(title=title, caption="\n".join(notes), title_justify="left", caption_justify="left", width=WIDTH)
    for place in columns:
        table.add_column(heading[place], justify="left" if place == 0 else "right")
    for row in rows:
        table.add_row(*(_cell(row[place]) for place in columns))
    return table


def _cell(text: str) -> Text:
    ours, bracket, paper = text.partition(" (")
    if "±" not in ours:
        return Text(text)
    return Text.assemble((ours, "bold green"), (bracket + paper, "cyan"))


if __name__ == "__main__":
    main()
