"""W&B runs: the mode of each, that every run is closed, and that a run logs what was measured, to other loggers, too."""

import errno
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import torch
import wandb
from matplotlib.image import imread
from offline_runs import OfflineRun, closed_runs
from omegaconf import OmegaConf
from pytorch_lightning.loggers import Logger
from torch import Tensor

from qaexp.config import compose
from qaexp.data.batch import RankingBatch
from qaexp.errors import ConfigError
from qaexp.evaluation.trec_files import read_run
from qaexp.runs.record import RunRecord
from qaexp.tracking.logger import identity, open_loggers, open_wandb
from qaexp.tracking.sync import offline_runs, pending
from qaexp.train import train
from qaexp.training.ranking import RankingModule

SPEEDS = {"speed/examples_per_second", "speed/tokens_per_second"}
TRAINED = {"train/learning_rate", "train/gradient_norm", "train/gradient_norm_max"}


@pytest.fixture(autouse=True)
def no_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WANDB_API_KEY", raising=False)
    monkeypatch.delenv("WANDB_MODE", raising=False)
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))


@pytest.fixture
def record() -> RunRecord:
    config = OmegaConf.to_container(compose(["logger=wandb", "labels={paper: ctrn, table: table6, row: CTRN}", "seed=3"]), resolve=True)
    assert isinstance(config, dict)
    return RunRecord.begin({str(name): value for name, value in config.items()}, "dataset=toy")


def test_pictures_stand_beside_the_line_of_a_step_that_was_taken(record: RunRecord, tmp_path: Path) -> None:
    """A run that goes on past its end finds the step after its last epoch taken by its tables."""
    record.config["logger"]["mode"] = "offline"
    with open_wandb(record, tmp_path) as logger:
        assert logger
        logger.log_line({"dev/map": 0.5}, step=1)
        logger.log_line({"tables": 1}, step=2)
        logger.log_images({"picture": 1}, step=2)
        logger.log_line({"dev/map": 0.6}, step=2)
    [run] = closed_runs(tmp_path)
    [line] = [line for line in run.history if "picture" in line]
    assert line["dev/map"] == 0.6


