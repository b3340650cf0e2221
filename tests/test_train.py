"""One run from configuration to record, in process: what it leaves, and what survives when it fails."""

import contextlib
import errno
import inspect
import json
import shutil
import tempfile
from itertools import count, product
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from zipfile import ZipFile

import pandas as pd
import pytest
import pytorch_lightning as pl
import pytrec_eval
import torch
from hydra.utils import instantiate
from omegaconf import DictConfig
from pytorch_lightning.callbacks import Callback

import qaexp
from qaexp.config import compose
from qaexp.data.batch import RankingBatch
from qaexp.errors import CheckpointError, ConfigError, NonFiniteLossError, OutputError
from qaexp.runs.checkpoint import last_checkpoint
from qaexp.runs.identity import config_key
from qaexp.runs.record import RunRecord
from qaexp.runs.table import by_row, markdown, run_table
from qaexp.train import train
from qaexp.training.callbacks import StopEarly, WholeCheckpoints
from qaexp.training.losses import PairwiseHinge
from qaexp.training.module import ScoringModule, rebuild_plan
from qaexp.training.ranking import RankingModule
from qaexp.training.trainer import interruptible

MEASURES = {"p@1": "P_1", "mrr": "recip_rank", "map": "map", "p@5": "P_5", "ndcg@10": "ndcg_cut_10"}


