"""Pre-training on a made-up AskUbuntu: perplexity falls, last states learn to rank, a resumed run gives the same numbers."""

import contextlib
import math
from pathlib import Path

import pytest
import torch
from hydra.utils import instantiate
from made_up_questions import write_questions
from offline_runs import closed_runs

import qaexp
from qaexp.cli.main import main
from qaexp.config import PRETRAIN, compose
from qaexp.data.batch import ReconstructionBatch
from qaexp.errors import ConfigError
from qaexp.pretrain import pretrain
from qaexp.runs.record import RunRecord
from qaexp.runs.store import run_overrides
from qaexp.training.reconstruction import ReconstructionModule

SMALL = [
    "model.encoder.hidden_dim=24",
    "output.cutoffs=[20]",
    "pairs.batch_size=32",
    "pairs.steps_per_epoch=20",
    "trainer.max_epochs=8",
    "optimizer.lr=0.01",
]


@pytest.fixture(scope="module")
def overrides(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    data = write_questions(tmp_path_factory.mktemp("data"))
    return [*data, f"cache_dir={tmp_path_factory.mktemp('cache')}", *SMALL]


@pytest.fixture(scope="module")
def run(overrides: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a finished run of the RCNN."""
    folder = tmp_path_factory.mktemp("run")
    pretrain(compose(overrides, PRETRAIN), folder, " ".join(overrides))
    return folder


@pytest.mark.parametrize("cell", [["model=rcnn"], ["model=gru"], ["model=gru", "model/encoder=lstm"]], ids=lambda cell: cell[-1])
def test_perplexity_falls_and_last_states_learn_to_rank(overrides: list[str], cell: list[str], tmp_path: Path) -> None:
    record = pretrain(compose([*overrides, *cell], PRETRAIN), tmp_path)
    history = record.history
    assert [entry["step"] for entry in history] == [20, 40, 60, 80, 100, 120, 140, 160]
    perplexities = [entry["held_out/perplexity"] for entry in history]
    assert min(perplexities) < 0.75 * perplexities[0]
    assert len({entry["dev/mrr"] for entry in history}) > 1
    assert record.metrics["held out"]["perplexity"] == pytest.approx(perplexities[(record.best_epoch or 0) - 1], rel=1e-5)
    assert record.metrics["dev titles"]["mrr"] == pytest.approx(max(entry["dev/mrr"] for entry in history), abs=1e-6)


def test_what_was_logged_is_what_was_measured(overrides: list[str], tmp_path: Path) -> None:
    logger = ["logger=wandb", "logger.mode=offline", "trainer.max_epochs=2"]
    record = pretrain(compose([*overrides, *logger], PRETRAIN), tmp_path)
    [logged] = closed_runs(tmp_path)
    assert [{name: line[name] for name in record.history[0]} for line in logged.history] == record.history
    assert all(line["speed/tokens_per_second"] > line["speed/examples_per_second"] > 0 for line in logged.history)
    for part, metrics in record.metrics.items():
        assert {name: logged.summary[f"{part}/{name}"] for name in metrics} == metrics


def test_several_processes_are_refused_before_anything_is_read(overrides: list[str], tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="pre-training runs in one process: leave trainer=ddp"):
        pretrain(compose([*overrides, "trainer=ddp"], PRETRAIN), tmp_path)
    assert not list(tmp_path.iterdir())


def test_an_untrained_encoder_ranks_worse(overrides: list[str], run: Path, tmp_path: Path) -> None:
    still = pretrain(compose([*overrides, "optimizer.lr=0", "trainer.max_epochs=1"], PRETRAIN), tmp_path)
    trained = RunRecord.load(run)
    assert trained.metrics["dev titles"]["mrr"] > still.metrics["dev titles"]["mrr"] + 0.1
    assert trained.metrics["held out"]["perplexity"] < still.metrics["held out"]["perplexity"] / 5


def test_the_record_says_what_was_learned_from_what(run: Path) -> None:
    record = RunRecord.load(run)
    assert record.status == "finished"
    assert record.data["pairs"].keys() == {"title", "body", "similar", "held out"}
    assert all(count > 0 for count in record.data["pairs"].values())
    assert record.metrics.keys() == {"held out", "dev titles", "test titles"}
    assert record.metrics["held out"]["questions"] == record.data["pairs"]["held out"]
    encoder = 16 * 3 * 24 + 24 * 24 + 2 * 24
    assert record.parameters["trainable without word embeddings"] == encoder
    assert record.parameters["decoder"] > encoder
    assert (run / "last.ckpt").exists()


def test_perplexity_is_that_of_every_held_out_title_by_itself(run: Path, overrides: list[str]) -> None:
    """One title at a time, so that neither batches nor padding can enter; ends of titles count as words."""
    cfg = compose(overrides, PRETRAIN)
    data = instantiate(cfg.dataset)
    pairs = instantiate(cfg.pairs)(ranking=data)
    module = rebuilt(run, overrides).eval()
    surprise, words = 0.0, 0
    with torch.no_grad():
        for text in data.corpus.held_out:
            fields = torch.from_numpy(data.corpus.texts.padded(data.corpus.held_out[data.corpus.held_out == text], 100))[0]
            title, body = (field[field != 0][None] for field in fields)
            if body.numel():
                surprise -= module.log_probabilities(ReconstructionBatch(titles=title, contexts=body)).sum().item()
                words += title.numel() + 1
    measured = RunRecord.load(run).metrics["held out"]
    assert measured["words"] == words
    assert measured["perplexity"] == pytest.approx(math.exp(surprise / words), rel=1e-4)
    assert len(list(pairs.held_out_batches())) == len(pairs.held_out_batches())


def rebuilt(run: Path, overrides: list[str]) -> ReconstructionModule:
    """The module of a finished run, from its checkpoint."""
    from qaexp.models.decoder import TitleDecoder

    cfg = compose(overrides, PRETRAIN)
    data = instantiate(cfg.dataset)
    pairs = instantiate(cfg.pairs)(ranking=data)
    scorer = instantiate(cfg.model, vectors=data.word_vectors)
    decoder = TitleDecoder(instantiate(cfg.model.encoder), 16, instantiate(cfg.output), pairs.word_uses)
    module = ReconstructionModule(scorer, decoder, instantiate(cfg.optimizer), instantiate(cfg.schedule), data, {})
    module.load_state_dict(torch.load(run / "best.ckpt", weights_only=True)["state_dict"])
    return module


def test_a_resumed_run_goes_on_to_the_same_numbers(run: Path, overrides: list[str], tmp_path: Path) -> None:
    original = ReconstructionModule.training_step

    def step(self: ReconstructionModule, batch: ReconstructionBatch, index: int) -> torch.Tensor:
        if self.current_epoch == 2 and index == 7:
            raise PowerCutError
        return original(self, batch, index)

    with pytest.MonkeyPatch.context() as patch, contextlib.suppress(PowerCutError):
        patch.setattr(ReconstructionModule, "training_step", step)
        pretrain(compose(overrides, PRETRAIN), tmp_path)
    assert len(RunRecord.load(tmp_path).history) == 2
    resumed, whole = pretrain(compose(overrides, PRETRAIN), tmp_path, resume=True), RunRecord.load(run)
    assert resumed.history == whole.history
    assert resumed.metrics == whole.metrics
    assert (tmp_path / "dev.run").read_bytes() == (run / "dev.run").read_bytes()


class PowerCutError(Exception):
    """Stops a run at once."""


def test_the_checkpoint_ranks_by_itself(run: Path) -> None:
    ranker = qaexp.load(run)
    ranked = ranker.rank("topic1word1 topic1word2", ["topic5word0 topic5word2", "topic1word3 topic1word4"])
    assert [answer.position for answer in ranked] == [1, 0]


def test_no_word_of_the_title_is_seen_before_it_is_predicted(run: Path, overrides: list[str]) -> None:
    module = rebuilt(run, overrides).eval()
    context = torch.tensor([[5, 6, 7]])
    one, other = (
        module.log_probabilities(ReconstructionBatch(titles=torch.tensor([[2, 3, word, 4]]), contexts=context)) for word in (8, 9)
    )
    assert one[:2].tolist() == other[:2].tolist()
    assert one[3:].tolist() != other[3:].tolist()


@pytest.mark.parametrize(
    ("argument", "sentence"),
    [
        ("modle=gru", "there is no option modle, did you mean model (`qaexp pretrain --help`"),
        ("output=ful", "there is no output=ful, did you mean full; choices: adaptive, full"),
        ("pairs.contexts=[title,bodies]", "pairs.contexts: there is no 'bodies'; did you mean body?"),
        ("dataset.reader.fields=[title]", "has texts without a body"),
        ("dataset.reader.fields=[body,title]", "pre-training generates the first field, which must be the title"),
        ("dataset.reader.held_out=null", "dataset=askubuntu has no held-out questions"),
        ("model/encoder=cnn", "there is no option model.encoder.hidden_dim"),
        ("model.shared=false", "model.shared=false makes two encoders"),
        ("output.cutoffs=[1000]", "output.cutoffs=[1000]: the vocabulary has 7"),
        ("dataset.batch_size=8", "does not read dataset.batch_size; leave it out, and set pairs.batch_size"),
        ("dataset/negatives=random", "does not read dataset/negatives; leave it out"),
        ("loss=pairwise_hinge", "does not read loss; leave it out"),
    ],
)
def test_mistakes_are_answered_with_one_sentence(
    argument: str, sentence: str, overrides: list[str], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    assert main([*overrides, f"output_dir={tmp_path}", argument], PRETRAIN) == 2
    assert sentence in caplog.text
    assert "Traceback" not in caplog.text


def test_a_model_of_subwords_is_refused(overrides: list[str], tmp_path: Path, caplog: pytest.LogCaptureFixture, tiny_weights: Path) -> None:
    argument = ["model/embedding=transformer", f"model.embedding.weights={tiny_weights}"]
    assert main([*overrides, f"output_dir={tmp_path}", *argument], PRETRAIN) == 2
    assert "pre-training predicts the words of titles" in caplog.text


def test_texts_that_have_no_titles_are_refused(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Without advice on fields, which such a data set has not."""
    places = [f"output_dir={tmp_path}", f"cache_dir={tmp_path / 'cache'}", "logger=none"]
    assert main(["dataset=toy", *places], PRETRAIN) == 2
    assert "dataset=toy has texts without titles and bodies" in caplog.text
    assert "reader.fields" not in caplog.text


@pytest.mark.parametrize("model", ["tc_lstm", "qrnn", "word_overlap"])
def test_models_without_a_cell_are_refused(model: str, overrides: list[str], tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    general = [option for option in overrides if not option.startswith("model.")]
    assert main([*general, f"output_dir={tmp_path}", f"model={model}"], PRETRAIN) == 2
    assert "rcnn" in caplog.text
    assert "Traceback" not in caplog.text


def test_the_command_line_runs_and_resumes(overrides: list[str], tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    general = [option for option in overrides if "cutoffs" not in option]
    assert main([*general, f"output_dir={tmp_path}", "trainer.max_epochs=1", "output=full"], PRETRAIN) == 0
    [folder] = [path.parent for path in tmp_path.rglob("record.json")]
    assert folder.name.endswith("pretrain_rcnn_askubuntu_seed1")
    assert main([f"resume={folder}"]) == 2
    assert f"resume it with: qaexp pretrain resume={folder}" in caplog.text
    assert main([f"resume={folder}"], PRETRAIN) == 0


def test_a_finished_run_is_kept_by_its_key(overrides: list[str], tmp_path: Path) -> None:
    short = [*overrides, "trainer.max_epochs=1"]
    ran, kept = (run_overrides(short, tmp_path, PRETRAIN) for _ in range(2))
    assert (ran.status, kept.status) == ("ran", "kept")
    assert kept.record == ran.record
    failed = run_overrides([*short, "model.shared=false"], tmp_path, PRETRAIN)
    assert failed.error.startswith("model.shared=false makes two encoders")