@pytest.fixture(scope="module")
def overrides(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    return [
        "logger=wandb",
        "logger.mode=offline",
        "model=ap_bilstm",
        "model.encoder.hidden_dim=8",
        "schedule=inverse_epoch",
        "optimizer=sgd",
        "optimizer.lr=0.1",
        "labels={paper: ap, table: table5, row: AP-biLSTM}",
        f"cache_dir={tmp_path_factory.mktemp('cache')}",
        "dataset.reader.num_train=80",
        "dataset.reader.num_dev=24",
        "dataset.reader.num_test=30",
        "dataset.vectors.dim=12",
        "trainer.max_epochs=3",
    ]


@pytest.fixture(scope="module")
def folder(overrides: list[str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The folder of a finished run."""
    folder = tmp_path_factory.mktemp("run")
    train(compose(overrides), folder, "model=ap_bilstm")
    yield folder
    assert wandb.run is None


@pytest.fixture(scope="module")
def run(folder: Path) -> OfflineRun:
    [only] = closed_runs(folder)
    return only


def test_unknown_modes_are_refused(record: RunRecord, tmp_path: Path) -> None:
    record.config["logger"]["mode"] = "ofline"
    with pytest.raises(ConfigError, match=r"logger\.mode=ofline: choose one of auto, online, offline, none"), open_wandb(record, tmp_path):
        pass


def test_none_opens_nothing(record: RunRecord, tmp_path: Path) -> None:
    record.config["logger"]["mode"] = "none"
    with open_wandb(record, tmp_path) as logger:
        assert logger is False
    assert list(tmp_path.glob("wandb*")) == []


def test_the_environment_says_the_mode_unless_the_configuration_does(
    record: RunRecord, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WANDB_MODE", "disabled")
    with open_wandb(record, tmp_path) as logger:
        assert logger is False
    monkeypatch.setenv("WANDB_MODE", "of")
    with pytest.raises(ConfigError, match="WANDB_MODE=of: choose online, offline or disabled"), open_wandb(record, tmp_path):
        pass
    monkeypatch.setenv("WANDB_API_KEY", "0" * 40)
    monkeypatch.setenv("WANDB_MODE", "offline")
    with open_wandb(record, tmp_path) as logger:
        assert logger
        assert logger.experiment.offline
    record.config["logger"]["mode"] = "none"
    with open_wandb(record, tmp_path) as logger:
        assert logger is False


@pytest.fixture
def out_of_reach(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """There is a key, and nothing answers where W&B should be."""
    monkeypatch.setenv("WANDB_API_KEY", "0" * 40)
    monkeypatch.setenv("WANDB_BASE_URL", "http://localhost:9")
    monkeypatch.setenv("WANDB_INIT_TIMEOUT", "2")
    wandb.teardown()  # it reads the environment once
    yield
    wandb.teardown()


def test_a_run_that_the_trainer_refuses_is_not_begun(overrides: list[str], tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="the trainer cannot be built from this configuration"):
        train(compose([*overrides, "trainer.precision=12"]), tmp_path)
    assert list(tmp_path.glob("wandb*")) == []


@pytest.mark.usefixtures("out_of_reach")
def test_a_run_is_kept_offline_where_w_and_b_is_out_of_reach(record: RunRecord, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with open_wandb(record, tmp_path) as logger:
        assert logger
        logger.log_line({"dev/map": 0.5}, step=1)
    assert "connection refused; this run is kept offline" in caplog.text
    [run] = closed_runs(tmp_path)
    assert run.logged("dev/map") == [0.5]
    assert [path.name for path in pending(tmp_path)] == [path.name for path in tmp_path.glob("wandb/offline-run-*")]


@pytest.mark.usefixtures("out_of_reach")
def test_a_run_that_must_be_online_is_refused_where_w_and_b_is_out_of_reach(record: RunRecord, tmp_path: Path) -> None:
    record.config["logger"]["mode"] = "online"
    with pytest.raises(ConfigError, match=r"W&B does not start: .*connection refused.*; `logger=none` runs"), open_wandb(record, tmp_path):
        pass


def test_a_run_has_an_id_of_its_own_whatever_the_shell_exports(record: RunRecord, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WANDB_RUN_ID", "shared01")
    for name in ("first", "second"):
        with open_wandb(record, tmp_path / name) as logger:
            assert logger
    ids = {closed_runs(tmp_path / name)[0].id for name in ("first", "second")}
    assert len(ids) == 2
    assert "shared01" not in ids


def test_what_fails_of_w_and_b_is_a_warning_and_the_run_is_measured(
    overrides: list[str], folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr("wandb.sdk.wandb_run.Run.log", fail)
    monkeypatch.setattr("wandb.finish", fail)
    record = train(compose(overrides), tmp_path)
    monkeypatch.undo()
    wandb.finish()  # else it goes on reading what later tests print
    wandb.teardown()
    assert record.status == "finished"
    assert record.metrics == RunRecord.load(folder).metrics
    assert caplog.text.count("Read-only file system; the run goes on without it") == 1
    assert caplog.text.count("Read-only file system; its last lines may be missing") == 1


def test_where_w_and_b_does_not_start_a_run_that_has_epochs_goes_on_and_another_is_refused(
    record: RunRecord, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(**_: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr("wandb.init", fail)
    with pytest.raises(ConfigError, match=r"W&B does not start: .*Permission denied; `logger=none` runs"), open_wandb(record, tmp_path):
        pass
    record.history = [{"epoch": 1}]
    with open_wandb(record, tmp_path) as logger:
        assert logger is False
    assert "Permission denied; the run goes on without it" in caplog.text


def test_a_run_is_closed_after_a_crash_and_goes_on_under_its_id(
    record: RunRecord, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")

    def crash() -> None:
        with open_wandb(record, tmp_path):
            assert wandb.run is not None
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        crash()
    assert wandb.run is None
    time.sleep(1)  # W&B names folders by the second
    with open_wandb(record, tmp_path) as logger:
        assert logger
        logger.log_line({"dev/map": 0.5}, step=1)
    assert wandb.run is None
    crashed, finished = closed_runs(tmp_path)
    assert (crashed.exit_code, finished.exit_code) == (1, 0)
    assert crashed.id == finished.id
    assert finished.logged("dev/map") == [0.5]
    assert caplog.text.count("all runs with `qaexp sync`") == 2


def test_each_option_of_a_quick_look_is_a_tag(record: RunRecord) -> None:
    """All of them as one tag may have more than the 64 characters that W&B takes."""
    record.debug = "trainer.overfit_batches=10 trainer.limit_val_batches=10"
    assert identity(record)["tags"][3:] == ["trainer.overfit_batches=10", "trainer.limit_val_batches=10"]


def test_runs_are_grouped_by_table_named_by_row_and_tagged(run: OfflineRun, folder: Path, record: RunRecord, tmp_path: Path) -> None:
    assert (run.project, run.group, run.name) == ("qaexp", "ap/table5", "AP-biLSTM, seed 1")
    assert set(run.tags) == {"ap_bilstm", "toy", "seed 1"}
    record.config["labels"] = {"paper": None, "table": None, "row": None}
    with open_wandb(record, tmp_path):
        pass
    [unlabelled] = closed_runs(tmp_path)
    assert (unlabelled.group, unlabelled.name) == ("", "ggsa_toy_seed3")


def test_the_configuration_is_nested_as_it_was_composed_beside_the_fingerprints(run: OfflineRun, folder: Path) -> None:
    record = RunRecord.load(folder)
    assert {name: run.config[name] for name in record.config} == record.config
    assert run.config["model"]["encoder"]["hidden_dim"] == 8
    assert run.config["fingerprints"] == {"code": record.commit, "data": record.data["fingerprint"], "run": record.key}
    assert run.config["record"]["data"] == record.data
    assert run.config["record"]["versions"] == record.versions


def test_each_epoch_is_one_line_that_repeats_the_record(run: OfflineRun, folder: Path) -> None:
    record = RunRecord.load(folder)
    epochs = [line for line in run.history if "epoch" in line]
    assert [{name: value for name, value in line.items() if name in record.history[0]} for line in epochs] == record.history
    for line in epochs:
        own = {name for name in line if not name.startswith("_")}
        assert own == {*record.history[0], *SPEEDS, *TRAINED}
        assert line["train/learning_rate"] == pytest.approx(0.1 / line["epoch"])
        assert 0 < line["train/gradient_norm"] < line["train/gradient_norm_max"]
        assert line["speed/examples_per_second"] < line["speed/tokens_per_second"]
    assert sum(line["_runtime"] for line in epochs[:1]) < record.seconds["total"]
    assert run.exit_code == 0


def test_a_logger_changes_no_score(folder: Path, overrides: list[str], tmp_path: Path) -> None:
    record = train(compose([*overrides, "logger.mode=none"]), tmp_path)
    assert (tmp_path / "test.run").read_bytes() == (folder / "test.run").read_bytes()
    logged = RunRecord.load(folder)
    assert (record.key, record.history, record.metrics) == (logged.key, logged.history, logged.metrics)


def test_the_gradient_norm_is_how_far_a_step_goes_and_speeds_are_of_what_was_read(
    overrides: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: dict[str, list[Tensor]] = {}
    batches: list[RankingBatch] = []

    def look(when: str) -> Callable[[RankingModule], None]:
        return lambda module: seen.update({when: [p.detach().clone() for p in module.parameters()]})

    def keep(self: RankingModule, batch: RankingBatch, batch_idx: int) -> None:
        batches.append(batch)

    monkeypatch.setattr(RankingModule, "on_train_start", look("before"))
    monkeypatch.setattr(RankingModule, "on_train_end", look("after"))
    monkeypatch.setattr(RankingModule, "on_train_batch_start", keep)
    record = train(compose([*overrides, "dataset.batch_size=1000", "trainer.max_epochs=1"]), tmp_path)
    [run] = closed_runs(tmp_path)
    [batch], line = batches, run.history[0]
    moved = sum(((after - before) ** 2).sum().item() for before, after in zip(seen["before"], seen["after"], strict=True)) ** 0.5
    assert line["train/gradient_norm"] == line["train/gradient_norm_max"] == pytest.approx(moved / 0.1, rel=1e-3)
    texts = [*batch.questions.tolist(), *batch.candidates.tolist()]
    num_tokens = sum(token != 0 for text in texts for token in text)
    assert line["speed/tokens_per_second"] / line["speed/examples_per_second"] == pytest.approx(num_tokens / batch.num_groups)
    assert batch.num_groups / line["speed/examples_per_second"] < record.seconds["fit"]


def test_a_resumed_run_goes_on_in_the_same_w_and_b_run(overrides: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    original = RankingModule.training_step

    def step(self: RankingModule, batch: RankingBatch, index: int) -> torch.Tensor:
        if self.current_epoch == 1:
            raise ZeroDivisionError
        return original(self, batch, index)

    monkeypatch.setattr(RankingModule, "training_step", step)
    with pytest.raises(ZeroDivisionError):
        train(compose(overrides), tmp_path)
    monkeypatch.setattr(RankingModule, "training_step", original)
    record = train(compose(overrides), tmp_path, resume=True)
    first, second = closed_runs(tmp_path)
    assert first.id == second.id
    lines = [*first.history, *second.history]
    assert [line["_step"] for line in lines] == [1, 2, 3, 4]
    assert [{name: line[name] for name in record.history[0]} for line in lines[:3]] == record.history
    assert second.config["fingerprints"] == first.config["fingerprints"]


def test_a_run_that_was_killed_has_the_lines_of_all_epochs_again(record: RunRecord, tmp_path: Path) -> None:
    with open_wandb(record, tmp_path) as logger:
        assert logger
    [left] = offline_runs(tmp_path)
    (left / "closed.txt").unlink()  # as after kill -9: no end, and no line on disk
    record.history = [{"epoch": 1, "dev/map": 0.25}, {"epoch": 2, "dev/map": 0.5}]
    time.sleep(1)  # W&B names folders by the second
    with open_wandb(record, tmp_path) as logger:
        assert logger
        logger.log_line({"epoch": 3, "dev/map": 0.75}, step=3)
        record.history.append({"epoch": 3, "dev/map": 0.75})
    [resumed] = closed_runs(tmp_path)
    assert left.name.endswith(resumed.id)
    assert [(line["_step"], line["dev/map"]) for line in resumed.history] == [(1, 0.25), (2, 0.5), (3, 0.75)]


def test_a_finished_run_that_goes_on_loses_no_epoch_to_its_tables(record: RunRecord, tmp_path: Path) -> None:
    with open_wandb(record, tmp_path) as logger:
        assert logger
        logger.log_line({"epoch": 1, "dev/map": 0.25}, step=1)
        logger.log_line({"ranking/test": 0.0}, step=2)
        logger.log_line({"epoch": 2, "dev/map": 0.5}, step=2)  # the first one after a resume
        logger.log_line({"epoch": 3, "dev/map": 0.75}, step=3)
    [run] = closed_runs(tmp_path)
    assert [line["dev/map"] for line in run.history if "dev/map" in line] == [0.25, 0.5, 0.75]


@pytest.mark.slow
def test_a_run_after_kill_9_has_all_epochs_of_its_record(tmp_path: Path) -> None:
    options = ["model=ap_cnn", "dataset=toy", "logger.mode=offline", "logger.pages=[]", "dataset.vectors.dim=8", "trainer.max_epochs=60"]
    options += [f"output_dir={tmp_path}/runs", f"cache_dir={tmp_path}/cache", "dataset.reader.num_train=20", "patience=60"]
    with subprocess.Popen([sys.executable, "-m", "qaexp", *options], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as training:
        deadline = time.monotonic() + 240
        while not (left := [path for path in tmp_path.glob("runs/*/*/record.json") if len(RunRecord.load(path.parent).history) > 2]):
            assert training.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.05)
        training.kill()
    folder = left[0].parent
    assert len(RunRecord.load(folder).history) < 60
    subprocess.run([sys.executable, "-m", "qaexp", f"resume={folder}"], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    [resumed] = closed_runs(folder)
    history = RunRecord.load(folder).history
    assert len(history) == 60
    lines = [line for line in resumed.history if "dev/map" in line]
    assert [{name: line[name] for name in history[0]} for line in lines] == history


def test_the_report_of_the_run_is_an_artifact(run: OfflineRun) -> None:
    [report] = [artifact["report.html"] for artifact in run.artifacts if "report.html" in artifact]
    assert b"<title>AP-BiLSTM on toy, seed 1: report</title>" in report
    assert b'id="part-pools-0"' in report


def test_the_table_of_the_ranking_is_the_run_file_with_texts(run: OfflineRun, folder: Path) -> None:
    logged = run.table("ranking/test")
    table, lines = pd.DataFrame(logged["data"], columns=logged["columns"]), read_run(folder / "test.run")
    assert len(table) == 300
    assert table["question"].tolist() == lines["question"].tolist()
    assert table["rank"].tolist() == lines["rank"].tolist()
    assert table["score"].tolist() == pytest.approx(lines["score"].tolist())
    assert table["label"].sum() == sum(line.endswith(" 1") for line in (folder / "test.qrels").read_text().splitlines())
    hardest = run.table("hardest/test")
    first = table[table["rank"] == 1].set_index("question")
    for row in (dict(zip(hardest["columns"], each, strict=True)) for each in hardest["data"]):
        assert first.loc[row["question"], ["text", "candidate"]].tolist() == [row["text"], row["ranked first"]]


def test_the_summary_is_the_record_of_the_best_epoch(run: OfflineRun, folder: Path) -> None:
    record = RunRecord.load(folder)
    for split, metrics in record.metrics.items():
        assert {name: run.summary[f"{split}/{name}"] for name in metrics} == metrics
    assert run.summary["best_epoch"] == record.best_epoch


def test_tables_of_questions_are_those_of_the_run_and_the_hardest_are_among_them(run: OfflineRun, folder: Path) -> None:
    for split in ("dev", "test"):
        questions, measured = run.table(f"questions/{split}"), pd.read_csv(folder / f"{split}.questions.csv")
        pd.testing.assert_frame_equal(pd.DataFrame(questions["data"], columns=questions["columns"]), measured, check_dtype=False)
        hardest = run.table(f"hardest/{split}")
        found = pd.DataFrame(hardest["data"], columns=hardest["columns"]).set_index("question")
        assert len(found) == 20
        by_name = measured.set_index("question")["mrr"]
        assert (1 / found["rank"]).tolist() == pytest.approx(by_name[found.index].tolist())
        assert found["rank"].is_monotonic_decreasing
        assert by_name[found.index].max() <= by_name.drop(found.index).min()


def test_heat_maps_of_the_hardest_questions_are_pictures(run: OfflineRun) -> None:
    assert [line["_step"] for line in run.history] == [1, 2, 3, 4], "heat maps are in one line with the tables"
    hardest = run.table("hardest/dev")
    for number, row in enumerate(hardest["data"][:3], 1):
        [logged] = run.logged(f"heat maps/{number}")
        assert logged["caption"].startswith(f"question {row[0]}, rank {row[1]}")
        picture = imread(run.folder / logged["path"])
        assert picture.shape[:2] == (logged["height"], logged["width"])
        assert picture[..., :3].std() > 0.1


def test_several_loggers_have_the_same_lines(overrides: list[str], tmp_path: Path) -> None:
    record = train(compose(["logger=[none,csv]", *overrides[2:], "trainer.max_epochs=2"]), tmp_path)
    lines = pd.read_csv(tmp_path / "csv" / "version_0" / "metrics.csv")
    assert lines["dev/map"].iloc[:2].tolist() == [entry["dev/map"] for entry in record.history]
    assert lines["test/map"].iloc[2] == record.metrics["test"]["map"]
    assert (tmp_path / "csv" / "version_0" / "hparams.yaml").is_file()


class Bare(Logger):
    """A logger of one's own that writes no files."""

    name, version = "bare", "0"

    def __init__(self) -> None:
        super().__init__()
        self.names = set[str]()

    def log_metrics(self, metrics: Any, step: int | None = None) -> None:
        self.names |= set(metrics)

    def log_hyperparams(self, params: Any) -> None: ...


def test_a_logger_of_ones_own_need_not_take_a_folder(record: RunRecord, tmp_path: Path) -> None:
    cfg = OmegaConf.create({"bare": {"_target_": f"{__name__}.Bare"}, "mode": "none"})
    record.config["logger"]["mode"] = "none"
    with open_loggers(cfg, record, tmp_path) as [logger]:
        assert isinstance(logger, Bare)


def test_lines_that_failed_to_be_logged_are_logged_when_the_run_is_resumed(
    record: RunRecord, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with open_wandb(record, tmp_path) as logger:
        assert logger
        with monkeypatch.context() as patch:
            patch.setattr("wandb.sdk.wandb_run.Run.log", full)
            logger.log_line({"epoch": 1, "dev/map": 0.25}, step=1)
        record.history.append({"epoch": 1, "dev/map": 0.25})
    time.sleep(1)  # W&B names folders by the second
    with open_wandb(record, tmp_path):
        pass
    [resumed] = closed_runs(tmp_path)
    assert [(line["_step"], line["dev/map"]) for line in resumed.history] == [(1, 0.25)]


def test_a_logger_is_finished_if_another_does_not_start(record: RunRecord, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    statuses = list[str]()
    monkeypatch.setattr(Bare, "finalize", lambda self, status: statuses.append(status))
    cfg = OmegaConf.create({"bare": {"_target_": f"{__name__}.Bare"}, "broken": {"_target_": f"{__name__}.Bare", "odd": 1}, "mode": "none"})
    record.config["logger"]["mode"] = "none"
    with pytest.raises(ConfigError, match="logger=broken does not start"), open_loggers(cfg, record, tmp_path):
        pass
    assert statuses == ["failed"]


def lines_of_tensorboard(folder: Path) -> dict[str, list[float]]:
    """What TensorBoard shows of a run: metric to its value at each step."""
    pytest.importorskip("tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    events = EventAccumulator(str(folder / "tensorboard" / "version_0"))
    events.Reload()
    return {name: [event.value for event in events.Scalars(name)] for name in events.Tags()["scalars"]}


def lines_of_mlflow(folder: Path) -> dict[str, list[float]]:
    """What MLflow has of a run: metric to its value at each step."""
    pytest.importorskip("mlflow")
    from mlflow.tracking import MlflowClient

    client = MlflowClient(f"sqlite:///{folder.parent / 'mlflow.db'}")
    [experiment] = [each for each in client.search_experiments() if each.name == "qaexp"]
    [run] = client.search_runs([experiment.experiment_id])
    assert (run.info.status, run.info.run_name) == ("FINISHED", "ap_bilstm_toy_seed1")
    assert run.data.params["model/encoder/hidden_dim"] == "8"
    return {name: [each.value for each in client.get_metric_history(run.info.run_id, name)] for name in run.data.metrics}


@pytest.mark.filterwarnings("ignore:MLFlow only allows", "ignore::DeprecationWarning")  # p@1 is p1 there; of sqlalchemy, by mlflow
@pytest.mark.parametrize(
    ("logger", "lines"),
    [("tensorboard", lines_of_tensorboard), pytest.param("mlflow", lines_of_mlflow, marks=pytest.mark.slow)],  # making its database
)
def test_a_run_logs_what_was_measured_to(
    logger: str, lines: Callable[[Path], dict[str, list[float]]], overrides: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip(logger)
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    folder = tmp_path / "runs"
    record = train(compose([f"logger={logger}", *overrides[2:], "trainer.max_epochs=2", f"output_dir={folder}"]), folder)
    found = lines(folder)
    expected = [*(entry["dev/map"] for entry in record.history), record.metrics["dev"]["map"]]
    assert found["dev/map"] == pytest.approx(expected, abs=1e-6)
    assert found["test/map"] == pytest.approx([record.metrics["test"]["map"]], abs=1e-6)


@pytest.mark.parametrize("logger", ["tensorboard", "mlflow"])
def test_a_logger_whose_package_is_missing_is_named(
    logger: str, overrides: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for package in ("tensorboard.tensorboard", "tensorboard.tensorboardx", "mlflow.mlflow"):
        module, _, name = package.partition(".")
        loggers = "lightning_fabric.loggers" if module == "tensorboard" else "pytorch_lightning.loggers"
        monkeypatch.setattr(f"{loggers}.{module}._{name.upper()}_AVAILABLE", False)
    sentence = f"logger={logger}: {logger} is not installed; pip install 'qaexp[{logger}]', or leave it out with logger=none"
    with pytest.raises(ConfigError, match=re.escape(sentence)):
        train(compose([f"logger={logger}", *overrides[2:]]), tmp_path)
