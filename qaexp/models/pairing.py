"""Scoring pairs: in blocks whose texts are of similar lengths, so that what comes after the cut sees little padding."""

from collections.abc import Callable

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from qaexp.models.types import Text, gather_texts, longest_text

SAVED = {"cpu": 2**14, "cuda": 2**20}
"""Cells of padding, each a question's word beside a candidate's, that one more block has to save on each kind of device, where little is
done for a cell.
"""

MOST_TOKENS = {"cpu": 2**13, "cuda": 2**15}
"""Tokens of either side, padding included, that are best gathered at once on each kind of device where no gradients are wanted."""

SHARE_SAVED = 0.05
"""One more block has to save this share of all cells as well."""


def score_pairs(
    score: Callable[[Text, Text], Tensor],
    questions: Text,
    candidates: Text,
    pair_question: Int[Tensor, " pair"],
    pair_candidate: Int[Tensor, " pair"],
    work_per_cell: int,
    most_tokens: int | None = None,
) -> Float[Tensor, "pair *class"]:
    """The scores of pairs of encoded texts, in order.

    `most_tokens` bounds the tokens (padding included) of either side that are gathered at once.
    """
    places, scores = list[Tensor](), list[Tensor]()
    for block, *lengths in _blocks(questions, candidates, pair_question, pair_candidate, work_per_cell):
        size = max(1, len(block) if most_tokens is None else most_tokens // max(lengths))
        for part in block.split(size):
            texts = zip((questions, candidates), (pair_question, pair_candidate), lengths, strict=True)
            scores.append(score(*(gather_texts(side, rows[part], length) for side, rows, length in texts)))
            places.append(part)
    return scores[0] if len(scores) == 1 else torch.cat(scores)[torch.cat(places).argsort()]


def _blocks(
    questions: Text, candidates: Text, pair_question: Int[Tensor, " pair"], pair_candidate: Int[Tensor, " pair"], work_per_cell: int
) -> list[tuple[Tensor, int, int]]:
    """Pairs in blocks, and the longest question and the longest candidate of each."""
    device, longest = pair_question.device, (longest_text(questions), longest_text(candidates))
    cells = len(pair_question) * longest[0] * longest[1]
    least = max(SAVED.get(device.type, SAVED["cuda"]) // work_per_cell, int(SHARE_SAVED * cells))
    if cells <= least:
        return [(torch.arange(len(pair_question), device=device), *longest)]
    lengths = np.stack([_lengths(questions)[pair_question.cpu()], _lengths(candidates)[pair_candidate.cpu()]])
    blocks = blocks_of_pairs(lengths, least)
    return [(torch.from_numpy(block).to(device), *lengths[:, block].max(axis=1).tolist()) for block in blocks]


def _lengths(texts: Text) -> Int[np.ndarray, " text"]:
    """Of each text up to its last word, and at least 1."""
    if "mask" not in texts:
        return np.ones(len(next(iter(texts.values()))), dtype=np.int64)
    places = torch.arange(1, texts["mask"].shape[1] + 1, device=texts["mask"].device)
    return (texts["mask"] * places).amax(dim=1).clamp(min=1).cpu().numpy()


def blocks_of_pairs(lengths: Int[np.ndarray, "2 pair"], least: int) -> list[Int[np.ndarray, " block_pair"]]:
    """Pairs by the lengths of their two texts, in blocks: the cut that saves most is made, by either length, then those in its two parts.

    `least` is the number of cells of padding that a cut has to save.

    >>> [block.tolist() for block in blocks_of_pairs(np.array([[9, 2, 9, 2], [5, 5, 5, 5]]), least=1)]
    [[1, 3], [0, 2]]
    """
    saved, order, place = max((_best_cut(lengths, order) for order in lengths.argsort(axis=1, kind="stable")), key=lambda cut: cut[0])
    if saved < least:
        return [np.arange(lengths.shape[1])]
    return [part[block] for part in (order[:place], order[place:]) for block in blocks_of_pairs(lengths[:, part], least)]


def _best_cut(lengths: Int[np.ndarray, "2 pair"], order: Int[np.ndarray, " pair"]) -> tuple[int, Int[np.ndarray, " pair"], int]:
    """The cells that the best cut of pairs in this order saves, the order, and the place of the cut."""
    lengths = lengths[:, order]
    before = np.maximum.accumulate(lengths, axis=1).prod(axis=0)  # cells of each pair, if the first block ended with it
    after = np.maximum.accumulate(lengths[:, ::-1], axis=1)[:, ::-1].prod(axis=0)  # if the second block began with it
    sizes = np.arange(1, len(order) + 1)  # of the first block; the last one leaves no second block, and saves nothing
    saved = len(order) * before[-1] - sizes * before - (len(order) - sizes) * np.append(after[1:], 0)
    place = int(saved.argmax())
    return int(saved[place]), order, place + 1
