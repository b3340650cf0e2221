"""Subwords: the ids, the special tokens around them, and how long a text may be."""

from pathlib import Path

import pytest
import torch
from torch.nn.utils.rnn import pad_sequence

from qaexp.models.pretrained.subwords import Subwords


@pytest.fixture
def alone(tiny_weights: Path) -> Subwords:
    return Subwords(str(tiny_weights), num_texts=1)


@pytest.fixture
def pair(tiny_weights: Path) -> Subwords:
    return Subwords(str(tiny_weights), num_texts=2)


def test_words_have_special_tokens_around_what_is_read(alone: Subwords) -> None:
    assert alone.words("Is the AB?", limit=3) == ["[CLS]", "is", "the", "a", "[SEP]"]
    assert alone.of_words(alone.words("Is the AB?", limit=3)) == alone.ids(["Is the AB?"])[0][:3]


def test_words_of_a_pair_have_none(pair: Subwords) -> None:
    """A cross-encoder's texts share them. Asking for its words ended in an IndexError, and so did every such run in W&B."""
    assert pair.words("Is the AB?", limit=3) == ["is", "the", "a"]
    assert pair.of_words(pair.words("Is the AB?", limit=3)) == pair.ids(["Is the AB?"])[0][:3]


def test_inputs_are_those_of_the_tokenizer_itself(alone: Subwords, pair: Subwords, tiny_weights: Path) -> None:
    from transformers import AutoTokenizer

    theirs = AutoTokenizer.from_pretrained(tiny_weights)
    texts, others = ["is the", "what is it, then?"], ["ab", "the."]
    first, second = (pad_sequence([torch.tensor(ids) for ids in alone.ids(side)], batch_first=True) for side in (texts, others))
    alike = {"padding": True, "return_token_type_ids": True}
    for ours, expected in (
        (alone.inputs(first), theirs(texts, **alike)),
        (pair.inputs(first, second), theirs(texts, others, **alike)),
    ):
        mask = torch.tensor(expected["attention_mask"]).bool()
        assert torch.equal(ours[2], mask)
        assert torch.equal(ours[0][mask], torch.tensor(expected["input_ids"])[mask])
        assert torch.equal(ours[1][mask], torch.tensor(expected["token_type_ids"])[mask])


def test_limits_leave_room_for_special_tokens(alone: Subwords, pair: Subwords) -> None:
    """The model reads 64 tokens."""
    assert alone.limits(40, 100) == (40, 62)
    assert pair.limits(20, 100) == (20, 41)
    assert pair.limits(100, 100) == (30, 31)
