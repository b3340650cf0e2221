"""The chain of slots: what fits together, what is refused, what is shared, how many parameters there are, and how they are initialised."""

from collections.abc import Iterator

import pytest
import torch
from hydra.errors import InstantiationException
from hydra.utils import instantiate
from torch import nn

from qaexp.config import compose
from qaexp.data.batch import RankingBatch, token_mask
from qaexp.errors import ConfigError
from qaexp.models.blocks import blocks_of
from qaexp.models.scorer import Scorer, as_scorer, num_parameters

DIM = 24


def build(*overrides: str) -> Scorer:
    torch.manual_seed(1)
    return instantiate(compose(overrides).model, vectors=torch.randn(30, DIM))


def chain(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


@pytest.mark.parametrize(
    ("overrides", "named"),
    [
        (["model.encoder.offset=10"], ["offset=10", "group_size=10"]),
        (["model.encoder.scale_by=root"], ["scale_by=root", "head or model"]),
        (["model=ctrn", "model.interaction.alignment=cosine"], ["alignment=cosine", "proportional or index"]),
    ],
)
def test_stages_that_do_not_fit_are_named(overrides: list[str], named: list[str]) -> None:
    with pytest.raises(InstantiationException) as refused:
        build(*overrides)
    ours = [str(error) for error in chain(refused.value) if isinstance(error, ConfigError)]
    assert len(ours) == 1
    assert all(word in ours[0] for word in named), ours[0]


@pytest.mark.parametrize(
    ("overrides", "named"),
    [
        (["model=iggsa", "model/encoder=bilstm"], ["QuestionResidual", "residual", "BiLSTM", "interaction=none"]),
        (["model=ap_cnn", "model/pooling=last"], ["model/pooling=last", "gives mask, states alone", "like lstm"]),
        (["model=ctrn", "model/encoder=ggsa"], ["TemporalCrossing", "GatedGroupSelfAttention", "qrnn_gates", "residual"]),
        (["model=qa_lstm", "model/interaction=question_residual"], ["QuestionResidual", "BiLSTM", "interaction=none"]),
        (["model=iarnn_gate", "model/encoder=cnn"], ["QuestionGates", "gru_gates", "CNN", "mask, states"]),
        (["model=ctrn", "model/encoder=gated_gru"], ["TemporalCrossing", "GatedGRU", "qrnn_gates", "gru_gates"]),
        (
            ["model=arc_i", "model/pooling=attentive", "model.similarity.overlap=true"],
            ["StackedCNN shortens texts", "AttentivePooling", "model.similarity.overlap=false"],
        ),
    ],
)
def test_a_stage_that_lacks_its_key_in_a_text_says_so(overrides: list[str], named: list[str]) -> None:
    scorer, tokens = build(*overrides), torch.randint(1, 30, (3, 8))
    with pytest.raises(ConfigError) as refused:
        scorer.score(scorer.encode_question(tokens), scorer.encode_candidate(tokens))
    assert all(word in str(refused.value) for word in named), refused.value


@pytest.mark.parametrize(
    ("model", "part", "said"),
    [
        ("ggsa", "pooling._target_=own_parts.PoolingOfAnotherKey", "model/pooling=PoolingOfAnotherKey gives pooled and no vector"),
        ("ggsa", "pooling._target_=own_parts.PoolingOfTensors", "model/pooling=PoolingOfTensors gives a Tensor and no vector"),
        ("iggsa", "pooling._target_=own_parts.PoolingOfAnotherKey", "model/pooling=PoolingOfAnotherKey gives pooled and no vector"),
        ("ggsa", "encoder._target_=own_parts.EncoderOfAnotherKey", "model/encoder=EncoderOfAnotherKey gives hidden, mask and no states"),
    ],
)
def test_a_part_with_a_wrong_output_is_named(model: str, part: str, said: str) -> None:
    scorer, tokens = build(f"model={model}", f"model.{part}"), torch.randint(1, 30, (3, 8))
    with pytest.raises(ConfigError, match=f"^{said}, which is read next"):
        scorer.score(scorer.encode_question(tokens), scorer.encode_candidate(tokens))


def test_one_encoder_is_shared_unless_two_are_asked_for() -> None:
    one, two = build("model=ggsa"), build("model=ggsa", "model.shared=false")
    assert one.question_encoder is one.candidate_encoder
    assert two.question_encoder is not two.candidate_encoder
    encoder = num_parameters(one.question_encoder)["trainable"]
    assert num_parameters(two)["trainable"] - num_parameters(one)["trainable"] == encoder
    tokens = torch.randint(1, 30, (3, 8))
    for scorer, same in ((one, True), (two, False)):
        scorer.eval()
        assert torch.equal(scorer.encode_question(tokens)["vector"], scorer.encode_candidate(tokens)["vector"]) == same


def test_parameters_are_counted_without_the_words() -> None:
    """GGSA: gate D² + D, heads 4D², norm 2D, feed-forward 8D² + 5D. A frozen table counts nowhere, its projection does."""
    ggsa = 13 * DIM**2 + 8 * DIM
    assert num_parameters(build("model=ggsa")) == {"trainable": ggsa + 30 * DIM, "trainable without word embeddings": ggsa}
    assert num_parameters(build("model=ggsa", "model/embedding=frozen")) == {"trainable": ggsa, "trainable without word embeddings": ggsa}
    iggsa = ggsa + 8 * DIM**2 + 5 * DIM + 2 * DIM
    assert num_parameters(build("model=iggsa"))["trainable without word embeddings"] == iggsa
    projection, width = DIM * 48 + 48, 48
    counted = num_parameters(build("model=ggsa", "model/embedding=projected", "model.embedding.project_dim=48"))
    assert counted["trainable without word embeddings"] == 13 * width**2 + 8 * width + projection
    lstm = 2 * (4 * (DIM * 5 + 5 * 5) + 2 * 4 * 5)
    assert num_parameters(build("model=qa_lstm", "model.encoder.hidden_dim=5"))["trainable without word embeddings"] == lstm
    assert num_parameters(instantiate(compose(["model=word_overlap"]).model, vectors=torch.zeros(2, 3)))["trainable"] == 0


@pytest.mark.parametrize(
    ("model", "question", "candidate"), [("ggsa", {"vector"}, {"vector"}), ("iggsa", {"states", "mask"}, {"residual", "mask"})]
)
def test_the_cut_falls_before_the_first_pairwise_stage(model: str, question: set[str], candidate: set[str]) -> None:
    scorer, tokens = build(f"model={model}"), torch.randint(1, 30, (3, 8))
    assert scorer.encode_question(tokens).keys() == question
    assert scorer.encode_candidate(tokens).keys() == candidate


@pytest.mark.parametrize("model", ["ggsa", "ap_cnn", "qa_lstm", "arc_ii", "lc_lstm"])
def test_a_batch_looks_into_a_tuned_table_once(model: str) -> None:
    scorer = build(f"model={model}", "model/embedding=tuned")
    looks = list[int]()
    scorer.embedding.words.register_forward_hook(lambda *_: looks.append(1))  # type: ignore[union-attr]
    candidates = torch.randint(1, 30, (6, 90)) * (torch.arange(90) < torch.tensor([3, 40, 3, 90, 5, 4]).unsqueeze(1))
    group = torch.arange(2).repeat_interleave(3)
    batch = RankingBatch(torch.randint(1, 30, (2, 7)), candidates, group, torch.arange(6), torch.tensor([1, 0, 0, 1, 0, 0]), group)
    assert len(blocks_of(token_mask(candidates).sum(dim=1))[1]) > 1
    scorer(batch).sum().backward()
    assert len(looks) == 1


MODELS = ["nbow", "single_lstm", "parallel_lstms", "attention_lstms", "word_attention_lstms", "lc_lstm", "tc_lstm", "stacked_tc_lstm"]


@pytest.mark.parametrize("model", MODELS)
def test_weights_begin_within_the_papers_interval(model: str) -> None:
    """Of the two biases of torch's LSTM one is held at zero, or the sum of both would begin within ±0.2."""
    vectors = torch.randn(30, 10)
    scorer = instantiate(compose([f"model={model}", "dataset=snli"]).model, vectors=vectors)
    assert torch.equal(scorer.embedding.words.weight, vectors)
    for name, weights in scorer.named_parameters():
        if not weights.requires_grad:
            assert not weights.any(), f"{name} is held at zero"
        elif name != "embedding.words.weight":
            assert weights.abs().max() <= 0.1, name
            assert weights.numel() < 100 or weights.abs().max() > 0.095, f"{name} begins otherwise"
    biases = [weights for name, weights in scorer.named_parameters() if name.endswith("bias_hh_l0")]
    assert not any(weights.requires_grad for weights in biases)


@pytest.mark.parametrize(
    ("model", "sentence"),
    [
        (nn.Linear(2, 2), "model=Linear is not an AnswerScorer: derive it from {}, and give it encode_question, encode_candidate, score"),
        (
            type("Mine", (nn.Module,), {"encode_question": 1, "encode_candidate": 1, "score": 1})(),
            "model=Mine is not an AnswerScorer: derive it from {}",
        ),
    ],
)
def test_a_model_that_is_no_scorer_is_told_what_it_lacks(model: nn.Module, sentence: str) -> None:
    with pytest.raises(ConfigError) as refused:
        as_scorer(model)
    assert str(refused.value) == sentence.format("qaexp.models.scorer.AnswerScorer")
