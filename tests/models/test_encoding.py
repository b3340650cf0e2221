"""Encoding by length and field by field: the same encodings, in order, with less padding."""

import pytest
import torch
from small_texts import built, some_tokens
from torch import Tensor

from qaexp.errors import ConfigError
from qaexp.models.blocks import blocks_by_length, encode_by_length, encode_fields

WORDS = 40


@pytest.mark.parametrize("model", ["ggsa", "qa_lstm", "ap_cnn", "iggsa"])
def test_blocks_of_similar_length_change_no_encoding(model: str) -> None:
    scorer, calls = built(f"model={model}", words=WORDS, dim=12), list[tuple[int, int]]()
    lengths = torch.randint(1, 120, (48,), generator=torch.Generator().manual_seed(4)).tolist()
    tokens = some_tokens(lengths, WORDS)

    def counted(block: Tensor) -> dict[str, Tensor]:
        calls.append((block.shape[0], block.shape[1]))
        return scorer.encode_candidate(block)

    with torch.no_grad():
        whole, blocked = scorer.encode_candidate(tokens), encode_by_length(counted, tokens)
    assert len(calls) > 1
    assert sum(rows for rows, _ in calls) == 48
    assert sum(lengths) / sum(rows * longest for rows, longest in calls) > 0.7  # 0.59 in one block
    for name in whole:
        if name == "vector":
            torch.testing.assert_close(blocked[name], whole[name], rtol=1e-5, atol=1e-5)
        else:
            real = tokens != 0
            torch.testing.assert_close(blocked[name][real], whole[name][real], rtol=1e-5, atol=1e-5)


def test_each_cut_saves_enough_padding_to_be_worth_a_block() -> None:
    lengths = sorted(torch.randint(1, 200, (300,), generator=torch.Generator().manual_seed(5)).tolist())
    sizes = blocks_by_length(lengths, least=500)
    assert sum(sizes) == 300
    ends = torch.tensor(sizes).cumsum(0).tolist()
    for place in range(len(sizes) - 1):
        assert sizes[place] * (lengths[ends[place + 1] - 1] - lengths[ends[place] - 1]) >= 500
    assert blocks_by_length([7] * 500, least=1) == [500]


def test_fields_are_encoded_apart_and_those_that_are_there_averaged() -> None:
    """Lei et al. 2016, §4.1."""
    scorer = built("model=qa_lstm", words=WORDS, dim=12)
    title, body = some_tokens([3, 5, 2], WORDS), some_tokens([9, 1, 4], WORDS, seed=1)
    body[2] = 0  # the last question has a title only
    tokens = torch.zeros(3, 2, 9, dtype=torch.int64)
    tokens[:, 0, :5], tokens[:, 1] = title, body
    with torch.no_grad():
        together = encode_fields(scorer.encode_question, tokens)["vector"]
        titles, bodies = (scorer.encode_question(field)["vector"] for field in (title, body))
    torch.testing.assert_close(together[:2], (titles[:2] + bodies[:2]) / 2, rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(together[2], titles[2], rtol=1e-5, atol=1e-5)


def test_fields_need_a_vector_for_each_text() -> None:
    with pytest.raises(ConfigError, match=r"keeps keys, mask, states of each text .* dataset\.reader\.fields a single field"):
        encode_fields(built("model=ap_cnn", words=WORDS, dim=12).encode_question, torch.ones(2, 2, 3, dtype=torch.int64))
