"""The specifications that --dry-run writes: the library reads them, and they show what runs log."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import wandb_workspaces.reports.v2 as wr
import wandb_workspaces.workspaces as ws
from offline_runs import OfflineRun, closed_runs
from wandb_workspaces.reports.v2 import internal as report_internal
from wandb_workspaces.reports.v2.interface import Report
from wandb_workspaces.workspaces import internal as workspace_internal

from qaexp.cli.dashboard import main
from qaexp.config import CONF, compose
from qaexp.reproduction.content import EXPERIMENTS
from qaexp.reproduction.dashboard import paper_tables, report, run_lines
from qaexp.runs.record import RunRecord
from qaexp.tracking.workspace import VIEW
from qaexp.train import train

TABLE = """
source: "dos Santos et al. 2016, Table 5"
kind: results
caption: Toy
label: System
scale: 100
decimals: 2
seeds: [1]
common: [trainer.max_epochs=1]
quick: []
settings:
  toy: {datasets: [toy]}
  other: {datasets: [wikiqa, wikiqa_all]}
columns:
  MAP: {setting: toy, metric: test/map}
  MRR: {setting: toy, metric: test/mrr}
  WikiQA: {setting: other, metric: test/map}
  parameters: {setting: toy, metric: parameters}
rows:
  - {label: AP-CNN, overrides: [model=ap_cnn], published: [68.86, 69.57, 12.34, 5]}
  - {label: Yang et al., published: [65.20, 66.52, null, null]}
"""
STATISTICS = """
source: "Nobody 2016, Table 1"
kind: statistics
questions: as read
columns: {Train: {measure: questions, of: [train]}}
rows: [{label: Toy, datasets: [toy], published: [50K]}]
"""


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two finished runs: one of the table, and one of none."""
    runs = tmp_path_factory.mktemp("runs")
    small = ["num_train=40", "num_dev=10", "num_test=10"]
    options = ["model=ap_cnn", "trainer.max_epochs=1", f"cache_dir={runs}/cache", *(f"dataset.reader.{option}" for option in small)]
    for name, more in {
        "labelled": ["logger.mode=offline", "labels={paper: ap, table: table5, row: AP-CNN}"],
        "other": ["logger=none", "seed=77"],
    }.items():
        (runs / name).mkdir()
        train(compose([*options, *more]), runs / name)
    return runs


@pytest.fixture(scope="module")
def logged(runs: Path) -> OfflineRun:
    [run] = closed_runs(runs)
    return run


