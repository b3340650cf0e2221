"""Encodes texts and scores pairs in blocks of similar length, so that little padding is computed.

Texts with fields (title and body) are encoded field by field.
"""

from collections.abc import Callable, Sequence

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from qaexp.data.batch import token_mask
from qaexp.errors import ConfigError
from qaexp.models.types import Text, concatenate_texts, gather_texts, has_tokens, padded_length

TOKENS_PER_BLOCK = {"cpu": 48, "cuda": 8192}
"""A further block of texts must save this many tokens of padding: about what a block costs by itself on each kind of device."""

SHARE_OF_TOKENS = 0.02
"""It must also save this share of all tokens."""

CELLS_PER_BLOCK = {"cpu": 2**14, "cuda": 2**20}
"""A further block of pairs must save this many cells of padding, where a cell (a question's word beside a candidate's) is cheap."""

SHARE_OF_CELLS = 0.05
"""It must also save this share of all cells."""

MAX_TOKENS = {"cpu": 2**13, "cuda": 2**15}
"""The most tokens of either side, padding included, to gather at once when scoring without gradients."""

MAX_NUMBERS = 2**24
"""The same limit for texts that are encoded as vectors, in numbers instead of tokens."""


def encode_fields(encode: Callable[[Tensor], Text], tokens: Int[Tensor, "text *field length"]) -> Text:
    """The encodings of all texts, in order. A text with fields (title, body) gets the mean of the vectors of its non-empty fields.

    Lei et al. 2016, §4.1: "we apply the encoder to both the question title and body, and the final representation is computed as the
    average of the two resulting vectors".

    Raises:
        ConfigError: texts have fields, and the model keeps more than one vector per text.
    """
    if tokens.ndim == 2:
        return encode(tokens)
    fields = [encode(field) for field in tokens.unbind(dim=1)]
    if beyond := sorted({name for field in fields for name in field if name != "vector"}):
        raise ConfigError(
            f"texts with fields are averaged after pooling, and this model keeps {', '.join(beyond)} of each text for its pairs; "
            "choose a pooling like mean, max or last without interaction, or give dataset.reader.fields a single field"
        )
    vectors = torch.stack([field["vector"] for field in fields], dim=1)  # (text, field, dim)
    there = token_mask(tokens).any(dim=2, keepdim=True).to(vectors.dtype)  # (text, field, 1)
    return {"vector": (vectors * there).sum(dim=1) / there.sum(dim=1).clamp(min=1)}


def encode_by_length(encode: Callable[[Tensor], Text], tokens: Int[Tensor, "text length"]) -> Text:
    """The encodings of all texts, in order, each block of similar length encoded by itself."""
    order, sizes, longest = blocks_of(token_mask(tokens).sum(dim=1))
    if len(sizes) == 1:
        return _require_rows(encode(tokens), len(tokens), encode)
    blocks = zip(order.split(sizes), longest, strict=True)
    encoded = concatenate_texts([_require_rows(encode(tokens[rows, :length]), len(rows), encode) for rows, length in blocks])
    places = order.argsort()
    return {name: tensor[places] for name, tensor in encoded.items()}


def _require_rows(text: object, count: int, encode: Callable[..., object]) -> Text:
    """What `encode` returned, checked to be the encoding of `count` texts.

    Raises:
        ConfigError: it is not a dict of tensors, or a tensor has wrong axes.
    """
    name = getattr(encode, "__qualname__", "the encoder")
    if not isinstance(text, dict) or not text or not all(map(torch.is_tensor, text.values())):
        raise ConfigError(f"{name} returned a {type(text).__name__}: a dict of tensors is expected, such as {{'vector': (text, dim)}}")
    length = padded_length(text)
    for part, tensor in text.items():
        expected = (count, length) if has_tokens(text, part) else (count,)
        if tensor.shape[: len(expected)] != expected:
            raise ConfigError(
                f"{name} returned {part} of shape {tuple(tensor.shape)} for {count} texts: its first axes have to be {expected}, "
                f"{'text and length' if len(expected) == 2 else 'text'}"
            )
    return text


