"""What the terminal shows of values that look like Rich's mark-up: the very text."""

import json
from pathlib import Path

import pytest
from omegaconf import OmegaConf

from qaexp.cli.screen import show_config, show_results
from qaexp.config import compose
from qaexp.runs.record import RunRecord

OLD_RUN = Path(__file__).parent.parent / "runs" / "before_the_move"
MARKUP = ["[old] runs", "GGSA [/2]", "[bold]x[/bold]", "[link=file:///etc/passwd]here[/link]", "\\[red]", "data[/tmp]"]


@pytest.mark.parametrize("text", MARKUP)
def test_a_configuration_is_shown_as_it_is(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    show_config(OmegaConf.create({"folder": text, text: {"_target_": f"a.{text}", "x": 1}}))
    shown = capsys.readouterr().out
    assert f"folder: {text}" in shown
    assert shown.count(text.rpartition(".")[2]) >= 3


@pytest.mark.parametrize("text", MARKUP)
def test_results_are_shown_as_they_are(text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    record = RunRecord(**json.loads((OLD_RUN / "record.json").read_text()))
    record.config["choices"]["model"] = text
    record.data |= {"name": text, "notes": {text: 1}}
    record.convention = text
    record.metrics = {text: {**record.metrics["test"], "tied at first answer": 0.5}}
    folder = tmp_path / text.replace("/", "-")
    show_results(record, folder)
    shown = capsys.readouterr().out.replace("\n", " ")
    assert f"saved in {folder}" in shown
    assert f"{text}: 1" in shown
    assert f"broken by the rule of `{text}`" in " ".join(shown.split())


def test_a_configuration_is_shown_where_it_differs_from_the_defaults(capsys: pytest.CaptureFixture[str]) -> None:
    show_config(compose(["optimizer.lr=0.5", "loss=max_margin"]), compose())
    shown = capsys.readouterr().out
    assert "lr: 0.5" in shown
    assert "margin: 1.0" in shown
    assert "what differs from the defaults (print_config=full shows all)" in shown
    assert "patience" not in shown
    show_config(compose(), compose())
    assert capsys.readouterr().out == "configuration: the defaults (print_config=full shows all)\n"


def test_results_are_in_percent_as_tables_are(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    record = RunRecord(**json.loads((OLD_RUN / "record.json").read_text()))
    record.metrics = {"test": {"map": 0.75, "mrr": 0.5, "questions": 1234, "pairs": 5678}}
    show_results(record, tmp_path)
    shown = capsys.readouterr().out
    [test] = [line for line in shown.splitlines() if "│ test" in line]
    assert test.replace("│", " ").split() == ["test", "50.00", "75.00", "1,234", "5,678"]
    assert "measures in percent" in shown


def test_the_log_of_a_run_holds_its_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    show_results(RunRecord(**json.loads((OLD_RUN / "record.json").read_text())), tmp_path)
    assert (tmp_path / "run.log").read_text() == capsys.readouterr().out