@pytest.fixture(scope="module")
def specifications(runs: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """What --dry-run wrote, by the name of the file."""
    folder = tmp_path_factory.mktemp("dashboard")
    for paper, name, content in (("ap", "table5", TABLE), ("ap", "table1", STATISTICS)):
        path = folder / "experiments" / paper / f"{name}.yaml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    (folder / "results" / "ap").mkdir(parents=True)
    (folder / "results" / "ap" / "table5.csv").write_text("System,MAP,MAP (paper),command\nAP-CNN,71.23,68.86,qaexp\n")
    places = ["--experiments", str(folder / "experiments"), "--results", str(folder / "results"), "--runs", str(runs)]
    assert main(["--dry-run", str(folder / "sent"), "--entity", "team", "--project", "tables", *places]) == 0
    sent = folder / "sent"
    return {str(path.relative_to(sent).with_suffix("")): json.loads(path.read_text()) for path in sent.rglob("*.json")}


def as_workspace(view: dict[str, Any]) -> ws.Workspace:
    """As the library reads a workspace back."""
    spec = workspace_internal.WorkspaceViewspec.model_validate_json(json.dumps(view["spec"]))
    names = {"entity": view["entityName"], "project": view["projectName"], "display_name": view["displayName"], "name": view["name"]}
    return ws.Workspace._from_model(workspace_internal.View(**names, id="", spec=spec))


def as_report(view: dict[str, Any]) -> Report:
    spec = report_internal.Spec.model_validate_json(json.dumps(view["spec"]))
    project = report_internal.Project(name=view["projectName"], entity_name=view["entityName"])
    names = {"display_name": view["displayName"], "description": view["description"]}
    return Report._from_model(report_internal.ReportViewspec(**names, project=project, id="", spec=spec))


def shown(panels: list[Any]) -> set[str]:
    """The names of everything that panels ask of a run."""
    names: set[Any] = set()
    for panel in panels:
        match panel:
            case wr.LinePlot():
                names |= {panel.x, *panel.y}
            case wr.BarPlot():
                names |= set(panel.metrics)
            case wr.MediaBrowser():
                names |= set(panel.media_keys)
            case wr.WeavePanelSummaryTable():
                names.add(panel.table_name)
    return {getattr(name, "name", name) for name in names}


def test_there_is_a_view_for_the_workspace_and_for_every_table(specifications: dict[str, dict[str, Any]]) -> None:
    assert {name: view["type"] for name, view in specifications.items()} == {
        "workspace": "project-view",
        "ap/table5": "runs",
        "ap/table1": "runs",
    }
    assert {(view["entityName"], view["projectName"]) for view in specifications.values()} == {("team", "tables")}


def test_the_library_reads_the_workspace_back_as_it_was_built(specifications: dict[str, dict[str, Any]]) -> None:
    view = specifications["workspace"]
    board = as_workspace(view)
    assert view["name"] == VIEW
    assert [section.name for section in board.sections][:4] == ["Results", "Learning", "Training", "Speed"]
    assert [group.name for group in board.runset_settings.groupby] == ["Group", "labels.row", "choices.model"]
    assert json.loads(board._to_model().spec.model_dump_json(by_alias=True, exclude_none=True)) == view["spec"]


def test_panels_show_what_a_run_logs(specifications: dict[str, dict[str, Any]], logged: OfflineRun) -> None:
    known = {*logged.summary, *(name for line in logged.history for name in line)}
    board = shown([panel for section in as_workspace(specifications["workspace"]).sections for panel in section.panels])
    others = {f"{split}/{metric}" for split in ("dev", "test", "test1", "test2") for metric in ("accuracy", "p@1")}  # of other data sets
    tables = {f"{table}/{split}" for table in ("questions", "hardest") for split in ("test1", "test2")}
    assert board - known - others - tables == set()
    assert {"train/loss", "train/learning_rate", "train/gradient_norm", "speed/tokens_per_second", "heat maps/1", "hardest/dev"} <= board
    grids = [block for block in as_report(specifications["ap/table5"]).blocks if isinstance(block, wr.PanelGrid)]
    report = shown([panel for grid in grids for panel in grid.panels])
    assert report - known == set()
    assert {"test/map", "test/mrr", "dev/map", "hardest/test", "heat maps/1"} <= report


def test_the_runs_of_a_setting_are_those_of_its_group_on_its_data(specifications: dict[str, dict[str, Any]], logged: OfflineRun) -> None:
    toy, other = [block for block in as_report(specifications["ap/table5"]).blocks if isinstance(block, wr.PanelGrid)]
    assert [runset.name for runset in (*toy.runsets, *other.runsets)] == ["toy", "other"]
    [group, data] = toy._to_model().metadata.run_sets[0].model_dump(by_alias=True)["filters"]["filters"]
    assert (group["key"]["name"], group["op"], group["value"]) == ("group", "=", logged.group)
    assert (data["key"]["name"], data["op"]) == ("tags", "IN")
    assert set(data["value"]) & set(logged.tags) == {"toy"}
    assert "['wikiqa', 'wikiqa_all']" in other.runsets[0].filters
    metrics = [shown([panel]) for grid in (toy, other) for panel in grid.panels if isinstance(panel, wr.BarPlot)]
    assert metrics == [{"test/map"}, {"test/mrr"}, {"test/map"}]
    places = [(panel.layout.x, panel.layout.y) for panel in toy.panels]
    assert len(set(places)) == len(places)


def test_a_report_says_what_is_printed_what_is_ours_and_which_runs_are_behind_it(
    specifications: dict[str, dict[str, Any]], runs: Path
) -> None:
    report = as_report(specifications["ap/table5"])
    assert report.title == "dos Santos et al. 2016, Table 5"
    printed, ours, finished = [block.text for block in report.blocks if isinstance(block, wr.MarkdownBlock)]
    assert printed.splitlines()[0] == "| System | MAP | MRR | WikiQA | parameters |"
    assert "| Yang et al. | 65.20 | 66.52 |  |  |" in printed
    assert ours.splitlines() == ["| System | MAP | MAP (paper) |", "|---|---|---|", "| AP-CNN | 71.23 | 68.86 |"]
    record = RunRecord.load(runs / "labelled")
    assert f"| AP-CNN | toy | 1 | {100 * record.metrics['test']['map']:.2f} |" in finished
    assert len(finished.splitlines()) == 3, "the run of no table is not among them"
    statistics = as_report(specifications["ap/table1"])
    assert [block.text for block in statistics.blocks if isinstance(block, wr.MarkdownBlock)] == ["|  | Train |\n|---|---|\n| Toy | 50K |"]
    assert not [block for block in statistics.blocks if isinstance(block, wr.PanelGrid)]


@pytest.mark.parametrize("group", ["ap/table3", "ggsa/table2", "ggsa/table3", "ggsa/table4", "ggsa/table5"])
def test_runs_on_a_part_with_other_splits_than_the_papers_data_show_what_they_have(group: str, runs: Path) -> None:
    """InsuranceQA's part has one test split, the paper's two."""
    [table] = [table for table in paper_tables(EXPERIMENTS) if table.group == group]
    record = RunRecord.load(runs / "labelled")
    paper, _, name = group.partition("/")
    on_the_part = replace(record, config={**record.config, "labels": {"paper": paper, "table": name, "row": "GGSA"}})
    [line] = run_lines(table, [on_the_part]).to_dict("records")
    assert line["test/p@1"] == f"{100 * record.metrics['test']['p@1']:.2f}"
    assert line["test1/p@1"] == line["test2/p@1"] == ""
    blocks = report(table, None, [on_the_part], "team", "tables").blocks
    [grid] = [block for block in blocks if isinstance(block, wr.PanelGrid)]
    assert {"test/p@1", "test1/p@1", "test2/p@1", "hardest/test", "hardest/test1", "hardest/test2"} <= shown(grid.panels)


def test_every_table_of_the_papers_has_a_report_that_the_library_reads(tmp_path: Path) -> None:
    assert main(["--dry-run", str(tmp_path)]) == 0
    files = sorted((CONF.parent / "experiments").glob("*/table*.yaml"))
    assert files
    titles = []
    for path in files:
        report = as_report(json.loads((tmp_path / path.parent.name / f"{path.stem}.json").read_text()))
        assert len(report.title) <= 128
        titles.append(report.title)
    assert pd.Series(titles).is_unique, "an earlier report is found by its title"


def test_a_folder_without_tables_is_refused(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    assert main(["--dry-run", str(tmp_path / "out"), "--experiments", str(tmp_path / "expriments")]) == 2
    assert "expriments: it holds no table, such as ggsa/table4.yaml" in caplog.text
    for option in ("--runs", "--results"):
        assert main(["--dry-run", str(tmp_path / "out"), option, str(tmp_path / "nowhere")]) == 2
        assert f"{option} {tmp_path / 'nowhere'}: there is no such folder; leave the option out for" in caplog.text
    assert not (tmp_path / "out").exists()


def test_without_a_key_the_remedy_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.delenv("WANDB_API_KEY", raising=False)
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    assert main([]) == 2
    assert "W&B has no key here" in caplog.text
    assert "--dry-run FOLDER" in caplog.text
