"""Teacher forcing against a slow loop: a word at a time, from the state that the encoder ended with."""

from collections.abc import Callable

import pytest
import torch

from qaexp.errors import ConfigError
from qaexp.models.decoder import AdaptiveSoftmax, FullSoftmax, TitleDecoder, WordOutput
from qaexp.models.embedding.word_vectors import WordEmbedding
from qaexp.models.encoder.cnn import CNN
from qaexp.models.encoder.rcnn import RCNN
from qaexp.models.encoder.recurrent import GRU, LSTM, RecurrentEncoder, State

WORDS, INPUT, HIDDEN = 30, 5, 8
CONTEXTS = [[3, 4, 5, 6], [7], [8, 9]]
TITLES = [[10, 11], [12, 13, 14, 1], [2]]

CELLS: dict[str, Callable[[int], RecurrentEncoder]] = {
    "rcnn": lambda input_dim: RCNN(input_dim, HIDDEN, 2, "vector"),
    "lstm": lambda input_dim: LSTM(input_dim, HIDDEN),
    "gru": lambda input_dim: GRU(input_dim, HIDDEN),
}


def full(input_dim: int, uses: torch.Tensor) -> WordOutput:
    return FullSoftmax(input_dim, uses)


def adaptive(input_dim: int, uses: torch.Tensor) -> WordOutput:
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


@pytest.mark.parametrize("output", [full, adaptive])
@pytest.mark.parametrize("cell", CELLS)
def test_teacher_forcing_is_the_slow_loop(cell: str, output: Callable[..., WordOutput]) -> None:
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


def test_an_encoder_without_a_state_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"model/encoder=CNN has no state.*rcnn, lstm or gru"):
        TitleDecoder(lambda input_dim: CNN(input_dim, HIDDEN, 3), INPUT, full, torch.arange(WORDS))
