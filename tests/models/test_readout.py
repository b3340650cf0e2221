"""What is read out of a model is what it computes with."""

import pytest
import torch
from small_texts import built

from qaexp.models.encoder.self_attention import SelfAttention
from qaexp.models.scorer import read_out

QUESTION, CANDIDATE = torch.tensor([5, 9, 2]), torch.arange(1, 24)


@pytest.mark.parametrize(
    "overrides", [["model=self_attention"], ["model=ggsa"], ["model=ggsa", "model.encoder.offset=3", "model.encoder.group_size=7"]]
)
@torch.no_grad()
def test_attention_weights_are_the_ones_that_attend_uses(overrides: list[str]) -> None:
    encoder = built(*overrides, words=30, dim=24).question_encoder
    assert isinstance(encoder, SelfAttention)
    mask = torch.arange(23) < torch.tensor([[23], [11]])
    QKV = torch.randn(2, 23, 3, 6, 4)
    by_weights = torch.einsum("bhij,bjhd->bihd", encoder.weights(QKV, mask), QKV[:, :, 2])
    torch.testing.assert_close(by_weights[mask], encoder.attend(QKV, mask)[mask], rtol=1e-5, atol=1e-5)


def test_a_pair_of_each_family_shows_its_parts() -> None:
    ggsa = read_out(built("model=iggsa", words=30, dim=24), QUESTION, CANDIDATE)
    assert ggsa["candidate.attention"].shape == (6, 23, 23)
    assert ggsa["question.gate"].shape == (3, 24)
    assert ((ggsa["question.gate"] >= 0) & (ggsa["question.gate"] <= 1)).all()
    attentive = read_out(built("model=ap_cnn", words=30, dim=24), QUESTION, CANDIDATE)
    assert attentive["pair.alignment"].shape == (3, 23)
    torch.testing.assert_close(attentive["pair.attention"], attentive["pair.alignment"].amax(dim=0).softmax(dim=0))


def test_reading_out_keeps_the_training_mode() -> None:
    scorer = built("model=ap_cnn", words=30, dim=24).train()
    read_out(scorer, QUESTION, CANDIDATE)
    assert scorer.training
