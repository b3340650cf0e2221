"""The models of Liu et al. 2016 begin as §6.1 says: word vectors as given, everything else within ±0.1."""

import pytest
import torch
from hydra.utils import instantiate

from qaexp.config import compose

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
