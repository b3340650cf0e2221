"""A sweep as its user meets it: every grid composes, what is missing runs, workers die, and dev alone selects."""

import contextlib
import json
import logging
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from filelock import FileLock
from omegaconf import OmegaConf
from waiting import wait_until

from qaexp.cli.main import main
from qaexp.config import choices, compose
from qaexp.data import module_cache as shared
from qaexp.processes import Process
from qaexp.runs.identity import config_key
from qaexp.sweep.job import JobResult
from qaexp.sweep.ray_launcher import RayLauncher
from qaexp.sweep.strategies import Space
from qaexp.sweep.sweeper import Sweep, _remove_dead_outcomes

ROOT = Path(__file__).resolve().parent.parent.parent
SMALL = ["dataset.reader.num_train=60", "dataset.reader.num_dev=20", "dataset.reader.num_test=20", "dataset.vectors.dim=12"]
GRIDS = [name for name in choices("experiment") if name.endswith("/grid")]
SIZES = {"ctrn/grid": 288, "rcnn/grid": 36, "ap/grid": 81, "clstm/grid": 36, "ggsa/grid": 48}


@pytest.fixture(autouse=True)
def every_line(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)


def records(folder: Path) -> list[dict]:
    return [json.loads(path.read_text()) for path in sorted(folder.rglob("record.json"))]


def arguments(tmp_path: Path, *more: str) -> list[str]:
    options = ["-m", "logger=none", f"output_dir={tmp_path / 'runs'}", f"cache_dir={tmp_path / 'cache'}", *SMALL, "trainer.max_epochs=2"]
    return [*options, *more]


