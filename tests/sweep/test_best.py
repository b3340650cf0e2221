"""What a sweep chooses: the options that are best over the seeds they were run with."""

import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from hydra import compose, initialize_config_dir
from omegaconf import OmegaConf

from qaexp.config import CONF, PRETRAIN, composed_by_hydra, look_also_in
from qaexp.runs.record import RunRecord
from qaexp.sweep.best import Best, best_of, best_of_each_measure, best_yaml, write_best
from qaexp.sweep.job import JobResult
from qaexp.sweep.progress import Watch
from qaexp.sweep.strategies import Space
from qaexp.sweep.sweeper import Sweep


def jobs(*of: tuple[str, float | None]) -> list[JobResult]:
    return [JobResult(cell, "ran", options.split(), score=score) for cell, (options, score) in enumerate(of)]


def test_the_best_run_is_chosen_with_its_seed_where_there_is_one_seed() -> None:
    best = best_of(jobs(("seed=7 lr=1", 0.5), ("seed=7 lr=2", 0.6), ("seed=7 lr=3", 0.6), ("seed=7 lr=4", None)))
    assert best is not None
    assert (best.options, best.score, [run.cell for run in best.runs]) == (("seed=7", "lr=2"), 0.6, [1])


def test_a_seed_is_no_option_and_the_best_mean_over_seeds_is_chosen() -> None:
    """One lucky seed of the other options has the highest score of all."""
    best = best_of(jobs(("lr=1 seed=1", 0.9), ("lr=1 seed=2", 0.1), ("lr=2 seed=1", 0.6), ("lr=2 seed=2", 0.7)))
    assert best is not None
    assert best.options == ("lr=2",)
    assert best.score == pytest.approx(0.65)
    assert len(best.runs) == 2


def test_options_that_failed_with_some_seeds_rank_behind_those_that_never_failed() -> None:
    diverged = [("lr=2 seed=1", 0.9), ("lr=2 seed=2", None)]
    best = best_of(jobs(("lr=1 seed=1", 0.5), ("lr=1 seed=2", 0.6), *diverged))
    assert best is not None
    assert (best.options, best.failed) == (("lr=1",), 0)
    alone = best_of(jobs(*diverged, ("lr=1 seed=1", None), ("lr=1 seed=2", None)))
    assert alone is not None
    assert (alone.options, alone.failed) == (("lr=2",), 1)
    record = RunRecord("key", {"dataset": {"selection_metric": "dev/map"}}, 1, "lr=2", best_epoch=1, history=[{"epoch": 1}])
    assert "90.00 in epoch 1 of 1; 1 more failed; chosen" in best_yaml(alone, record, 4)


def test_only_scores_of_the_same_measure_are_compared() -> None:
    results = jobs(("dataset=a lr=1", 0.5), ("dataset=a lr=2", 0.6), ("dataset=b lr=1", 0.9), ("dataset=b lr=2", None))
    measured = [replace(job, measure=measure) for job, measure in zip(results, ("map of a", "map of a", "p@1 of b", ""), strict=True)]
    bests = best_of_each_measure(measured)
    assert {measure: best.options for measure, best in bests.items()} == {
        "map of a": ("dataset=a", "lr=2"),
        "p@1 of b": ("dataset=b", "lr=1"),
    }


def test_a_measure_is_data_convention_metric_and_what_is_scored_of_dev(tmp_path: Path) -> None:
    def measure(
        name: str = "own", metric: str = "dev/map", fingerprint: str = "0123456789", convention: str = "trec", pairs: int | None = None
    ) -> str:
        data = {"fingerprint": fingerprint, **({"splits": {"dev": {"pairs": pairs}}} if pairs else {})}
        record = RunRecord("key", {"dataset": {"name": name, "selection_metric": metric}}, 1, "", data=data)
        record.convention, record.history = convention, [{"epoch": 1, "dev/map": 0.25, "dev/mrr": 0.5}]
        result = JobResult.of(0, "ran", [], tmp_path, record)
        assert (result.score, result.metric) == (0.25 if metric == "dev/map" else 0.5, metric)
        return result.measure

    assert measure() == "dev/map of own (data 01234567, convention trec)"
    others = [measure(metric="dev/mrr"), measure(fingerprint="1123456789"), measure(convention="semeval10"), measure(name="wikiqa")]
    assert measure(pairs=1130) == "dev/map of own (data 01234567, convention trec, 1,130 pairs)"
    assert len({measure(), measure(pairs=1130), measure(pairs=2733), *others}) == 7


