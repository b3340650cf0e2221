"""The four word-overlap features that TrecQA's models put before their dense layers (Severyn & Moschitti 2015, §4.3)."""

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from qaexp.data.corpus import RankingCorpus
from qaexp.masking import token_mask
from qaexp.types import PADDING


class WordOverlapFeatures(nn.Module):
    """Shared distinct words, counted and weighed by idf, over all words and over those that are no stop words.

        f = Σ_{w ∈ q ∩ a} weight(w) / (|q| + |a|),  |t| the tokens of a text

    with weight 1 or idf(w) = log(N / df(w)), N the texts of the corpus. Severyn & Moschitti 2015, §4.3: "word overlap and IDF-weighted
    word overlap computed between all words and only non-stop words".

    Reading: the paper names no divisor; the two lengths together keep long candidates from winning by length. Stop words are gensim's list
    and every token without a letter or digit.
    """

    num_features = 4

    def __init__(self, num_words: int) -> None:
        super().__init__()
        self.idf: Tensor
        self.content: Tensor
        self.register_buffer("idf", torch.ones(num_words))
        self.register_buffer("content", torch.ones(num_words))

    def count_words(self, corpus: RankingCorpus) -> None:
        """Document frequencies over the distinct texts of a corpus."""
        from gensim.parsing.preprocessing import STOPWORDS  # most of a second to import

        texts = np.repeat(np.arange(len(corpus.texts)), np.diff(corpus.texts.offsets))
        distinct = np.unique(texts * np.int64(len(corpus.vocabulary)) + corpus.texts.ids) % len(corpus.vocabulary)
        frequency = np.bincount(distinct, minlength=len(corpus.vocabulary)).clip(min=1)
        self.idf.copy_(torch.from_numpy(np.log(len(corpus.texts) / frequency)))
        words = corpus.vocabulary.words
        self.content.copy_(torch.tensor([any(map(str.isalnum, word)) and word.lower() not in STOPWORDS for word in words]))

    def forward(
        self, question: Int[Tensor, "pair question_length"], candidate: Int[Tensor, "pair candidate_length"]
    ) -> Float[Tensor, "pair 4"]:
        ordered = question.sort(dim=1).values
        first = ordered.diff(dim=1, prepend=ordered.new_full((len(ordered), 1), -1)) != 0  # a word repeated counts once
        shared = (ordered[:, :, None] == candidate[:, None, :]).any(dim=2) & first & (ordered != PADDING)  # (pair, question_length)
        idf, content = self.idf[ordered], self.content[ordered]
        weights = torch.stack([torch.ones_like(idf), idf, content, idf * content], dim=-1)  # (pair, question_length, 4)
        lengths = token_mask(question).sum(dim=1) + token_mask(candidate).sum(dim=1)
        return (weights * shared.unsqueeze(-1)).sum(dim=1) / lengths.clamp(min=1).unsqueeze(1)
