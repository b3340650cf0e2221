"""Texts as bags of n-grams, and what two bags share; no word has a vector here."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from qaexp.data.batching import blocks_within
from qaexp.data.corpus import RankingCorpus
from qaexp.data.vocabulary import PADDING, UNKNOWN
from qaexp.errors import ConfigError

CHUNK_TOKENS = 1 << 18
"""Tokens, padding included, whose n-grams are counted at once."""

LARGEST_KEY = 2**63 - 1


def ngrams(
    tokens: Int[Tensor, "text *field length"], orders: range, num_words: int, content: Bool[Tensor, " word"] | None = None
) -> Int[Tensor, "text ngram"]:
    """Each n-gram of a text as one number below 0, Σ −w_i · num_words^(n − i); 0 where there is none.

    N-grams stay within a field. One that holds an unknown word is none: unknown words may differ from each other. Words that are no
    `content` are taken out before n-grams are formed, as scikit-learn takes stop words out.

    >>> ngrams(torch.tensor([[7, 8, 0]]), range(1, 3), num_words=10).tolist()
    [[-7, -8, 0, -78, 0, 0]]

    Raises:
        ConfigError: that many words have no numbers for n-grams this long, or they are of no word.
    """
    if not orders or orders[0] < 1:
        raise ConfigError("n-grams have at least 1 word: set order or max_order of the model to 1 or more")
    if num_words ** orders[-1] > LARGEST_KEY:
        raise ConfigError(
            f"n-grams of {orders[-1]} words out of {num_words} have no number of 64 bits; set order or max_order of the model to less"
        )
    fields = tokens if tokens.ndim == 3 else tokens.unsqueeze(1)  # (text, field, length)
    if content is not None:
        keep = content[fields]
        order = (~keep).to(torch.int8).argsort(dim=2, stable=True)
        fields = fields.where(keep, PADDING).gather(2, order)
    keys = []
    for n in orders:
        windows = F.pad(fields, (0, n - 1)).unfold(2, n, 1)  # (text, field, length, n)
        key = windows[..., 0]
        for i in range(1, n):
            key = key * num_words + windows[..., i]
        keys.append(torch.where((windows > UNKNOWN).all(dim=3), -key, 0).flatten(1))
    return torch.cat(keys, dim=1)


def bag(keys: Int[Tensor, "text ngram"]) -> tuple[Int[Tensor, "text ngram"], Float[Tensor, "text ngram"]]:
    """The different n-grams of each text, ascending, and how often it has each; zeros after the last.

    >>> keys, counts = bag(torch.tensor([[-7, -8, 0, -7]]))
    >>> keys.tolist(), counts.tolist()
    ([[-8, -7, 0, 0]], [[1.0, 2.0, 0.0, 0.0]])
    """
    ordered = keys.sort(dim=1).values
    place = (ordered.diff(dim=1) != 0).cumsum(dim=1)
    place = F.pad(place, (1, 0))  # of each n-gram among the different ones
    different = torch.zeros_like(ordered).scatter_(1, place, ordered)
    counts = torch.zeros(keys.shape, device=keys.device).scatter_add_(1, place, (ordered < 0).float())
    return different, counts


def found(
    keys: Int[Tensor, "pair some"], among: Int[Tensor, "pair others"], weights: Float[Tensor, "pair others"]
) -> Float[Tensor, "pair some"]:
    """The weight of each n-gram of one text in the other's bag; 0 where that does not have it."""
    places = torch.searchsorted(among.contiguous(), keys.contiguous()).clamp(max=among.shape[1] - 1)
    there = (among.gather(1, places) == keys) & (keys < 0)
    return weights.gather(1, places) * there


class NgramTable(nn.Module):
    """In how many texts of a collection each n-gram occurs. Its size is that of the collection, or of the checkpoint it is loaded from."""

    def __init__(self) -> None:
        super().__init__()
        self.keys: Tensor
        self.frequency: Tensor
        self.num_texts: Tensor
        self.register_buffer("keys", torch.empty(0, dtype=torch.int64))
        self.register_buffer("frequency", torch.empty(0))
        self.register_buffer("num_texts", torch.zeros(()))

    def count(self, corpus: RankingCorpus, orders: range, num_words: int, content: Bool[Tensor, " word"] | None) -> None:
        """Count over the collection of a corpus."""
        keys, frequency = np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
        texts = collection(corpus)
        parts = list[tuple[np.ndarray, np.ndarray]]()
        for tokens in padded_chunks(corpus, texts):
            different, _ = bag(ngrams(tokens, orders, num_words, content))
            parts.append(np.unique(different[different < 0].numpy(), return_counts=True))
        if parts:
            keys, rows = np.unique(np.concatenate([part for part, _ in parts]), return_inverse=True)
            frequency = np.bincount(rows, weights=np.concatenate([counts for _, counts in parts]))
        self.keys, self.frequency = torch.from_numpy(keys), torch.from_numpy(frequency.astype(np.float32))
        self.num_texts.fill_(len(texts))

    def forward(self, keys: Int[Tensor, "text ngram"]) -> Float[Tensor, "text ngram"]:
        """Texts of the collection that hold each n-gram."""
        if not len(self.keys):
            return torch.zeros(keys.shape, device=keys.device)
        places = torch.searchsorted(self.keys, keys.contiguous()).clamp(max=len(self.keys) - 1)
        return self.frequency[places] * (self.keys[places] == keys)

    def _load_from_state_dict(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, state_dict: dict[str, Tensor], prefix: str, *args: Any
    ) -> None:
        for name, buffer in dict(self.named_buffers(recurse=False)).items():
            if (saved := state_dict.get(prefix + name)) is not None:
                setattr(self, name, buffer.new_empty(saved.shape))
        super()._load_from_state_dict(state_dict, prefix, *args)


def collection(corpus: RankingCorpus) -> Int[np.ndarray, " text"]:
    """The distinct texts that are ranked or that negatives are drawn from: what a search engine would have indexed.

    Reading: the candidates of every split, as an engine indexes all that it ranks; it sees no label.
    """
    return np.unique(np.concatenate([corpus.answer_set, *(split.candidates for split in corpus.splits.values())]))


def padded_chunks(corpus: RankingCorpus, texts: Int[np.ndarray, " text"]) -> Iterator[Int[Tensor, "text *field length"]]:
    """Whole texts, by ascending length, CHUNK_TOKENS at a time."""
    lengths = corpus.texts.lengths(texts).clip(min=1) * corpus.texts.num_fields
    order = np.argsort(lengths, kind="stable")
    for block in blocks_within(lengths[order], CHUNK_TOKENS):
        yield torch.from_numpy(corpus.texts.padded(texts[order[block]]))
