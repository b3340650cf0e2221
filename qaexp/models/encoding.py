"""Encoding the texts of a batch: in blocks of similar length, and field by field where texts have fields."""

from collections.abc import Callable, Sequence

import torch
from jaxtyping import Int
from torch import Tensor

from qaexp.errors import ConfigError
from qaexp.masking import token_mask
from qaexp.types import Text, concatenated

MIN_SAVED = 1024
"""Tokens of padding that one more block has to save: about what a block costs for itself."""


def encode_texts(encode: Callable[[Tensor], Text], tokens: Int[Tensor, "text *field length"]) -> Text:
    """The encodings of all texts, in order. Of texts with fields (title, body), the mean of the vectors of those that are not empty.

    Lei et al. 2016, §4.1: "we encode both ... and average the two vectors".

    Raises:
        ConfigError: texts have fields, and the model keeps words beyond the pooling.
    """
    if tokens.ndim == 2:
        return _by_length(encode, tokens)
    fields = [_by_length(encode, tokens[:, field]) for field in range(tokens.shape[1])]
    if beyond := sorted({name for field in fields for name in field if name != "vector"}):
        raise ConfigError(
            f"texts with fields are averaged after pooling, and this model keeps {', '.join(beyond)} of each text for its pairs; "
            "choose a pooling like mean, max or last without interaction, or give dataset.reader.fields a single field"
        )
    vectors = torch.stack([field["vector"] for field in fields], dim=1)  # (text, field, dim)
    there = token_mask(tokens).any(dim=2, keepdim=True).to(vectors.dtype)  # (text, field, 1)
    return {"vector": (vectors * there).sum(dim=1) / there.sum(dim=1).clamp(min=1)}


def blocks_by_length(lengths: Sequence[int]) -> list[int]:
    """Sizes of the blocks into which texts, given by ascending length, are cut: the cut that saves most is made, then those on its sides.

    >>> blocks_by_length([10] * 60 + [90] * 40), blocks_by_length([10, 90])
    ([60, 40], [2])
    """
    saved = [place * (lengths[-1] - before) for place, before in enumerate(lengths[:-1], start=1)]
    cut = max(range(len(saved)), key=saved.__getitem__, default=0) + 1
    if not saved or saved[cut - 1] < MIN_SAVED:
        return [len(lengths)]
    return [*blocks_by_length(lengths[:cut]), *blocks_by_length(lengths[cut:])]


def _by_length(encode: Callable[[Tensor], Text], tokens: Int[Tensor, "text length"]) -> Text:
    lengths, order = token_mask(tokens).sum(dim=1).sort(stable=True)
    sizes = blocks_by_length(lengths.tolist())
    if len(sizes) == 1:
        return encode(tokens)
    longest = [max(1, int(block[-1])) for block in lengths.split(sizes)]
    encoded = concatenated([encode(tokens[rows, :length]) for rows, length in zip(order.split(sizes), longest, strict=True)])
    places = order.argsort()
    return {name: tensor[places] for name, tensor in encoded.items()}
