"""A transformer in the chain: the library's own states, what is trained of it, and a run from training to ranking without its folder."""

import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from hydra.errors import InstantiationException
from hydra.utils import instantiate
from pytorch_lightning import Callback, LightningModule, Trainer
from safetensors.torch import load_file, save_file
from small_texts import built
from tiny_weights import WHY, write_tiny_weights

import qaexp
from qaexp.config import compose
from qaexp.errors import ConfigError
from qaexp.models.pretrained.transformer import Transformer
from qaexp.runs.record import RunRecord
from qaexp.runs.store import run_overrides
from qaexp.train import train

TEXTS = ["is the answer here?", "no, it is there. or is it?", "the"]


def test_vectors_are_the_means_of_the_librarys_states(tiny_weights: Path) -> None:
    from transformers import AutoModel, AutoTokenizer

    scorer = built("model=bi_encoder", words=3, dim=0)
    rows = [torch.tensor(ids) for ids in scorer.subwords.ids(TEXTS)]
    ours = scorer.encode_all(scorer.encode_candidate, torch.nn.utils.rnn.pad_sequence(rows, batch_first=True))["vector"]
    tokenizer, model = AutoTokenizer.from_pretrained(tiny_weights), AutoModel.from_pretrained(tiny_weights).eval()
    for text, vector in zip(TEXTS, ours, strict=True):
        states = model(**tokenizer(text, return_tensors="pt")).last_hidden_state[0]
        torch.testing.assert_close(vector, states.mean(dim=0), atol=1e-5, rtol=1e-5)


def test_frozen_weights_are_not_trained_and_drop_nothing_out() -> None:
    encoder = built("model=bi_encoder", "model.encoder.tuned=false", words=3, dim=0).train().question_encoder
    assert not any(parameter.requires_grad for parameter in encoder.parameters())
    assert not encoder.model.training


