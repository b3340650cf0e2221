"""Texts as bags of n-grams: numbers n-grams, counts them in a text or a collection, and looks up one text's n-grams in another's bag."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from qaexp.data.batching import blocks_within
from qaexp.data.corpus import RankingCorpus
from qaexp.data.vocabulary import PADDING, UNKNOWN, Vocabulary
from qaexp.errors import ConfigError

CHUNK_TOKENS = 1 << 18
"""N-grams of a collection are counted in chunks of this many tokens, padding included."""

LARGEST_KEY = 2**63 - 1


def ngrams(
    tokens: Int[Tensor, "text *field length"], orders: range, num_words: int, content: Bool[Tensor, " word"] | None = None
) -> Int[Tensor, "text ngram"]:
    """Each n-gram of a text as one number below 0, Σ −w_i · num_words^(n − i); 0 where there is none.

    N-grams stay within a field. An n-gram with an unknown word does not count, as unknown words may differ from each other. Words outside
    `content` are removed before n-grams are formed, as scikit-learn removes stop words.

    >>> ngrams(torch.tensor([[7, 8, 0]]), range(1, 3), num_words=10).tolist()
    [[-7, -8, 0, -78, 0, 0]]

    Raises:
        ConfigError: the n-grams are too long to be numbered in 64 bits.
    """
    if num_words ** orders[-1] > LARGEST_KEY:
        raise ConfigError(
            f"n-grams of {orders[-1]} words out of {num_words} cannot be numbered in 64 bits; lower order or max_order of the model"
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
    """The distinct n-grams of each text, in ascending order, and their counts; zeros after the last.

    >>> keys, counts = bag(torch.tensor([[-7, -8, 0, -7]]))
    >>> keys.tolist(), counts.tolist()
    ([[-8, -7, 0, 0]], [[1.0, 2.0, 0.0, 0.0]])
    """
    ordered = keys.sort(dim=1).values
    place = (ordered.diff(dim=1) != 0).cumsum(dim=1)
    place = F.pad(place, (1, 0))  # of each n-gram among the distinct ones
    distinct = torch.zeros_like(ordered).scatter_(1, place, ordered)
    counts = torch.zeros(keys.shape, device=keys.device).scatter_add_(1, place, (ordered < 0).float())
    return distinct, counts


def look_up(
    keys: Int[Tensor, "pair some"], among: Int[Tensor, "pair others"], weights: Float[Tensor, "pair others"]
) -> Float[Tensor, "pair some"]:
    """The weight that each n-gram of one text has in the other's bag; 0 if it is not there."""
    places = torch.searchsorted(among.contiguous(), keys.contiguous()).clamp(max=among.shape[1] - 1)
    there = (among.gather(1, places) == keys) & (keys < 0)
    return weights.gather(1, places) * there


class NgramTable(nn.Module):
    """How many texts of a collection have each n-gram. Its size comes from the collection, or from the checkpoint it is loaded from."""

    def __init__(self) -> None:
        super().__init__()
        self.keys: Tensor
        self.frequency: Tensor
        self.num_texts: Tensor
        self.register_buffer("keys", torch.empty(0, dtype=torch.int64))
        self.register_buffer("frequency", torch.empty(0))
        self.register_buffer("num_texts", torch.zeros(()))

    def count(self, corpus: RankingCorpus, orders: range, num_words: int, content: Bool[Tensor, " word"] | None) -> None:
        """Count the n-grams of the collection of a corpus."""
        keys, frequency = np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
        texts = collection(corpus)
        parts = list[tuple[np.ndarray, np.ndarray]]()
        for tokens in padded_chunks(corpus, texts):
            distinct, _ = bag(ngrams(tokens, orders, num_words, content))
            parts.append(np.unique(distinct[distinct < 0].numpy(), return_counts=True))
        if parts:
            keys, rows = np.unique(np.concatenate([part for part, _ in parts]), return_inverse=True)
            frequency = np.bincount(rows, weights=np.concatenate([counts for _, counts in parts]))
        self.keys, self.frequency = torch.from_numpy(keys), torch.from_numpy(frequency.astype(np.float32))
        self.num_texts.fill_(len(texts))

    def forward(self, keys: Int[Tensor, "text ngram"]) -> Float[Tensor, "text ngram"]:
        """How many texts of the collection have each n-gram."""
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
    """The distinct texts that a search engine would have indexed: all candidates, and all texts that negatives are drawn from.

    Reading: the candidates of every split count, as an engine indexes everything that it ranks. No label is used.
    """
    return np.unique(np.concatenate([corpus.answer_set, *(split.candidates for split in corpus.splits.values())]))


def padded_chunks(corpus: RankingCorpus, texts: Int[np.ndarray, " text"]) -> Iterator[Int[Tensor, "text *field length"]]:
    """The texts by ascending length, in chunks of about CHUNK_TOKENS tokens."""
    lengths = corpus.texts.lengths(texts).clip(min=1) * corpus.texts.num_fields
    order = np.argsort(lengths, kind="stable")
    for block in blocks_within(lengths[order], CHUNK_TOKENS):
        yield torch.from_numpy(corpus.texts.padded(texts[order[block]]))


def content_words(vocabulary: Vocabulary) -> Bool[Tensor, " word"]:
    """Whether each word is a content word: it has a letter or a digit, and is neither a stop word of gensim's list nor a placeholder
    such as TREC QA's `<num>`.

    >>> content_words(Vocabulary.of_words(["The", "soup", "?", "<num>"])).tolist()[2:]
    [False, True, False, False]
    """
    from gensim.parsing.preprocessing import STOPWORDS  # most of a second to import

    def is_content(word: str) -> bool:
        placeholder = word.startswith("<") and word.endswith(">")  # two different numbers are both <num>
        return any(map(str.isalnum, word)) and word.lower() not in STOPWORDS and not placeholder

    return torch.tensor([is_content(word) for word in vocabulary.words])