@pytest.fixture(scope="session")
def overrides(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    return [
        "logger=none",
        f"cache_dir={tmp_path_factory.mktemp('cache')}",
        "dataset.reader.num_train=80",
        "dataset.reader.num_dev=20",
        "dataset.reader.num_test=30",
        "dataset.vectors.dim=12",
        "trainer.max_epochs=3",
        "optimizer.lr=1e-3",
    ]


@pytest.fixture(scope="session")
def run(overrides: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a finished run."""
    folder = tmp_path_factory.mktemp("run")
    train(compose(overrides), folder, " ".join(overrides))
    return folder


def test_trec_eval_signs_the_record(run: Path) -> None:
    record = RunRecord.load(run)
    assert record.convention == "trec"
    for split, metrics in record.metrics.items():
        with (run / f"{split}.qrels").open() as qrels, (run / f"{split}.run").open() as ranking:
            evaluator = pytrec_eval.RelevanceEvaluator(pytrec_eval.parse_qrel(qrels), set(MEASURES.values()))
            per_question = evaluator.evaluate(pytrec_eval.parse_run(ranking))
        ours = pd.read_csv(run / f"{split}.questions.csv", index_col="question")
        assert len(per_question) == len(ours) == metrics["questions"]
        for name, theirs in MEASURES.items():
            expected = pd.Series({question: values[theirs] for question, values in per_question.items()})
            pd.testing.assert_series_equal(ours[name].sort_index(), expected.sort_index(), check_names=False, rtol=0, atol=1e-9)
            assert metrics[name] == pytest.approx(expected.mean(), abs=1e-9)


def test_the_record_says_what_repeats_the_run(run: Path, overrides: list[str]) -> None:
    record = RunRecord.load(run)
    assert record.status == "finished"
    assert record.seed == 1
    assert record.key == config_key(record.config)
    assert record.command == " ".join(overrides)
    assert record.versions["torch"] == torch.__version__
    assert record.hardware["threads"] >= 1
    assert record.matmul == ("onednn" if torch.get_float32_matmul_precision() == "medium" else "mkl")
    assert set(record.seconds) == {"data", "fit", "steps", "test", "total"}
    assert len(record.data["fingerprint"]) == 64
    assert record.data["splits"]["test"]["questions"] == 30
    assert record.metrics["test"]["pairs"] == 300
    assert [entry["epoch"] for entry in record.history] == [1, 2, 3]
    assert record.best_epoch == max(record.history, key=lambda entry: entry["dev/map"])["epoch"]
    assert record.metrics["dev"]["map"] == pytest.approx(max(entry["dev/map"] for entry in record.history), abs=1e-6)
    learned, rest = divmod(record.parameters["trainable"] - record.parameters["trainable without word embeddings"], 12)
    assert rest == 0
    assert 2 < learned < record.data["words"], "words of dev and test alone are not learned"


def test_the_key_of_a_run_depends_on_what_it_measures_alone(overrides: list[str]) -> None:
    def key(*more: str) -> str:
        from omegaconf import OmegaConf

        options = overrides[:1] if "dataset=wikiqa" in more else overrides
        return config_key(OmegaConf.to_container(compose([*options, *more]), resolve=True))

    assert key() == key("output_dir=elsewhere") == key("logger=wandb") == key("cache_dir=elsewhere")
    assert key() == key('labels={paper: ctrn, table: table6, row: "CTRN (This paper)"}')
    assert key("dataset=wikiqa", "data_dir=/here") == key("dataset=wikiqa", "data_dir=/there") != key()
    here = key("dataset=wikiqa", "data_dir=/here", "cache_dir=/cache")
    assert (
        here == key("dataset=wikiqa", "data_dir=/here", "cache_dir=/here/cache") == key("dataset=wikiqa", "data_dir=/c", "cache_dir=/cache")
    )
    assert key() != key("seed=2")
    assert key() != key("loss.margin=0.2")


def test_one_seed_gives_the_same_scores_to_the_last_bit(run: Path, overrides: list[str], tmp_path: Path) -> None:
    train(compose(overrides), tmp_path)
    assert (tmp_path / "test.run").read_bytes() == (run / "test.run").read_bytes()
    other = tmp_path / "other"
    other.mkdir()
    train(compose([*overrides, "seed=2"]), other)
    assert (other / "test.run").read_bytes() != (run / "test.run").read_bytes()


def test_the_seconds_of_all_steps_are_counted_once(overrides: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = SimpleNamespace(perf_counter=count().__next__, monotonic=lambda: 0.0)  # a second passes whenever it is looked at
    monkeypatch.setattr("qaexp.training.callbacks.time", clock)
    record = train(compose([*overrides, "dataset.batch_size=20"]), tmp_path)
    assert record.steps == record.seconds["steps"] == record.history[-1]["step"] > 3


def test_steps_of_an_epoch_that_broke_off_are_not_counted_when_it_is_repeated(
    overrides: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("qaexp.training.callbacks.time", SimpleNamespace(perf_counter=count().__next__, monotonic=lambda: 0.0))
    small = [*overrides, "dataset.batch_size=20"]
    train_until(small, tmp_path, epoch=1, more_steps=2)
    assert RunRecord.load(tmp_path).steps == RunRecord.load(tmp_path).history[-1]["step"]
    record = train(compose(small), tmp_path, resume=True)
    assert record.steps == record.seconds["steps"] == record.history[-1]["step"]


def test_an_epoch_without_its_checkpoint_is_counted_once(overrides: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a full disk: its line stands in the record, and training takes it again."""
    monkeypatch.setattr("qaexp.training.callbacks.time", SimpleNamespace(perf_counter=count().__next__, monotonic=lambda: 0.0))
    small = [*overrides, "dataset.batch_size=20"]
    train_until(small, tmp_path, epoch=1)
    behind = (tmp_path / "last.ckpt").read_bytes()
    shutil.rmtree(tmp_path)
    tmp_path.mkdir()
    train_until(small, tmp_path, epoch=2)
    (tmp_path / "last.ckpt").write_bytes(behind)
    record = train(compose(small), tmp_path, resume=True)
    assert record.steps == record.seconds["steps"] == record.history[-1]["step"]


def test_no_two_epochs_seeds_or_processes_share_their_dropout(monkeypatch: pytest.MonkeyPatch) -> None:
    def begun(seed: int, epoch: int, process: int) -> float:
        monkeypatch.setattr("qaexp.training.module.rank_and_world_size", lambda: (process, 2))
        module: Any = SimpleNamespace(_data=SimpleNamespace(seed=seed), current_epoch=epoch, scorer=torch.nn.Identity())
        ScoringModule.on_train_epoch_start(module)
        return float(torch.rand(()))

    assert len({begun(*each) for each in product((1, 2), (0, 1), (0, 1))}) == 8


def loaded_and_written_scores(folder: Path, cfg: DictConfig) -> tuple[dict[str, float], dict[str, float]]:
    """Of the first test question's candidates, best first: by what `qaexp.load` gives, from their texts, and in the run's file."""
    data = instantiate(cfg.dataset)
    split, texts, words = data.splits["test"], data.corpus.texts, data.corpus.vocabulary.words

    def text(number: int) -> str:
        return " ".join(words[i] for i in texts.ids[texts.offsets[number] : texts.offsets[number + 1]])

    pool = slice(*split.offsets[:2])
    ranked = qaexp.load(folder).rank(text(split.questions[0]), [text(c) for c in split.candidates[pool]])
    assert [answer.score for answer in ranked] == sorted((answer.score for answer in ranked), reverse=True)
    lines = [line.split() for line in (folder / "test.run").read_text().splitlines()[:10]]
    names = [name.decode() for name in split.candidate_ids[pool]]
    return {names[answer.position]: answer.score for answer in ranked}, {line[2]: float(line[4]) for line in lines}


def test_a_loaded_checkpoint_ranks_as_the_run_did(run: Path, overrides: list[str]) -> None:
    loaded, written = loaded_and_written_scores(run, compose(overrides))
    assert list(loaded) == list(written)
    assert loaded == pytest.approx(written, abs=1e-5)
    ranker = qaexp.load(run)
    with pytest.raises(ValueError, match="at least one answer"):
        ranker.rank("why?", [])
    with pytest.raises(TypeError, match="answer 1 is of type float: a text is expected"):
        ranker.rank("why?", iter(["so", float("nan")]))  # type: ignore[list-item]
    with pytest.raises(ValueError, match="a list of answers, and was given a single text"):
        ranker.rank("why?", "so")
    with pytest.raises(TypeError, match="the answer is of type list: a text is expected"):
        inspect.unwrap(type(ranker).read_out)(ranker, "why?", ["so", "not so"])  # past the check of types that tests have
    assert len(ranker.rank("why?", pd.Series(["so", "not so"]))) == len(ranker.rank("why?", iter(["so", "not so"]))) == 2
    assert len(ranker.rank("", ["zzz unheard-of words", ""])) == 2


def test_many_answers_are_encoded_a_block_at_a_time(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ranker = qaexp.load(run)
    answers = [" ".join(["water", "the", "roses", "daily"][:length]) + f" {length}" for length in range(8)]
    whole = ranker.rank("How do I keep my roses alive?", answers)
    asked = []
    encode = ranker.scorer.encode_candidate
    monkeypatch.setattr(ranker.scorer, "encode_candidate", lambda tokens: asked.append(len(tokens)) or encode(tokens))
    monkeypatch.setattr("qaexp.runs.ranker.BLOCK", 3)
    blocks = ranker.rank("How do I keep my roses alive?", answers)
    assert max(asked) <= 3
    assert sum(asked) == 8
    assert {each.position: each.score for each in blocks} == pytest.approx({each.position: each.score for each in whole}, abs=1e-6)


@pytest.mark.parametrize("model", ["bm25", "candidate_only", "random_guess", "svm", "tfidf", "word_overlap"])
def test_a_model_that_reads_no_word_vectors_needs_none(model: str, overrides: list[str], tmp_path: Path) -> None:
    cfg = compose([*overrides[:-3], f"model={model}", "dataset/vectors=glove300", "data_dir=nowhere"])
    record = train(cfg, tmp_path)
    assert record.data["vectors"] == {"source": "none read", "coverage": {}}
    assert record.metrics["test"]["questions"] == 30
    loaded, written = loaded_and_written_scores(tmp_path, cfg)  # equal scores, which these give, stand in either order
    assert loaded == pytest.approx(written, abs=1e-5)


def test_unreadable_checkpoints_are_refused_by_name(run: Path, tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="does not exist"):
        qaexp.load(tmp_path / "none.ckpt")
    (tmp_path / "half.ckpt").write_bytes((run / "best.ckpt").read_bytes()[:1000])
    with pytest.raises(CheckpointError, match=r"half\.ckpt is not a whole checkpoint"):
        qaexp.load(tmp_path / "half.ckpt")
    torch.save({"state_dict": {}}, tmp_path / "other.ckpt")
    with pytest.raises(CheckpointError, match="not a whole checkpoint of qaexp"):
        qaexp.load(tmp_path / "other.ckpt")


def test_a_hostile_checkpoint_is_refused_and_nothing_runs(run: Path, tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    path = {"_target_": "pathlib.Path", "_args_": [str(victim)]}
    for part, hostile in (
        ("model", {"_target_": "qaexp.models.scorer.Scorer", "encoder": {"_target_": "os.mkdir", "path": str(victim)}}),
        ("tokenise", {"_target_": "os.mkdir", "path": str(victim)}),
        ("tokenise", {"_target_": "qaexp.runs.provenance.os.mkdir", "path": str(victim)}),
        ("tokenise", {"_target_": "qaexp.files.atomic_write_text", "_args_": [path, "content"]}),
        ("tokenise", {"_target_": "qaexp.data.tokenise.words_v1", "text": f"${{oc.create:{{_target_: os.mkdir, path: '{victim}'}}}}"}),
    ):
        checkpoint = torch.load(run / "best.ckpt", weights_only=True)
        checkpoint["qaexp"][part] = hostile
        torch.save(checkpoint, tmp_path / "hostile.ckpt")
        with pytest.raises(CheckpointError, match="do not load it"):
            qaexp.load(tmp_path / "hostile.ckpt")
        assert not victim.exists()


def test_a_checkpoint_of_another_version_of_its_model_is_refused(run: Path, tmp_path: Path) -> None:
    unknown, without = (torch.load(run / "best.ckpt", weights_only=True) for _ in range(2))
    unknown["qaexp"]["model"]["shape"] = "round"
    del without["state_dict"][next(name for name in without["state_dict"] if "encoder" in name)]
    for number, old in enumerate((unknown, without)):
        torch.save(old, tmp_path / f"{number}.ckpt")
        with pytest.raises(CheckpointError, match=r"Scorer is of another version of qaexp \(.+\); train again"):
            qaexp.load(tmp_path / f"{number}.ckpt")


def test_a_damaged_last_checkpoint_is_named_with_the_remedy(overrides: list[str], tmp_path: Path) -> None:
    train_until(overrides, tmp_path, epoch=1)
    last = tmp_path / "last.ckpt"
    last.write_bytes(last.read_bytes()[:-200])
    with pytest.raises(CheckpointError, match=r"last\.ckpt is damaged .*; delete its folder, then repeat the command that made it"):
        train(compose(overrides), tmp_path, resume=True)


def test_a_flipped_byte_in_a_checkpoint_is_seen(overrides: list[str], tmp_path: Path) -> None:
    """Torch itself reads weights with another bit without a word."""
    train_until(overrides, tmp_path, epoch=1)
    last = tmp_path / "last.ckpt"
    content = bytearray(last.read_bytes())
    with ZipFile(last) as archive:
        part = max(archive.infolist(), key=lambda part: part.file_size)
        with archive.open(part) as file:
            place = content.index(file.read())
    content[place + part.file_size // 2] ^= 1
    last.write_bytes(content)
    torch.load(last, weights_only=True)
    with pytest.raises(CheckpointError, match=r"last\.ckpt is damaged \(BadZipFile\); delete its folder"):
        train(compose(overrides), tmp_path, resume=True)
    with pytest.raises(CheckpointError, match=r"last\.ckpt is not a whole checkpoint of qaexp \(BadZipFile\)"):
        qaexp.load(last)


def test_best_weights_that_are_gone_or_damaged_are_named_with_the_remedy(
    overrides: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(RankingModule, "test_step", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        train(compose(overrides), tmp_path)
    best = tmp_path / "best.ckpt"
    best.write_bytes(best.read_bytes()[:-200])
    with pytest.raises(CheckpointError, match=r"best\.ckpt is damaged .*; delete its folder, then repeat the command that made it"):
        train(compose(overrides), tmp_path, resume=True)
    best.unlink()
    with pytest.raises(CheckpointError, match=r"best\.ckpt is gone, .*; delete its folder, then repeat the command that made it"):
        train(compose(overrides), tmp_path, resume=True)


def test_checkpoints_do_not_pass_through_the_folder_of_temporary_files(
    overrides: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    for name in ("mkstemp", "mkdtemp", "NamedTemporaryFile", "TemporaryFile", "TemporaryDirectory"):
        monkeypatch.setattr(tempfile, name, full)
    WholeCheckpoints().save_checkpoint({"epoch": 3}, tmp_path / "last.ckpt")
    assert [path.name for path in tmp_path.iterdir()] == ["last.ckpt"]
    assert torch.load(tmp_path / "last.ckpt", weights_only=True) == {"epoch": 3}


def test_a_run_does_not_go_on_with_other_data(overrides: list[str], tmp_path: Path) -> None:
    train_until(overrides, tmp_path, epoch=1)
    changed = compose([*overrides, "dataset.reader.generator_seed=8"])
    with pytest.raises(ConfigError, match="the data of toy have changed since this run started"):
        train(changed, tmp_path, resume=True)


def test_a_run_that_goes_on_with_other_code_says_so(overrides: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    train_until(overrides, tmp_path, epoch=1)
    monkeypatch.setattr("qaexp.runs.record.git_commit", lambda: "another")
    [process] = train(compose(overrides), tmp_path, resume=True).continued
    assert (process["commit"], process["from_epoch"]) == ("another", 2)


@pytest.mark.parametrize(
    ("others", "said"),
    [
        (["loss=pointwise_cross_entropy", "dataset/negatives=pool_pairs"], True),
        (["loss=pairwise_hinge"], False),
        (["loss=pointwise_cross_entropy", "dataset/negatives=pool_pairs", "model/similarity=mlp"], False),
    ],
)
def test_bounded_scores_under_a_loss_of_log_odds_are_warned_of(
    others: list[str], said: bool, overrides: list[str], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    train(compose([*overrides, "model=qa_cnn", "model.encoder.num_filters=8", *others, "trainer.max_epochs=1"]), tmp_path)
    told = [message for message in caplog.messages if "log-odds" in message]
    assert len(told) == said
    assert all("loss=pairwise_hinge, or model/similarity=mlp" in message for message in told)


def test_a_loss_that_is_no_number_stops_the_run_and_keeps_the_last_good_checkpoint(overrides: list[str], tmp_path: Path) -> None:
    with pytest.raises(NonFiniteLossError, match=r"loss became nan in epoch 2.* is kept\. Lower optimizer\.lr"):
        train_until(overrides, tmp_path, epoch=1, loss=float("nan"))
    record = RunRecord.load(tmp_path)
    assert record.status == "failed"
    assert "nan in epoch 2" in str(record.error)
    assert len(record.history) == 1
    assert qaexp.load(tmp_path).rank("How hot is the soup?", ["It is cold.", "Very."])


def test_a_nan_loss_before_any_step_is_not_blamed_on_the_learning_rate(overrides: list[str], tmp_path: Path) -> None:
    with pytest.raises(NonFiniteLossError, match=r"loss became nan in epoch 1, batch 1\. No step was taken before it") as error:
        train_until(overrides, tmp_path, epoch=0, loss=float("nan"))
    assert "optimizer.lr" not in str(error.value)


def test_a_run_that_stopped_early_is_not_trained_further_when_resumed(
    overrides: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OutputError("cannot write test.run: No space left on device")

    still = compose([*overrides, "optimizer.lr=0", "patience=1", "trainer.max_epochs=9"])
    monkeypatch.setattr("qaexp.runs.tasks.write_run", full)
    with pytest.raises(OutputError, match="No space left"):
        train(still, tmp_path)
    monkeypatch.undo()
    record = train(still, tmp_path, resume=True)
    assert [entry["epoch"] for entry in record.history] == [1, 2]
    assert record.status == "finished"


class StopAfter(Callback):
    """As a user might write it."""

    def __init__(self, epoch: int) -> None:
        self.epoch = epoch

    def on_train_epoch_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        trainer.should_stop = trainer.current_epoch + 1 >= self.epoch


def test_a_run_that_ones_own_callback_has_stopped_is_not_trained_further_when_resumed(
    overrides: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OutputError("cannot write test.run: No space left on device")

    stopped = compose([*overrides, f"+callbacks.mine={{_target_:{__name__}.StopAfter,epoch:2}}", "trainer.max_epochs=9"])
    monkeypatch.setattr("qaexp.runs.tasks.write_run", full)
    with pytest.raises(OutputError, match="No space left"):
        train(stopped, tmp_path)
    monkeypatch.undo()
    assert [entry["epoch"] for entry in train(stopped, tmp_path, resume=True).history] == [1, 2]


def test_a_metric_may_be_spelled_as_in_the_field(overrides: list[str], tmp_path: Path) -> None:
    """For the best epoch and for early stopping, which monitor the key that is logged."""
    record = train(compose([*overrides, "dataset.selection_metric=dev/nDCG@5", "trainer.max_epochs=3", "patience=1"]), tmp_path)
    by_epoch = [epoch["dev/ndcg@5"] for epoch in record.history]
    assert record.best_epoch == by_epoch.index(max(by_epoch)) + 1


def test_without_early_stopping_all_epochs_are_trained(overrides: list[str], tmp_path: Path) -> None:
    still = [*overrides, "optimizer.lr=0", "patience=1", "callbacks=best_checkpoint"]
    assert len(train(compose(still), tmp_path).history) == 3


@pytest.mark.parametrize(
    ("options", "epochs", "questions"),
    [
        (["debug=fdr"], 1, 16),
        (["debug=overfit", "trainer.max_epochs=2"], 2, 16),
        (["debug=limit", "trainer.limit_val_batches=0.25", "trainer.limit_test_batches=1"], 3, 5),
        (["debug=default", "trainer.detect_anomaly=false"], 1, 20),
    ],
)
def test_a_quick_look_runs_all_parts_and_is_marked(
    options: list[str], epochs: int, questions: int, overrides: list[str], tmp_path: Path
) -> None:
    chosen = [option for option in overrides if not option.startswith("trainer.")]
    record = train(compose([*chosen, *options]), tmp_path)
    assert len(record.history) == epochs
    assert record.metrics["dev"]["questions"] == questions
    assert RunRecord.load(tmp_path).debug == options[0]
    assert f"toy ({options[0]})" in markdown(by_row(run_table([record], "test")))


def test_overfitting_repeats_one_batch(overrides: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[torch.Tensor] = []
    step = RankingModule.training_step

    def watched(self: RankingModule, batch: Any, index: int) -> Any:
        seen.append(batch.candidates)
        return step(self, batch, index)

    monkeypatch.setattr(RankingModule, "training_step", watched)
    train(compose([*overrides, "debug=overfit", "trainer.max_epochs=3"]), tmp_path)
    assert len(seen) == 3
    assert all(torch.equal(each, seen[0]) for each in seen)


def test_a_run_that_was_moved_goes_on_with_the_best_so_far(overrides: list[str], tmp_path: Path) -> None:
    still = [*overrides, "optimizer.lr=0", "dataset.batch_size=20"]  # no epoch is better than the first
    before, after = tmp_path / "before", tmp_path / "after"
    before.mkdir()
    train_until(still, before, epoch=1, more_steps=1)
    before.rename(after)
    record = train(compose(still), after, resume=True)
    assert (record.best_epoch, torch.load(after / "best.ckpt", weights_only=True)["epoch"] + 1) == (1, 1)
    assert [entry["epoch"] for entry in record.history] == [1, 2, 3]


def test_a_disk_that_fills_up_during_a_checkpoint_keeps_the_previous_one(
    overrides: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    original = Path.write_bytes

    def write(path: Path, content: memoryview) -> None:
        original(path, content)
        if ".ckpt" in path.name and torch.load(path, weights_only=True)["epoch"] == 1:
            original(path, content[:1000])
            raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", write)
    with pytest.raises(
        OutputError,
        match=r"cannot write .*No space left on device; free some space there, or move the run's folder to another disk; then resume",
    ):
        train(compose(overrides), tmp_path)
    assert not list(tmp_path.glob(".*"))
    assert torch.load(tmp_path / "last.ckpt", weights_only=True)["epoch"] == 0
    monkeypatch.undo()
    assert [entry["epoch"] for entry in train(compose(overrides), tmp_path, resume=True).history] == [1, 2, 3]


def test_a_stop_between_two_checkpoints_leaves_both_at_one_epoch(
    overrides: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The best weights had been of an epoch that is trained again: where that came out worse, the run ranked with them all the same."""

    def epoch_of(name: str) -> int:
        return torch.load(tmp_path / name, weights_only=True)["epoch"]

    original = WholeCheckpoints.save_checkpoint

    def save(self: WholeCheckpoints, checkpoint: dict[str, Any], path: str, storage_options: Any = None) -> None:
        if checkpoint["epoch"] and "last" in Path(path).name and (tmp_path / "next.ckpt").exists():  # a better one than the first
            raise OutputError("No space left on device")
        original(self, checkpoint, path, storage_options)

    monkeypatch.setattr(WholeCheckpoints, "save_checkpoint", save)
    longer = [*overrides, "trainer.max_epochs=9"]
    with pytest.raises(OutputError, match="No space left on device"):
        train(compose(longer), tmp_path)
    monkeypatch.undo()
    assert (epoch_of("best.ckpt"), epoch_of("next.ckpt")) == (0, epoch_of("last.ckpt") + 1)
    last_checkpoint(tmp_path)
    assert epoch_of("best.ckpt") == 0
    assert not (tmp_path / "next.ckpt").exists()
    record = train(compose(longer), tmp_path, resume=True)
    assert epoch_of("best.ckpt") + 1 == record.best_epoch
    assert sorted(path.name for path in tmp_path.glob("*.ckpt")) == ["best.ckpt", "last.ckpt"]


def test_weights_of_the_last_whole_epoch_are_put_in_their_place(tmp_path: Path) -> None:
    """Of a run that was killed between the two steps."""
    for name, epoch in (("best.ckpt", 1), ("last.ckpt", 2), ("next.ckpt", 2)):
        torch.save({"epoch": epoch}, tmp_path / name)
    last_checkpoint(tmp_path)
    assert torch.load(tmp_path / "best.ckpt", weights_only=True)["epoch"] == 2
    assert not (tmp_path / "next.ckpt").exists()


def test_a_run_is_marked_finished_before_its_last_checkpoint_is_deleted(
    overrides: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    statuses = list[str]()
    monkeypatch.setattr("qaexp.train.clear", lambda folder: statuses.append(RunRecord.load(folder).status))
    train(compose(overrides), tmp_path)
    assert statuses == ["finished"]


class Scripted(pl.LightningModule):
    """A model whose dev metric is given by epoch."""

    def __init__(self, values: list[float]) -> None:
        super().__init__()
        self.weight, self.values = torch.nn.Parameter(torch.zeros(1)), values

    def training_step(self, batch: torch.Tensor, index: int) -> torch.Tensor:
        return self.weight.sum()

    def validation_step(self, batch: torch.Tensor, index: int) -> None:
        self.log("dev/map", self.values[self.current_epoch])

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.SGD(self.parameters(), lr=0.1)


def test_patience_counts_again_after_min_epochs() -> None:
    stop = StopEarly(monitor="dev/map", mode="max", patience=2)
    quiet = {"logger": False, "enable_checkpointing": False, "enable_progress_bar": False, "enable_model_summary": False}
    trainer = pl.Trainer(accelerator="cpu", min_epochs=4, max_epochs=9, num_sanity_val_steps=0, callbacks=[stop], **quiet)
    batches = [torch.zeros(1)]
    trainer.fit(Scripted([0.5, 0.4, 0.4, 0.6, 0.7, 0.6, 0.6, 0.8, 0.9]), batches, batches)
    assert trainer.current_epoch == 7


def test_a_threshold_of_lightning_stops_the_training() -> None:
    """It was overruled by the patience."""
    stop = StopEarly(monitor="dev/map", mode="max", patience=9, stopping_threshold=0.55)
    quiet = {"logger": False, "enable_checkpointing": False, "enable_progress_bar": False, "enable_model_summary": False}
    trainer = pl.Trainer(accelerator="cpu", max_epochs=5, num_sanity_val_steps=0, callbacks=[stop], **quiet)
    batches = [torch.zeros(1)]
    module = Scripted([0.5, 0.4, 0.6, 0.7, 0.8])
    trainer.fit(module, batches, batches)
    assert trainer.current_epoch == 3
    resumed = StopEarly(monitor="dev/map", mode="max", patience=9, stopping_threshold=0.55)
    for stopped, state in ((False, resumed.state_dict()), (True, stop.state_dict())):
        trainer.should_stop = False
        resumed.load_state_dict(state)
        resumed.on_fit_start(trainer, module)
        assert trainer.should_stop == stopped


def test_an_interruption_in_which_lightning_fails_stays_one() -> None:
    """Its loops raise a RuntimeError if they are left before they have begun, and the run had failed in place of being interrupted."""

    def left() -> None:
        try:
            raise KeyboardInterrupt
        finally:
            raise RuntimeError("Please call `iter(combined_loader)` first.")

    with pytest.raises(KeyboardInterrupt), interruptible():
        left()
    with pytest.raises(ZeroDivisionError), interruptible():
        _ = 1 / 0


def test_a_full_disk_loses_nothing_measured_so_far(overrides: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OutputError("cannot write test.run: No space left on device")

    monkeypatch.setattr("qaexp.runs.tasks.write_run", full)
    with pytest.raises(OutputError, match="No space left"):
        train(compose(overrides), tmp_path)
    record = json.loads((tmp_path / "record.json").read_text())
    assert (record["status"], len(record["history"])) == ("failed", 3)
    monkeypatch.undo()
    assert train(compose(overrides), tmp_path, resume=True).status == "finished"


class PowerCutError(Exception):
    """Stops a run at once."""


class Broken(PairwiseHinge):
    """A loss that is its margin."""

    def __call__(self, scores: torch.Tensor, labels: torch.Tensor, groups: torch.Tensor) -> torch.Tensor:
        return scores.sum() * self.margin


def train_until(overrides: list[str], folder: Path, epoch: int, loss: float | None = None, more_steps: int = 0) -> None:
    """Train for so many whole epochs and so many steps; then stop as if the power had gone, or with the loss that is given."""
    original = RankingModule.training_step

    def step(self: RankingModule, batch: RankingBatch, index: int) -> torch.Tensor:
        if loss is None and (self.current_epoch, index) >= (epoch, more_steps):
            raise PowerCutError
        if loss is not None and self.current_epoch >= epoch:
            self.loss = Broken(margin=loss)
        return original(self, batch, index)

    with pytest.MonkeyPatch.context() as patch, contextlib.suppress(PowerCutError):
        patch.setattr(RankingModule, "training_step", step)
        train(compose(overrides), folder)


def test_a_checkpoint_holds_how_long_each_side_may_be(overrides: list[str]) -> None:
    data = instantiate(compose([*overrides, "dataset.max_question_length=7"]).dataset)
    plan = rebuild_plan({"model": {}, "dataset": {"tokenise": {}}}, data, (), vector_dim=12, key="", command="")
    assert (plan["max_question_length"], plan["max_candidate_length"]) == (7, 40)


def test_a_loaded_model_reads_as_many_words_as_the_run_did(run: Path, tmp_path: Path) -> None:
    best = torch.load(run / "best.ckpt", weights_only=True)
    best["qaexp"] |= {"max_question_length": 2, "max_candidate_length": 3}
    torch.save(best, tmp_path / "short.ckpt")
    ranker = qaexp.load(tmp_path / "short.ckpt")
    assert ranker.words("is the soup hot", "it is not cold") == (["is", "the"], ["it", "is", "not"])
    cut, whole = (ranker.rank(*texts) for texts in (("is the", ["it is not"]), ("is the soup hot", ["it is not cold"])))
    assert whole[0].score == cut[0].score
