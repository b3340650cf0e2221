"""Encoding the texts of a batch: in blocks of similar length, and field by field where texts have fields."""

from collections.abc import Callable, Sequence
from functools import partial

import torch
from jaxtyping import Int
from torch import Tensor

from qaexp.data.batch import token_mask
from qaexp.errors import ConfigError
from qaexp.models.types import Text, concatenated

SAVED = {"cpu": 48, "cuda": 8192}
"""Tokens of padding that one more block has to save on each kind of device: about what a block costs for itself."""

SHARE_SAVED = 0.02
"""One more block has to save this share of all tokens as well."""


def encode_texts(
    encode: Callable[[Tensor], Text], tokens: Int[Tensor, "text *field length"], skips_padding: bool, reads_fields: bool
) -> Text:
    """The encodings of all texts, in order. Of texts with fields (title, body), the mean of the vectors of those that are not empty.

    Lei et al. 2016, §4.1: "we apply the encoder to both the question title and body, and the final representation is computed as the
    average of the two resulting vectors". A model that `skips_padding` anyway is given all texts in one block; one
    that `reads_fields`, texts with all their fields.

    Raises:
        ConfigError: texts have fields, and the model keeps words beyond the pooling.
    """
    encode_field = encode if skips_padding else partial(_by_length, encode)
    if tokens.ndim == 2:
        return encode_field(tokens)
    if reads_fields:
        return encode(tokens)
    fields = [encode_field(field) for field in tokens.unbind(dim=1)]
    if beyond := sorted({name for field in fields for name in field if name != "vector"}):
        raise ConfigError(
            f"texts with fields are averaged after pooling, and this model keeps {', '.join(beyond)} of each text for its pairs; "
            "choose a pooling like mean, max or last without interaction, or give dataset.reader.fields a single field"
        )
    vectors = torch.stack([field["vector"] for field in fields], dim=1)  # (text, field, dim)
    there = token_mask(tokens).any(dim=2, keepdim=True).to(vectors.dtype)  # (text, field, 1)
    return {"vector": (vectors * there).sum(dim=1) / there.sum(dim=1).clamp(min=1)}


def blocks_by_length(lengths: Sequence[int], least: int) -> list[int]:
    """Sizes of the blocks into which texts, given by ascending length, are cut: the cut that saves most is made, then those on its sides.

    `least` is the number of tokens of padding that a cut has to save.

    >>> blocks_by_length([10] * 60 + [90] * 40, least=100), blocks_by_length([10, 90], least=100)
    ([60, 40], [2])
    """
    saved = [place * (lengths[-1] - before) for place, before in enumerate(lengths[:-1], start=1)]
    cut = max(range(len(saved)), key=saved.__getitem__, default=0) + 1
    if not saved or saved[cut - 1] < least:
        return [len(lengths)]
    return [*blocks_by_length(lengths[:cut], least), *blocks_by_length(lengths[cut:], least)]


def blocks_of(lengths: Int[Tensor, " text"]) -> tuple[Int[Tensor, " text"], list[int], list[int]]:
    """An order of texts of these lengths, the sizes of the blocks into which it is cut, and the longest text of each block in tokens."""
    lengths, order = lengths.sort(stable=True)
    least = max(SAVED.get(lengths.device.type, SAVED["cuda"]), int(SHARE_SAVED * len(lengths) * int(lengths[-1])))
    sizes = blocks_by_length(lengths.tolist(), least)
    return order, sizes, [max(1, int(block[-1])) for block in lengths.split(sizes)]


def _by_length(encode: Callable[[Tensor], Text], tokens: Int[Tensor, "text length"]) -> Text:
    order, sizes, longest = blocks_of(token_mask(tokens).sum(dim=1))
    if len(sizes) == 1:
        return encode(tokens)
    encoded = concatenated([encode(tokens[rows, :length]) for rows, length in zip(order.split(sizes), longest, strict=True)])
    places = order.argsort()
    return {name: tensor[places] for name, tensor in encoded.items()}