def test_progress_names_each_score_by_its_own_metric(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    watch = Watch(tmp_path, 3, ["dataset"])
    for cell, (metric, score) in enumerate([("dev/map", 0.5), ("dev/map", 0.6), ("dev/p@1", 0.4)]):
        watch.add(JobResult(cell, "ran", [f"dataset={cell}"], "", score, metric=metric, measure=metric))
    assert [record.getMessage() for record in caplog.records] == [
        "[1/3] dataset=0: ran dev/map 0.5000; best dev/map 0.5000",
        "[2/3] dataset=1: ran dev/map 0.6000; best dev/map 0.6000",
        "[3/3] dataset=2: ran dev/p@1 0.4000",
    ]


@pytest.mark.parametrize("results", [[], jobs(("lr=1", None))])
def test_without_a_score_there_is_no_best(results: Sequence[JobResult]) -> None:
    assert best_of(results) is None


def test_a_sweep_from_the_best_of_a_papers_grid_has_its_own_axes_alone(tmp_path: Path) -> None:
    """With the grid's, which it names for its setting, `seed=1,2,3` had been 864 jobs, and the best values had been overridden."""
    [job] = jobs(("experiment=ctrn/grid model.encoder.hidden_dim=256 optimizer.lr=1e-4", 0.5))
    record = RunRecord("key", {"dataset": {"selection_metric": "dev/map"}}, 1, "experiment=ctrn/grid", best_epoch=1, history=[{"epoch": 1}])
    path = tmp_path / "experiment" / "ctrn" / "best.yaml"
    path.parent.mkdir(parents=True)
    path.write_text(best_yaml(Best(job.options, [job]), record, 1))
    asked = [f"hydra.searchpath=[file://{tmp_path}]", "experiment=ctrn/best", "seed=1,2,3"]
    with initialize_config_dir(str(CONF), version_base="1.3"):
        cfg = compose("config", [*asked[:2]], return_hydra_config=True)
    assert (cfg.model.encoder.hidden_dim, cfg.optimizer.lr, cfg.optimizer.weight_decay) == (256, 1e-4, 8e-6)
    sweep = Sweep(None, cfg.hydra.sweeper.params, None, None, None)
    space = Space.parse(sweep._params, asked[1:])
    assert (space.size, space.overrides({"seed": 2}), list(space.axes)) == (3, ["experiment=ctrn/best", "seed=2"], ["seed"])


def test_the_best_around_a_former_best_takes_its_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It had named the file that it replaced: a file that includes itself."""
    shutil.copytree(CONF, conf := tmp_path / "conf")
    monkeypatch.setattr("qaexp.config.CONF", conf)
    record = RunRecord("key", {"dataset": {"selection_metric": "dev/map"}}, 1, "experiment=ctrn/grid", best_epoch=1, history=[{"epoch": 1}])
    path = conf / "experiment" / "ctrn" / "best.yaml"
    for options in (
        "experiment=ctrn/grid model.encoder.hidden_dim=256 optimizer.lr=1e-4 loss=pairwise_hinge",
        "experiment=ctrn/best optimizer.lr=5e-4 optimizer=rmsprop",
    ):
        [job] = jobs((options, 0.5))
        write_best([path], Best(job.options, [job]), record, 1)
    with initialize_config_dir(str(conf), version_base="1.3"):
        cfg = compose("config", ["experiment=ctrn/best"])
    assert (cfg.model.encoder.hidden_dim, cfg.optimizer.lr) == (256, 5e-4)
    assert cfg.loss._target_.endswith("PairwiseHinge")
    assert cfg.optimizer._target_.endswith("RMSprop")


def test_a_best_of_ones_own_that_extends_no_experiment_takes_its_own_place(tmp_path: Path) -> None:
    record = RunRecord("key", {"dataset": {"selection_metric": "dev/map"}}, 1, "", best_epoch=1, history=[{"epoch": 1}])
    path = tmp_path / "experiment" / "best.yaml"
    look_also_in([tmp_path])
    try:
        for options in ("model=qa_lstm optimizer.lr=1e-4", "experiment=best patience=3"):
            [job] = jobs((options, 0.5))
            write_best([path], Best(job.options, [job]), record, 1)
        assert OmegaConf.load(path) == {
            "defaults": [{"override /model": "qa_lstm"}, "_self_"],
            "optimizer": {"lr": 1e-4},
            "hydra": {"sweeper": {"params": None}},
            "patience": 3,
        }
    finally:
        look_also_in([])


def test_what_was_added_and_deleted_is_written_so_that_hydra_reads_it(tmp_path: Path) -> None:
    (tmp_path / "extra").mkdir()
    (tmp_path / "extra" / "patient.yaml").write_text("# @package _global_\npatience: 77\n")
    record = RunRecord("key", {"dataset": {"selection_metric": "dev/map"}}, 1, "", best_epoch=1, history=[{"epoch": 1}])
    path = tmp_path / "experiment" / "best.yaml"
    look_also_in([tmp_path])
    [job] = jobs(("model=gru +extra=patient ~optimizer.lr", 0.5))
    write_best([path], Best(job.options, [job]), record, 1)
    assert "# Give these, too, since a file cannot delete an option: ~optimizer.lr\n" in path.read_text()
    cfg = composed_by_hydra(["experiment=best"], "config")
    assert (cfg.patience, cfg.model.encoder._target_.rpartition(".")[2]) == (77, "GRU")
    assert cfg.optimizer.lr is not None


def test_a_choice_of_several_files_stays_a_list() -> None:
    [job] = jobs(("callbacks=[best_checkpoint,progress_bar] optimizer.lr=1e-3", 0.5))
    record = RunRecord("key", {"dataset": {"selection_metric": "dev/mrr"}}, 1, "", best_epoch=1, history=[{"epoch": 1}])
    written = yaml.safe_load(best_yaml(Best(job.options, [job]), record, 1))
    assert written["defaults"] == [{"override /callbacks": ["best_checkpoint", "progress_bar"]}, "_self_"]


def test_the_best_of_a_model_without_epochs_names_none() -> None:
    [job] = jobs(("model.k1=0.9", 0.5))
    record = RunRecord("key", {"dataset": {"selection_metric": "dev/mrr"}}, 1, "model=bm25 model.k1=0.9")
    assert "\n# qaexp" in (written := best_yaml(Best(job.options, [job]), record, 1))
    assert "epoch" not in written


def test_the_best_of_a_pre_training_names_its_command() -> None:
    [job] = jobs(("pairs.batch_size=64", 0.5))
    record = RunRecord("key", {"dataset": {"selection_metric": "dev/mrr"}}, 1, "pairs.batch_size=64", best_epoch=1, history=[{"epoch": 1}])
    assert "\n# qaexp pretrain pairs.batch_size=64\n" in best_yaml(Best(job.options, [job]), record, 1, PRETRAIN)