def command(*options: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "qaexp", *options],
        cwd=ROOT,
        env={**os.environ, "OMP_NUM_THREADS": "1", "RAY_worker_niceness": "0", "RUNS_OF_THIS_TEST": " ".join(options)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def processes_with(text: str) -> list[int]:
    """Those that began with a text in their environment, such as the folder of their runs, and have not ended."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if text.encode() in (folder / "environ").read_bytes() and Process.of(int(folder.name)).started:
                found.append(int(folder.name))
    return found


@pytest.mark.parametrize("name", GRIDS)
def test_every_value_of_a_papers_grid_composes(name: str) -> None:
    params = OmegaConf.load(ROOT / "conf" / "experiment" / f"{name}.yaml").hydra.sweeper.params
    space = Space.parse(params, [f"experiment={name}"])
    assert space.size == SIZES[name]
    cells = list(space.cells())
    for cell in (cells[0], cells[-1]):
        cfg = compose(space.overrides(cell))
        OmegaConf.to_container(cfg, resolve=True, throw_on_missing=True)


@pytest.mark.parametrize(
    ("name", "patience"), [("ap/grid", 25), ("clstm/grid", 40), ("ctrn/grid", 5), ("ggsa/grid", 30), ("rcnn/grid", 10)]
)
def test_a_grid_says_when_its_runs_stop_and_a_command_has_the_last_word(name: str, patience: int) -> None:
    assert compose([f"experiment={name}"]).patience == patience
    assert compose([f"experiment={name}", "patience=3"]).patience == 3


def test_what_is_finished_is_skipped_and_the_best_is_a_file_that_composes(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    cells = ["optimizer.lr=1e-3,1e-2", "model/pooling=max,mean"]
    assert main(arguments(tmp_path, *cells, f"hydra.sweeper.best={tmp_path / 'best.yaml'}")) == 0
    assert caplog.messages[-1].startswith("4 jobs: 4 ran, 0 skipped, 0 failed")
    done = records(tmp_path)
    best = max(done, key=lambda record: max(epoch["dev/map"] for epoch in record["history"]))
    written = OmegaConf.load(tmp_path / "best.yaml")
    assert written.optimizer.lr == best["config"]["optimizer"]["lr"]
    pooling = "max" if "Max" in best["config"]["model"]["pooling"]["_target_"] else "mean"
    assert {"override /model/pooling": pooling} in written.defaults
    assert "output_dir" not in written
    (tmp_path / "conf" / "experiment" / "toy").mkdir(parents=True)
    (tmp_path / "best.yaml").rename(tmp_path / "conf" / "experiment" / "toy" / "best.yaml")
    again = compose(["experiment=toy/best", f"hydra.searchpath=[file://{tmp_path / 'conf'}]", f"cache_dir={tmp_path / 'cache'}"])
    assert config_key(OmegaConf.to_container(again, resolve=True)) == best["key"]
    times = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("record.json")}
    assert main(arguments(tmp_path, *cells)) == 0
    assert caplog.messages[-1].startswith("4 jobs: 0 ran, 4 skipped, 0 failed")
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("record.json")} == times


def test_a_place_where_the_best_cannot_be_written_is_refused_before_anything_runs(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "file").write_text("in the way")
    for place in (tmp_path / "file" / "best.yaml", tmp_path):
        assert main(arguments(tmp_path, "optimizer.lr=1e-3,1e-2", f"hydra.sweeper.best={place}")) == 2
        assert f"cannot write {place}" in caplog.messages[-1]
        assert caplog.messages[-1].endswith("; name another place with hydra.sweeper.best=FILE")
    assert not records(tmp_path)


def own_files(folder: Path, right: int) -> list[str]:
    """Options of a sweep over questions of one's own, where one of two answers is right."""
    texts = ["roses need water", "stones do not"]
    lines = [f"what do roses need in year {year}\t{text}\t{int(place == right)}\n" for year in range(9) for place, text in enumerate(texts)]
    folder.mkdir(exist_ok=True)
    for split in ("train", "dev", "test"):
        (folder / f"{split}.tsv").write_text("".join(lines).replace("year", split))
    return ["dataset=own", f"dataset.reader.folder='{folder}'", "model=word_overlap,bm25"]


def test_changed_data_run_again_and_the_old_run_is_kept(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    options = ["-m", "logger=none", f"output_dir={tmp_path / 'runs'}", f"cache_dir={tmp_path / 'cache'}"]
    for right, ran in ((0, "2 ran, 0 skipped"), (0, "0 ran, 2 skipped"), (1, "2 ran, 0 skipped")):
        own = own_files(tmp_path / "own", right)
        shared._open.clear()  # as in a process of its own
        assert main([*options, *own]) == 0
        assert ran in caplog.messages[-1]
    assert caplog.text.count("what it reads has changed since; the old run is now in") == 2
    of_overlap = [record for record in records(tmp_path) if record["config"]["choices"]["model"] == "word_overlap"]
    assert sorted(record["metrics"]["test"]["p@1"] for record in of_overlap) == [0.0, 1.0]


def test_runs_that_read_no_word_vectors_are_kept_without_any(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    vectors = ["dataset/vectors=glove50", f"dataset.vectors.path={tmp_path / 'none'}", "model=word_overlap,random_guess"]
    options = [each for each in arguments(tmp_path, *vectors) if not each.startswith("dataset.vectors.dim")]
    for ran in ("2 ran, 0 skipped", "0 ran, 2 skipped, 0 failed"):
        assert main(options) == 0
        assert ran in caplog.messages[-1]


def test_word_vectors_of_another_file_at_the_same_place_are_run_anew(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "vectors.txt"
    options = arguments(tmp_path, "trainer.max_epochs=1", "model=qa_cnn", "model.encoder.num_filters=8", "dataset/vectors=glove50")
    options = [each for each in options if not each.startswith("dataset.vectors.dim")] + [f"dataset.vectors.path={path}"]
    for value, ran in ((0.1, "1 ran, 0 skipped"), (0.1, "0 ran, 1 skipped"), *((value, "1 ran, 0 skipped") for value in (0.2, 0.1, 0.3))):
        path.write_text("".join(f"{word} {value} 0.5\n" for word in ("the", "a", "of", "garden")))
        shared._open.clear()  # as in a process of its own
        assert main(options) == 0
        assert ran in caplog.messages[-1]
    assert len(records(tmp_path)) == 4


def test_a_value_with_a_blank_in_it_stays_one_in_the_best_of_a_sweep(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    own = own_files(tmp_path / "own data", right=0)
    assert main(["-m", *own, "logger=none", f"output_dir={tmp_path / 'runs'}", f"cache_dir={tmp_path / 'cache'}"]) == 0
    assert any(message.startswith("[1/2]") and " model=word_overlap: ran" in message for message in caplog.messages)
    [best] = tmp_path.rglob("best.yaml")
    assert OmegaConf.load(best).dataset.reader.folder == str(tmp_path / "own data")


def test_jobs_of_one_process_share_their_data_and_keep_their_scores(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from qaexp.data import module_cache as shared

    opened = []
    original = shared.instantiate
    monkeypatch.setattr(shared, "instantiate", lambda cfg: opened.append(cfg.name) or original(cfg))
    monkeypatch.setattr(shared, "_open", shared.OrderedDict())
    together, alone = tmp_path / "together", tmp_path / "alone"
    assert main(arguments(tmp_path, "optimizer.lr=1e-3,1e-2", f"output_dir={together}")) == 0
    assert opened == ["toy"]
    for lr in ("1e-3", "1e-2"):
        monkeypatch.setattr(shared, "_open", shared.OrderedDict())
        assert main(arguments(tmp_path, f"optimizer.lr={lr}", f"output_dir={alone}")) == 0
    ours = {path.parent.name: path.read_text() for path in together.rglob("test.run")}
    assert len(ours) == 2
    assert ours == {path.parent.name: path.read_text() for path in alone.rglob("test.run")}


def test_selection_sees_only_dev(tmp_path: Path) -> None:
    from qaexp.runs.record import RunRecord

    assert main(arguments(tmp_path, "seed=1,2")) == 0
    for path in tmp_path.rglob("record.json"):
        record = RunRecord.load(path.parent)
        before = record.best_on_dev
        record.metrics = {"test": {"map": 1.0}}
        assert record.best_on_dev == before == max(epoch["dev/map"] for epoch in record.history)


def test_mistakes_in_a_sweep_are_answered_with_one_sentence_before_anything_runs(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    for mistake, sentence in (
        ("model=ggsa,gsa", "there is no model=gsa, did you mean ggsa"),
        ("experiment=ctrn/grdi", "there is no experiment=ctrn/grdi, did you mean ctrn/grid"),
        ("optimizer.ler=1e-3,1e-2", "there is no option optimizer.ler, did you mean optimizer.lr"),
        ("hydra/sweeper=tpee", "there is no hydra/sweeper=tpee, did you mean tpe"),
        ("optimizer.lr=interval(1e-5,1e-3)", "optimizer.lr is an interval"),
        ("seed=1,x", "seed=x: must be a number"),
        ("seed=range(5,1)", "seed=range(5,1): it has no values"),
        ("hydra.sweeper.pruner=median", "hydra.sweeper.pruner=median: must be null or a pruner of Optuna"),
        ("loss=choice(hinge,max_margin)", "there is no loss=hinge, did you mean mean_hinge"),
        ("dataset.batch_size=32,0", "dataset.batch_size=0: must be at least 1"),
        ("hydra/sweeper=random hydra.sweeper.strategy.seed=-1", "hydra.sweeper.strategy.seed=-1: must be at least 0"),
        ("hydra/sweeper=tpe hydra.sweeper.strategy.batch=0", "hydra.sweeper.strategy.batch=0: must be at least 1"),
        ("trainer=ddp", "a run of a sweep runs in one process: leave trainer=ddp and trainer.devices out"),
        ("trainer=default,ddp", "a run of a sweep runs in one process: leave trainer=ddp"),
        ("+trainer.profilr=simple,advanced", "nothing reads the option trainer.profilr, did you mean trainer.profiler"),
    ):
        assert main(arguments(tmp_path, *mistake.split())) == 2
        assert sentence in caplog.text
        assert not records(tmp_path)


@pytest.mark.parametrize("datasets", ["wikiqa", "toy,wikiqa"])
def test_data_that_are_not_there_are_named_once_before_anything_runs(
    datasets: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    places = [f"data_dir={tmp_path}", f"output_dir={tmp_path / 'runs'}", f"cache_dir={tmp_path / 'cache'}"]
    assert main(["-m", "model=nbow", f"dataset={datasets}", "dataset/vectors=random", "seed=1,2", "logger=none", *places]) == 2
    assert caplog.text.count("WikiQA-train.tsv") == 1
    assert not (tmp_path / "runs").exists()


def test_what_a_later_value_of_a_sweep_reads_is_named_before_anything_runs(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    places = [f"data_dir={tmp_path}", f"output_dir={tmp_path / 'runs'}", f"cache_dir={tmp_path / 'cache'}", "dataset=toy", "logger=none"]
    assert main(["-m", "model=bm25,nbow", "dataset/vectors=webtext300", *places]) == 2  # the first model reads no vectors
    assert "webtext" in caplog.text
    assert main(["-m", "model=nbow", "init_from=null,nowhere", *places]) == 2
    assert "init_from=nowhere does not exist" in caplog.text
    assert not (tmp_path / "runs").exists()


def test_a_bad_run_is_pruned_and_stays_pruned(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    pruner = "hydra.sweeper.pruner={_target_:optuna.pruners.MedianPruner,n_startup_trials:2,n_warmup_steps:2}"
    options = arguments(tmp_path, "optimizer.lr=1e-2,2e-2,0", "trainer.max_epochs=4", pruner)
    assert main(options) == 0
    assert "3 jobs: 3 ran (1 of them pruned), 0 skipped, 0 failed" in caplog.messages[-1]
    [given_up] = [record for record in records(tmp_path) if record["status"] == "pruned"]
    assert given_up["config"]["optimizer"]["lr"] == 0
    assert len(given_up["history"]) == 2
    assert main(options) == 0
    assert caplog.messages[-1].startswith("3 jobs: 0 ran, 3 skipped")
    assert main([*options[:-1]]) == 0  # without a pruner it is taken up again
    assert caplog.messages[-1].startswith("3 jobs: 1 ran, 2 skipped")
    assert [record["status"] for record in records(tmp_path)] == ["finished"] * 3


@pytest.mark.parametrize("with_pruner", [True, False])
def test_a_pruned_run_on_changed_data_runs_again(tmp_path: Path, caplog: pytest.LogCaptureFixture, with_pruner: bool) -> None:
    options = arguments(tmp_path, "hydra.sweeper.pruner={_target_:optuna.pruners.MedianPruner,n_startup_trials:2}", "trainer.max_epochs=1")
    assert main(options) == 0
    [path] = tmp_path.rglob("record.json")
    path.write_text(json.dumps({**json.loads(path.read_text()), "status": "pruned"}))
    assert main(options) == 0
    assert caplog.messages[-1].startswith("1 job: 0 ran, 1 skipped")
    former = {**json.loads(path.read_text()), "data": {**json.loads(path.read_text())["data"], "fingerprint": "f" * 64}}
    path.write_text(json.dumps(former))
    assert main(options if with_pruner else [option for option in options if "pruner" not in option]) == 0
    assert "what it reads has changed since; the old run is now in" in caplog.text
    assert caplog.messages[-1].startswith("1 job: 1 ran, 0 skipped")
    assert sorted(record["status"] for record in records(tmp_path)) == ["finished", "pruned"]
    assert former in records(tmp_path)


def workers_of(parent: int) -> list[int]:
    """The processes that a process has started and that have torch loaded."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError, IndexError):
            started_by = int((path / "stat").read_text().rpartition(")")[2].split()[1])
            if started_by == parent and "libtorch" in (path / "maps").read_text():
                found.append(int(path.name))
    return found


def test_a_killed_worker_loses_an_epoch_at_most_and_the_sweep_ends_whole(tmp_path: Path) -> None:
    options = arguments(tmp_path, "seed=1,2,3", "trainer.max_epochs=8", "hydra/launcher=cores", "hydra.launcher.n_jobs=2")
    sweep = command(*options)
    try:
        deadline, killed, began = time.monotonic() + 120, 0, dict[str, str]()
        while sweep.poll() is None and time.monotonic() < deadline and not killed:
            under_way = [record for record in records(tmp_path / "runs") if len(record["history"]) >= 2]
            if under_way and (workers := workers_of(sweep.pid)):
                os.kill(workers[0], signal.SIGKILL)
                killed, began = len(under_way), {record["key"]: record["started"] for record in under_way}
            time.sleep(0.02)
        out, _ = sweep.communicate(timeout=120)
    finally:
        sweep.kill()
    assert killed, out
    assert sweep.returncode == 0, out
    assert "launched again: " in out
    assert out.splitlines()[-1].startswith("3 jobs: 3 ran, 0 skipped, 0 failed"), out
    for record in records(tmp_path):
        assert record["status"] == "finished"
        assert record["started"] == began.get(record["key"], record["started"])  # it went on, and did not begin again
        assert [epoch["epoch"] for epoch in record["history"]] == list(range(1, 9))
    assert not [path for path in tmp_path.rglob(".*") if path.name.endswith(".part") or path.name.startswith((".outcomes", ".record"))]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["SIGTERM", "SIGKILL"])
@pytest.mark.parametrize("launcher", ["cores", "slurm_here"])
def test_workers_end_with_their_sweep_and_the_same_command_goes_on(launcher: str, name: str, tmp_path: Path) -> None:
    options = arguments(tmp_path, "seed=1,2", "trainer.max_epochs=100", "patience=100", f"hydra/launcher={launcher}")
    sweep, runs = command(*options), tmp_path / "runs"
    try:
        # a record has an epoch just before its checkpoint is written, so both have a checkpoint in the second epoch
        wait_until(lambda: [len(record["history"]) >= 2 for record in records(runs)] == [True, True])
        workers = processes_with(str(runs))
        assert len(workers) >= 3
        sweep.send_signal(getattr(signal, name))
        assert sweep.wait(timeout=60) == (130 if name == "SIGTERM" else -signal.SIGKILL)
        wait_until(lambda: processes_with(str(runs)) == [])
    finally:
        sweep.kill()
        sweep.communicate()
    assert {record["status"] for record in records(runs)} == {"interrupted"}
    if name == "SIGTERM":
        assert list(runs.rglob(".outcomes-*")) == []
    for left in runs.rglob(".outcomes-*"):
        os.utime(left, (0, 0))
    began = [record["started"] for record in records(runs)]
    again = command(*options)
    out, _ = again.communicate(timeout=240)
    assert again.returncode == 0, out
    assert [record["status"] for record in records(runs)] == ["finished", "finished"]
    assert [record["started"] for record in records(runs)] == began
    assert [path.name for path in runs.rglob(".*") if path.name.startswith((".outcomes-", ".record.json"))] == []


def test_results_of_dead_sweeps_are_removed_and_those_of_others_stay(tmp_path: Path) -> None:
    names = [".outcomes-dead", ".outcomes-alive", ".outcomes-new"]
    for name in names:
        (tmp_path / name).mkdir()
        (tmp_path / name / "0.json").touch()
        if name != ".outcomes-new":
            os.utime(tmp_path / name, (0, 0))
    with FileLock(tmp_path / ".outcomes-alive" / ".lock"):
        os.utime(tmp_path / ".outcomes-alive", (0, 0))
        _remove_dead_outcomes(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == [".outcomes-alive", ".outcomes-new"]


def test_a_job_that_waited_for_another_process_has_as_many_tries_as_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Launches that found it busy were counted as tries: a worker that then died once made it fail."""
    launches = list[int]()

    def launch(launcher: RayLauncher, jobs: list[list[str]], initial_job_idx: int) -> None:
        [outcomes] = (tmp_path / "runs").rglob(".outcomes-*")
        launches.append(initial_job_idx)
        if len(launches) < 5:
            JobResult(0, "busy", []).write(outcomes)
        elif len(launches) > 6:
            JobResult(0, "ran", ["seed=1"], score=0.5, measure="dev/map").write(outcomes)

    monkeypatch.setattr(RayLauncher, "launch", launch)
    monkeypatch.setattr("qaexp.sweep.sweeper.WAITS", [0.0])
    monkeypatch.setattr(Sweep, "_conclude", lambda self, watch, *_: launches.append(len(watch.results)))
    assert main(arguments(tmp_path, "seed=1", "hydra/launcher=ray")) == 0
    assert launches == [0, 0, 0, 0, 0, 0, 0, 1]


def test_a_launcher_that_starts_no_job_ends_the_sweep_in_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    launches = list[int]()

    def launch(launcher: RayLauncher, jobs: list[list[str]], initial_job_idx: int) -> None:
        launches.append(len(jobs))
        raise FileNotFoundError("there is no sbatch")

    monkeypatch.setattr(RayLauncher, "launch", launch)
    assert main(arguments(tmp_path, "seed=1,2,3,4,5", "hydra/launcher=ray")) == 2
    assert launches == [5, 5, 5]
    assert caplog.messages[-1].startswith("the launcher starts no job (there is no sbatch); correct hydra.launcher")


def test_a_launcher_that_fails_without_a_message_has_as_many_tries(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The sweep died of an IndexError."""

    def launch(launcher: RayLauncher, jobs: list[list[str]], initial_job_idx: int) -> None:
        raise BrokenPipeError

    monkeypatch.setattr(RayLauncher, "launch", launch)
    assert main(arguments(tmp_path, "seed=1,2", "hydra/launcher=ray")) == 2
    assert [message for message in caplog.messages if "launched again" in message] == ["BrokenPipeError: launched again: 2 jobs"] * 3
    assert caplog.messages[-1].startswith("the launcher starts no job (BrokenPipeError)")


@pytest.mark.parametrize(
    "launcher",
    [
        ["hydra/launcher=joblib", "hydra.launcher.n_jobs=2"],
        ["hydra/launcher=cores", "hydra.launcher.n_jobs=2"],
        ["hydra/launcher=slurm_here"],
        ["hydra/launcher=ray", "+hydra.launcher.init.num_cpus=2", "+hydra.launcher.init.object_store_memory=100000000"],
    ],
    ids=lambda options: options[0].partition("=")[2],
)
def test_every_launcher_leaves_the_runs_of_one_process(launcher: list[str], tmp_path: Path) -> None:
    cells = ["model.encoder.offset=10,5", "seed=1,2"]
    sweep = command(*arguments(tmp_path, *cells, *launcher))
    out, _ = sweep.communicate(timeout=180)
    assert sweep.returncode == 2, out
    assert "model.encoder.offset=10 must be at least 0 and smaller" in out
    assert out.splitlines()[-1].startswith("4 jobs: 2 ran, 0 skipped, 2 failed"), out
    alone = tmp_path / "alone"
    assert main(arguments(tmp_path, *cells, f"output_dir={alone}")) == 2
    theirs = {path.parent.name: path.read_text() for path in (tmp_path / "runs").rglob("test.run")}
    ours = {path.parent.name: path.read_text() for path in alone.rglob("test.run")}
    assert len(theirs) == 2
    assert theirs == ours
