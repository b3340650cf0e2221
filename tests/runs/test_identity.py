"""What counts in the key of a run, and what does not."""

from typing import Any

from qaexp.runs.identity import config_key, key_without_max_epochs
from qaexp.runs.record import RunRecord


def test_the_card_of_a_data_set_is_no_part_of_a_runs_key() -> None:
    first, second = (
        config_key({"dataset": {"name": "toy", "expected": expected}, "data_dir": "/data", "cache_dir": "/cache"})
        for expected in (None, {"test": 1})
    )
    assert first == second


def test_callbacks_count_in_the_key_where_they_change_what_is_measured() -> None:
    def key(**callbacks: object) -> str:
        config = {"dataset": {"name": "toy", "selection_metric": "dev/map"}, "patience": 8}
        return config_key({**config, "callbacks": callbacks} if callbacks else config)

    best = {"_target_": "qaexp.training.callbacks.BestCheckpoint", "monitor": "dev/map"}
    stop = {"_target_": "qaexp.training.callbacks.StopEarly", "monitor": "dev/map", "mode": "max", "patience": 8}
    watching = {"_target_": "pytorch_lightning.callbacks.RichModelSummary", "max_depth": 2}
    usual = key(best_checkpoint=best, early_stopping=stop)
    assert usual == key(), "as records have it from before there was a choice"
    assert usual == key(best_checkpoint=best, early_stopping=stop, bar=None, mine=watching)
    others = [{}, {"early_stopping": {**stop, "min_delta": 0.1}}, {"early_stopping": stop, "mine": {"_target_": "own.Averaging"}}]
    assert len({usual, *(key(best_checkpoint=best, **other) for other in others)}) == 4


def test_a_quick_look_is_another_run_and_says_so() -> None:
    config = {"dataset": {"name": "toy"}, "seed": 1, "trainer": {"profiler": None}, "choices": {"debug": None}}
    look: dict[str, Any] = {**config, "trainer": {"profiler": "simple"}, "choices": {"debug": "profiler"}}
    assert config_key(look) != config_key(config)
    assert RunRecord.begin(look, "").debug == "debug=profiler"
    assert RunRecord.begin({**config, "trainer": {"limit_test_batches": 0.5}}, "").debug == "trainer.limit_test_batches=0.5"
    assert RunRecord.begin({**config, "trainer": {"overfit_batches": 2}}, "").debug == "trainer.overfit_batches=2"
    assert RunRecord.begin({**config, "trainer": {"fast_dev_run": True}}, "").debug == "trainer.fast_dev_run=True"
    assert not RunRecord.begin({**config, "trainer": {"limit_train_batches": 0.3}}, "").debug, "a protocol of its own"


def test_word_vectors_without_decay_count_in_the_key_where_they_would_decay() -> None:
    def key(decay: float, tuned: bool, **choice: bool) -> str:
        model = {"embedding": {"tuned": tuned}}
        return config_key({"dataset": {"name": "toy"}, "model": model, "optimizer": {"weight_decay": decay}, **choice})

    assert key(1e-4, True, decay_word_vectors=False) != key(1e-4, True)
    assert key(1e-4, True, decay_word_vectors=True) == key(1e-4, True), "as records have it from before there was a choice"
    for decay, tuned in ((0.0, True), (1e-4, False)):
        assert key(decay, tuned, decay_word_vectors=False) == key(decay, tuned, decay_word_vectors=True) == key(decay, tuned)


def test_a_profiler_is_no_part_of_a_run() -> None:
    def key(**trainer: object) -> str:
        return config_key({"dataset": {"name": "toy"}, "trainer": {"max_epochs": 3, **trainer}})

    assert key(profiler="simple", matmul="mkl") == key(profiler=None) == key() != key(max_steps=1)


def test_runs_with_a_warm_up_are_no_beginnings_of_longer_ones() -> None:
    """Their learning rates depend on the number of epochs from the first step on, as those of a schedule of one's own may."""

    def key(epochs: int, schedule: str) -> str:
        return key_without_max_epochs({"trainer": {"max_epochs": epochs}, "schedule": {"_target_": schedule}})

    for name in ("torch.optim.lr_scheduler.ConstantLR", "qaexp.training.trainer.InverseEpoch"):
        assert key(3, name) == key(30, name)
    for name in ("qaexp.training.trainer.Linear", "mine.OneCycle"):
        assert key(3, name) != key(30, name)


def test_later_options_of_a_data_set_count_in_the_key_only_where_they_change_a_run() -> None:
    def key(**dataset: object) -> str:
        return config_key({"dataset": {"name": "toy", **dataset}})

    assert key(measures=[]) == key(), "as records have it from before there was a choice"
    assert key(measures=["R@5"]) != key()
    assert key(train_fraction=1.0) == key() != key(train_fraction=0.5)
    assert key(drop_unknown=False) == key() != key(drop_unknown=True)
