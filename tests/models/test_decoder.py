"""Word outputs: probabilities sum to one, the full softmax is cross-entropy. The title decoder against a loop over words."""

from collections.abc import Callable

import pytest
import torch
from torch.nn import functional as F

from qaexp.errors import ConfigError
from qaexp.models.decoder import AdaptiveSoftmax, FullSoftmax, TitleDecoder, WordOutput
from qaexp.models.embedding.word_vectors import WordEmbedding
from qaexp.models.encoder.cnn import CNN
from qaexp.models.encoder.rcnn import RCNN
from qaexp.models.encoder.recurrent import GRU, LSTM, RecurrentEncoder, State

WORDS, DIM, STATES = 50, 8, 6
INPUT, HIDDEN = 5, 8
CONTEXTS = [[3, 4, 5, 6], [7], [8, 9]]
TITLES = [[10, 11], [12, 13, 14, 1], [2]]

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
    assert table.min() < table.max() - 1  # not a constant
    one = output(states[:1], torch.tensor([7]))  # a single token works too
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
    with pytest.raises(ConfigError, match=r"output\.cutoffs=\[50, 80\]: the vocabulary has 50 words.*output=full"):
        AdaptiveSoftmax(DIM, torch.ones(WORDS, dtype=torch.int64), cutoffs=[50, 80], div_value=4.0)


CELLS: dict[str, Callable[[int], RecurrentEncoder]] = {
    "rcnn": lambda input_dim: RCNN(input_dim, HIDDEN, 2, "vector"),
    "lstm": lambda input_dim: LSTM(input_dim, HIDDEN),
    "gru": lambda input_dim: GRU(input_dim, HIDDEN),
}


def small_full(input_dim: int, uses: torch.Tensor) -> WordOutput:
    return FullSoftmax(input_dim, uses)


def small_adaptive(input_dim: int, uses: torch.Tensor) -> WordOutput:
    return AdaptiveSoftmax(input_dim, uses, cutoffs=[4, 12], div_value=2.0)


def padded(texts: list[list[int]]) -> torch.Tensor:
    return torch.nn.utils.rnn.pad_sequence([torch.tensor(text) for text in texts], batch_first=True)


def reference(
    encoder: RecurrentEncoder, decoder: TitleDecoder, vectors: torch.Tensor, context: list[int], title: list[int]
) -> list[torch.Tensor]:
    """log P of each word of one title and of its end: one word, one cell, one softmax at a time."""

    def read(cell: RecurrentEncoder, vector: torch.Tensor, state: State | None) -> tuple[torch.Tensor, State]:
        states, after = cell.run({"states": vector[None, None], "mask": torch.ones(1, 1, dtype=torch.bool)}, state)
        return states[0], after

    state: State | None = None
    for word in context:
        _, state = read(encoder, vectors[word], state)
    probabilities, before = [], torch.zeros(INPUT)
    for word in [*title, 0]:
        h, state = read(decoder.cell, before, state)
        table = decoder.output(h.expand(WORDS, HIDDEN), torch.arange(WORDS))
        probabilities.append(table[word] - table.exp().sum().log())
        before = vectors[word]
    return probabilities


@pytest.mark.parametrize("output", [small_full, small_adaptive])
@pytest.mark.parametrize("cell", CELLS)
def test_teacher_forcing_equals_a_loop_over_words(cell: str, output: Callable[..., WordOutput]) -> None:
    torch.manual_seed(2)
    vectors = torch.randn(WORDS, INPUT)
    vectors[0] = 0
    embedding = WordEmbedding(vectors, tuned=False, project_dim=None, dropout_rate=0.0)
    encoder, decoder = CELLS[cell](INPUT), TitleDecoder(CELLS[cell], INPUT, output, uses=WORDS - torch.arange(WORDS))
    contexts, titles = padded(CONTEXTS), padded(TITLES)
    _, start = encoder.run(embedding({"tokens": contexts, "mask": contexts != 0}), None)
    ours = decoder(titles, start, embedding)
    slow = [p for context, title in zip(CONTEXTS, TITLES, strict=True) for p in reference(encoder, decoder, vectors, context, title)]
    assert len(ours) == sum(len(title) + 1 for title in TITLES)
    torch.testing.assert_close(ours, torch.stack(slow))

    inputs = [p for p in [*encoder.parameters(), *decoder.parameters()] if p.requires_grad]
    for gradient, wanted in zip(torch.autograd.grad(ours.sum(), inputs), torch.autograd.grad(sum(slow), inputs), strict=True):
        torch.testing.assert_close(gradient, wanted, rtol=1e-4, atol=1e-5)
        assert gradient.abs().max() > 0


def test_an_encoder_without_a_start_state_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"model/encoder=CNN has no state.*rcnn, lstm or gru"):
        TitleDecoder(lambda input_dim: CNN(input_dim, HIDDEN, 3), INPUT, small_full, torch.arange(WORDS))