def test_a_frozen_transformer_reads_each_text_once_while_something_learns(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also in other batches, and where there is no room for all; its states are the model's own, and do not depend on the batch."""
    scorer = built("model=bi_encoder", "model.encoder.tuned=false", words=3, dim=0)
    encoder = scorer.question_encoder
    assert isinstance(encoder, Transformer)
    texts = [torch.tensor([5, 6, 7, 8]), torch.tensor([9, 10]), torch.tensor([6, 5, 11])]

    def states(*chosen: int) -> torch.Tensor:
        text = scorer.embedding.of(torch.nn.utils.rnn.pad_sequence([texts[each] for each in chosen], batch_first=True))
        return encoder(text)["states"].masked_fill(~text["mask"].unsqueeze(2), 0.0)

    read: list[tuple[int, ...]] = []
    encoder.model.register_forward_pre_hook(lambda module, args, kwargs: read.append(tuple(kwargs["input_ids"].shape)), with_kwargs=True)
    plain = states(0, 1, 2)
    scorer.train()
    with torch.inference_mode():
        first = states(1, 2)
    kept = states(0, 1, 2)
    torch.testing.assert_close(kept, plain, atol=1e-6, rtol=1e-5)
    assert torch.equal(kept[1:, : first.shape[1]], first)
    assert torch.equal(states(2), kept[2:, :5])
    assert read == [(3, 6), (1, 4), (1, 5), (1, 6)]
    assert not kept.is_inference()
    monkeypatch.setattr("qaexp.models.pretrained.transformer.MAX_CACHED_BYTES", 0)
    texts.append(torch.tensor([12]))
    assert torch.equal(states(3), states(3))
    assert read[4:] == [(1, 3), (1, 3)]


def test_lora_trains_its_matrices_alone() -> None:
    pytest.importorskip("peft", reason="LoRA needs peft: pip install 'qaexp[pretrained]'")
    encoder = built("model=bi_encoder", "model.encoder.lora_rank=2", words=3, dim=0).question_encoder
    assert {name.split(".")[-3] for name, p in encoder.named_parameters() if p.requires_grad} == {"lora_A", "lora_B"}


def test_lora_of_a_cross_encoder_trains_its_head_whose_scores_stay_in_float32() -> None:
    pytest.importorskip("peft", reason="LoRA needs peft: pip install 'qaexp[pretrained]'")
    scorer = built("model=cross_encoder", "model.lora_rank=2", words=3, dim=0)
    learned = {name for name, parameter in scorer.named_parameters() if parameter.requires_grad and "lora" not in name}
    assert learned == {"model.classifier.weight", "model.classifier.bias"}
    with torch.autocast("cpu", torch.bfloat16):
        text = scorer.encode_question(torch.tensor([[5, 6, 7]]))
        assert scorer.score(text, text).dtype == torch.float32


def of_another_kind(weights: Path, folder: Path, kind: str, **options: int) -> str:
    """Weights with the tokenizer of `weights`, of a model of this kind."""
    transformers = pytest.importorskip("transformers", reason=WHY)
    getattr(transformers, f"{kind}Model")(getattr(transformers, f"{kind}Config")(**options)).save_pretrained(folder)
    shutil.copy(weights / "tokenizer.json", folder)
    return str(folder)


def test_lora_trains_all_layers_of_a_head(tiny_weights: Path, tmp_path: Path) -> None:
    """RoBERTa's head has two; the first had kept its random weights."""
    pytest.importorskip("peft", reason="LoRA needs peft: pip install 'qaexp[pretrained]'")
    sizes = {"vocab_size": 64, "hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 8}
    weights = of_another_kind(tiny_weights, tmp_path / "roberta", "Roberta", **sizes, pad_token_id=0)
    scorer = built("model=cross_encoder", f"model.weights={weights}", "model.lora_rank=2", words=3, dim=0)
    learned = {name for name, parameter in scorer.named_parameters() if parameter.requires_grad and "lora" not in name}
    assert learned == {f"model.classifier.{layer}.{what}" for layer in ("dense", "out_proj") for what in ("weight", "bias")}


def test_a_cross_encoder_that_classifies_by_the_last_position_is_refused(tiny_weights: Path, tmp_path: Path) -> None:
    weights = of_another_kind(
        tiny_weights, tmp_path / "xlnet", "XLNet", vocab_size=64, d_model=8, n_layer=1, n_head=2, d_inner=8, pad_token_id=0
    )
    with pytest.raises(InstantiationException, match="by its last position, which is padding here"):
        built("model=cross_encoder", f"model.weights={weights}", words=3, dim=0)


BELOW_GRU = ["model=gru", "model/embedding=transformer"]


@pytest.mark.parametrize(
    ("model", "place"), [(["model=bi_encoder"], "model.encoder"), (["model=cross_encoder"], "model"), (BELOW_GRU, "model.embedding")]
)
def test_lora_of_frozen_weights_is_refused(model: list[str], place: str) -> None:
    with pytest.raises(InstantiationException) as refused:
        built(*model, f"{place}.lora_rank=2", f"{place}.tuned=false", words=3, dim=0)
    said = f"{place}.lora_rank=2 trains LoRA's matrices, and {place}.tuned=false trains nothing; set {place}.tuned=true"
    assert any(said in str(error) for error in (refused.value, refused.value.__cause__))


def test_gradient_checkpointing_changes_no_gradient() -> None:
    def gradients(checkpointing: bool) -> list[torch.Tensor]:
        scorer = built("model=bi_encoder", f"model.encoder.gradient_checkpointing={checkpointing}", words=3, dim=0).train()
        torch.manual_seed(4)
        scorer.encode_question(torch.tensor([[5, 6, 7]]))["vector"].sum().backward()
        return [p.grad for p in scorer.parameters() if p.grad is not None]

    for ours, plain in zip(gradients(True), gradients(False), strict=True):
        torch.testing.assert_close(ours, plain)


def test_an_encoder_of_subwords_refuses_words(tiny_weights: Path) -> None:
    encoder = Transformer(24, str(tiny_weights), tuned=True, lora_rank=None, gradient_checkpointing=False)
    with pytest.raises(ConfigError, match="model/encoder=transformer reads subwords, and this embedding gives none"):
        encoder({"states": torch.zeros(1, 2, 24), "mask": torch.ones(1, 2, dtype=torch.bool)})


@pytest.mark.parametrize("model", ["ap_cnn", "arc_ii", "ggsa"])
def test_other_encoders_refuse_subwords(model: str) -> None:
    scorer = built(f"model={model}", "model/embedding=subwords", words=3, dim=0)
    with pytest.raises(ConfigError, match="subwords"):
        scorer.encode_question(torch.tensor([[5, 6, 7]]))


def test_a_model_of_words_refuses_subwords() -> None:
    with pytest.raises(InstantiationException, match="model=anmm looks for exact matches of words"):
        built("model=anmm", "model/embedding=transformer", words=3, dim=0)


def test_a_grid_of_positions_reads_subwords_too() -> None:
    scorer = built("model=mv_lstm", "model/embedding=transformer", words=3, dim=0)
    sides = (torch.tensor([[5, 6, 7], [8, 9, 0]]), torch.tensor([[5, 6]]))
    encoded = [scorer.encode_all(encode, ids) for encode, ids in zip((scorer.encode_question, scorer.encode_candidate), sides, strict=True)]
    assert scorer.score_all(*encoded, torch.tensor([0, 1]), torch.tensor([0, 0])).isfinite().all()


@pytest.mark.parametrize("model", ["lc_lstm", "single_lstm", "parallel_lstms"])
def test_drawing_all_weights_uniformly_keeps_pretrained_ones(model: str, tiny_weights: Path) -> None:
    from transformers import AutoModel

    scorer = built(f"model={model}", "model/embedding=transformer", "model.embedding.tuned=true", words=3, dim=0)
    ours = dict(scorer.embedding.transformer.model.named_parameters())
    for name, parameter in AutoModel.from_pretrained(tiny_weights).named_parameters():
        assert name.startswith("pooler") or torch.equal(ours[name], parameter)


SMALL = [
    "logger=none",
    "dataset.reader.num_train=20",
    "dataset.reader.num_dev=4",
    "dataset.reader.num_test=4",
    "trainer.max_epochs=1",
    "dataset.max_candidate_length=300",
]


class Modes(Callback):
    """Whether the transformer and the dropout above it are in training mode, in each step of a training run."""

    def __init__(self) -> None:
        self.seen: list[tuple[bool, bool]] = []

    def on_train_batch_start(self, trainer: Trainer, pl_module: LightningModule, batch: Any, batch_idx: int) -> None:
        scorer: Any = pl_module.scorer
        self.seen.append((scorer.embedding.transformer.model.training, scorer.embedding.dropout.training))


@pytest.mark.parametrize("tuned", [True, False])
def test_only_a_transformer_that_is_tuned_trains_with_its_own_dropout(tuned: bool, tmp_path: Path, tiny_weights: Path) -> None:
    options = [*BELOW_GRU, *SMALL, f"model.embedding.tuned={tuned}", "trainer.max_epochs=2"]
    modes = Modes()
    train(compose([*options, f"cache_dir={tmp_path / 'cache'}"]), tmp_path / "run", watchers=[modes])
    assert len(modes.seen) > 1
    assert set(modes.seen) == {(tuned, True)}


def test_other_weights_in_the_same_folder_run_again(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    weights = write_tiny_weights(tmp_path / "weights", max_length=24)
    options = ["model=bi_encoder", f"model.encoder.weights={weights}", *SMALL, f"cache_dir={tmp_path / 'cache'}"]
    former = run_overrides(options, tmp_path / "runs")
    assert run_overrides(options, tmp_path / "runs").status == "kept"
    save_file({name: tensor + 0.5 for name, tensor in load_file(weights / "model.safetensors").items()}, weights / "model.safetensors")
    again = run_overrides(options, tmp_path / "runs")
    assert (former.status, again.status) == ("ran", "ran")
    assert "what it reads has changed since; the old run is now in" in caplog.text
    assert former.record is not None
    assert again.record is not None
    assert former.record.history != again.record.history
    resumed = RunRecord.load(again.folder)
    with pytest.raises(ConfigError, match=r"the pretrained weights .* have changed since this run started"):
        resumed.note_weights(former.record.data["weights"])


@pytest.mark.parametrize("model", ["bi_encoder", "cross_encoder"])
def test_a_checkpoint_ranks_without_the_folder_of_the_weights(model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its record has the weights' digest, and how many texts are longer than the 24 subwords that the model reads."""
    monkeypatch.setenv("QAEXP_WEIGHTS", str(weights := write_tiny_weights(tmp_path / "weights", max_length=24)))
    cfg = compose([f"model={model}", *SMALL, f"cache_dir={tmp_path / 'cache'}"])
    record = train(cfg, tmp_path / "run")
    assert record.data["weights"][str(weights)].startswith("sha256:")
    assert record.data["splits"]["test"]["cut candidates"] > 0
    assert RunRecord.load(tmp_path / "run").data["vectors"]["source"] == "none read"
    shutil.rmtree(weights)
    lines = [line.split() for line in (tmp_path / "run" / "test.run").read_text(encoding="utf-8").splitlines()]
    written = {(question, candidate): float(score) for question, _, candidate, _, score, _ in lines}
    data = instantiate(cfg.dataset)
    split = data.splits["test"]
    pool = range(split.offsets[0], split.offsets[1])
    answers = [data.corpus.written(int(split.candidates[i])) for i in pool]
    ranked = qaexp.load(tmp_path / "run").rank(data.corpus.written(int(split.questions[0])), answers)
    for answer in ranked:
        name = split.candidate_ids[pool[answer.position]].decode()
        assert answer.score == pytest.approx(written[split.question_ids[0].decode(), name], abs=1e-5)
