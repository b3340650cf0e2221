"""Log probabilities of words: they sum to one, the full softmax is cross-entropy, rare words are in the tail."""

from collections.abc import Callable

import pytest
import torch
from torch.nn import functional as F

from qaexp.errors import ConfigError
from qaexp.models.decoder import AdaptiveSoftmax, FullSoftmax, WordOutput

WORDS, DIM, STATES = 50, 8, 6

OUTPUTS: dict[str, Callable[[torch.Tensor], WordOutput]] = {
    "full": lambda uses: FullSoftmax(DIM, uses),
    "adaptive": lambda uses: AdaptiveSoftmax(DIM, uses, cutoffs=[20, 5, 1000], div_value=2.0),
}


def built(name: str) -> tuple[WordOutput, torch.Tensor, torch.Tensor]:
    """An output layer, states, and how often words are used."""
    torch.manual_seed(1)
    uses = torch.randint(0, 100, (WORDS,))
    return OUTPUTS[name](uses), torch.randn(STATES, DIM), uses


@pytest.mark.parametrize("name", OUTPUTS)
def test_probabilities_of_all_words_sum_to_one(name: str) -> None:
    output, states, _ = built(name)
    table = output(states.repeat_interleave(WORDS, dim=0), torch.arange(WORDS).repeat(STATES)).view(STATES, WORDS)
    torch.testing.assert_close(table.exp().sum(dim=1), torch.ones(STATES))
    assert table.min() < table.max() - 1  # and are no constant
    one = output(states[:1], torch.tensor([7]))  # a single token, too
    torch.testing.assert_close(one, table[0, 7:8])


def test_the_full_softmax_is_cross_entropy() -> None:
    output, states, _ = built("full")
    assert isinstance(output, FullSoftmax)
    words = torch.arange(STATES) * 7
    expected = F.cross_entropy(states @ output.linear.weight.T + output.linear.bias, words)
    torch.testing.assert_close(-output(states, words).mean(), expected)


def test_the_adaptive_softmax_has_the_most_frequent_words_in_its_head() -> None:
    output, states, uses = built("adaptive")
    assert isinstance(output, AdaptiveSoftmax)
    frequent = uses.argsort(descending=True, stable=True)
    head = (states @ output.softmax.head.weight.T).log_softmax(dim=1)  # five words, then the two clusters
    for place, word in enumerate(frequent[:5].tolist()):
        torch.testing.assert_close(output(states, torch.full((STATES,), word)), head[:, place])
    down, up = output.softmax.tail[0]  # the words of rank 5 to 20
    within = (states @ down.weight.T @ up.weight.T).log_softmax(dim=1)
    torch.testing.assert_close(output(states, torch.full((STATES,), int(frequent[7]))), head[:, 5] + within[:, 2])


def test_a_vocabulary_without_rare_words_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"output\.cutoffs=\[50, 80\]: the vocabulary has only 50 words.*output=full"):
        AdaptiveSoftmax(DIM, torch.ones(WORDS, dtype=torch.int64), cutoffs=[50, 80], div_value=4.0)