def blocks_by_length(lengths: Sequence[int], least: int) -> list[int]:
    """Sizes of the blocks into which texts, sorted by length, are cut: first at the best place, then each part again.

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
    """The texts sorted by length, the sizes of the blocks into which they are cut, and the longest text of each block in tokens."""
    lengths, order = lengths.sort(stable=True)
    least = max(TOKENS_PER_BLOCK.get(lengths.device.type, TOKENS_PER_BLOCK["cuda"]), int(SHARE_OF_TOKENS * len(lengths) * int(lengths[-1])))
    sizes = blocks_by_length(lengths.tolist(), least)
    return order, sizes, [max(1, int(block[-1])) for block in lengths.split(sizes)]


def score_pairs(
    score: Callable[[Text, Text], Tensor],
    questions: Text,
    candidates: Text,
    pair_question: Int[Tensor, " pair"],
    pair_candidate: Int[Tensor, " pair"],
    work_per_cell: int,
    max_tokens: int | None = None,
) -> Float[Tensor, "pair *class"]:
    """The scores of pairs of encoded texts, in order.

    `max_tokens` bounds the tokens (padding included) of either side that are gathered at once; MAX_NUMBERS then bounds the numbers of
    vectors.
    """
    places, scores = list[Tensor](), list[Tensor]()
    width = max(side["vector"][0].numel() if len(side.get("vector", ())) else 1 for side in (questions, candidates))
    for block, *lengths in _blocks(questions, candidates, pair_question, pair_candidate, work_per_cell):
        size = max(1, len(block) if max_tokens is None else min(max_tokens // max(lengths), MAX_NUMBERS // width))
        for part in block.split(size):
            texts = zip((questions, candidates), (pair_question, pair_candidate), lengths, strict=True)
            found = score(*(gather_texts(side, rows[part], length) for side, rows, length in texts))
            if not torch.is_tensor(found) or not found.is_floating_point() or found.ndim not in (1, 2) or len(found) != len(part):
                kind = (
                    f"a tensor of shape {tuple(found.shape)} and type {found.dtype}"
                    if torch.is_tensor(found)
                    else f"a {type(found).__name__}"
                )
                raise ConfigError(
                    f"{getattr(score, '__qualname__', 'score')} returned {kind} for {len(part)} pairs: a floating-point score for "
                    f"each, of shape ({len(part)},), is expected, or with classes one for each class"
                )
            scores.append(found)
            places.append(part)
    return scores[0] if len(scores) == 1 else torch.cat(scores)[torch.cat(places).argsort()]


def _blocks(
    questions: Text, candidates: Text, pair_question: Int[Tensor, " pair"], pair_candidate: Int[Tensor, " pair"], work_per_cell: int
) -> list[tuple[Tensor, int, int]]:
    """Blocks of pairs, with the longest question and the longest candidate of each."""
    device, longest = pair_question.device, (padded_length(questions), padded_length(candidates))
    cells = len(pair_question) * longest[0] * longest[1]
    least = max(CELLS_PER_BLOCK.get(device.type, CELLS_PER_BLOCK["cuda"]) // work_per_cell, int(SHARE_OF_CELLS * cells))
    if cells <= least:
        return [(torch.arange(len(pair_question), device=device), *longest)]
    lengths = np.stack([_lengths(questions)[pair_question.cpu().numpy()], _lengths(candidates)[pair_candidate.cpu().numpy()]])
    blocks = blocks_of_pairs(lengths, least)
    return [(torch.from_numpy(block).to(device), *lengths[:, block].max(axis=1).tolist()) for block in blocks]


def _lengths(texts: Text) -> Int[np.ndarray, " text"]:
    """The length of each text up to its last word, at least 1."""
    if "mask" not in texts:
        return np.ones(len(next(iter(texts.values()))), dtype=np.int64)
    places = torch.arange(1, texts["mask"].shape[1] + 1, device=texts["mask"].device)
    return (texts["mask"] * places).amax(dim=1).clamp(min=1).cpu().numpy()


def blocks_of_pairs(lengths: Int[np.ndarray, "2 pair"], least: int) -> list[Int[np.ndarray, " block_pair"]]:
    """Blocks of pairs of similar lengths: sorted by either side's length, cut where most padding is saved, then each part again.

    `least` is the number of cells of padding that a cut has to save.

    >>> [block.tolist() for block in blocks_of_pairs(np.array([[9, 2, 9, 2], [5, 5, 5, 5]]), least=1)]
    [[1, 3], [0, 2]]
    """
    saved, order, place = max((_best_cut(lengths, order) for order in lengths.argsort(axis=1, kind="stable")), key=lambda cut: cut[0])
    if saved < least:
        return [np.arange(lengths.shape[1])]
    return [part[block] for part in (order[:place], order[place:]) for block in blocks_of_pairs(lengths[:, part], least)]


def _best_cut(lengths: Int[np.ndarray, "2 pair"], order: Int[np.ndarray, " pair"]) -> tuple[int, Int[np.ndarray, " pair"], int]:
    """How many cells the best cut of pairs in this order saves, the order, and where the cut is."""
    lengths = lengths[:, order]
    before = np.maximum.accumulate(lengths, axis=1).prod(axis=0)  # cells of a pair, if it is the last of the first block
    after = np.maximum.accumulate(lengths[:, ::-1], axis=1)[:, ::-1].prod(axis=0)  # if it is the first of the second block
    sizes = np.arange(1, len(order) + 1)  # of the first block; a cut after the last pair saves nothing
    saved = len(order) * before[-1] - sizes * before - (len(order) - sizes) * np.append(after[1:], 0)
    place = int(saved.argmax())
    return int(saved[place]), order, place + 1
