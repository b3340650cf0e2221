"""The four word-overlap features that models for TrecQA add before their dense layers (Severyn & Moschitti 2015, §4.3)."""

from collections.abc import Callable, Iterable, Sequence

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from qaexp.data.batch import RankingBatch, token_mask
from qaexp.data.corpus import RankingCorpus
from qaexp.data.tokenise import TextReader
from qaexp.data.vocabulary import SPECIAL_WORDS, UNKNOWN, Vocabulary
from qaexp.errors import ConfigError
from qaexp.models.lexical.bag import content_words

SAMPLED_PAIRS, PAIRS_PER_CHUNK, MAX_TOKENS = 20_000, 500, 200
"""Mean and deviation are measured on at most this many training pairs, in chunks of this many, on texts cut to this many tokens."""


class WordOverlapFeatures(nn.Module):
    """The distinct words that two texts share, counted and weighted by idf, over all words and over all but stop words.

        f = (Σ_{w ∈ q ∩ a} weight(w) / (|q| + |a|) − μ) / σ

    |t| is the number of tokens of a text, and weight is 1 or idf(w) = log(N / df(w)), where N is the number of texts in the corpus.
    Severyn & Moschitti 2015, §4.3: "word overlap and IDF-weighted word overlap computed between all words and only non-stop words".
    Unknown words match nothing.

    Reading: the paper names no divisor; the sum of both lengths keeps long candidates from winning by length. Stop words are gensim's list
    and every token without a letter or digit.

    Reading: μ and σ are mean and deviation over the training pairs. Severyn & Moschitti's release has such a scaler (switched off).
    Unscaled, the features are a few hundredths, beside vectors of size one, and are learned too late: they did not improve the CNN + LR of
    Yu et al. 2014 on TrecQA.

    Raises:
        ConfigError: the model reads subwords.
    """

    num_features = 4

    def __init__(self, num_words: int, subwords: TextReader | None) -> None:
        super().__init__()
        if subwords:
            raise ConfigError("overlap=true counts common words, and this model reads subwords; set it to false")
        self.idf: Tensor
        self.content: Tensor
        self.mean: Tensor
        self.deviation: Tensor
        self.register_buffer("idf", torch.ones(num_words))
        self.register_buffer("content", torch.ones(num_words))
        self.register_buffer("mean", torch.zeros(self.num_features))
        self.register_buffer("deviation", torch.ones(self.num_features))

    def fit(self, corpus: RankingCorpus, examples: Callable[[int], Iterable[RankingBatch]]) -> None:
        """Count document frequencies over the distinct texts of a corpus; measure mean and deviation over its training pairs, if any.

        Raises:
            ConfigError: texts have several fields.
        """
        if corpus.texts.num_fields > 1:
            raise ConfigError(
                "word-overlap features need texts of one field: leave them out with model.similarity.overlap=false (for MV-LSTM "
                "model.overlap=false), or give dataset.reader.fields a single field"
            )
        self.idf.copy_(torch.from_numpy(np.log(len(corpus.texts) / corpus.document_frequencies().clip(min=1))))
        self.content.copy_(content_words(corpus.vocabulary))
        if "train" in corpus.splits and corpus.splits["train"].num_pairs:
            measured = self._measured(corpus)  # (pair, 4)
            self.mean.copy_(measured.mean(dim=0))
            deviation = measured.std(dim=0, correction=0)
            self.deviation.copy_(torch.where(deviation > 0, deviation, 1.0))

    def add_words(self, words: Sequence[str], vectors: Float[Tensor, "word dim"]) -> None:
        """Treat words of another data set as words that occur in one text: they get the largest idf."""
        content = content_words(Vocabulary.of_words(words))[len(SPECIAL_WORDS) :]
        self.idf = torch.cat([self.idf, self.idf.max().repeat(len(words))])
        self.content = torch.cat([self.content, content.to(self.content)])

    def forward(
        self, question: Int[Tensor, "pair question_length"], candidate: Int[Tensor, "pair candidate_length"]
    ) -> Float[Tensor, "pair 4"]:
        return (self._raw(question, candidate) - self.mean) / self.deviation

    def _measured(self, corpus: RankingCorpus) -> Float[Tensor, "pair 4"]:
        """The unscaled features of at most SAMPLED_PAIRS training pairs, evenly spread."""
        train = corpus.splits["train"]
        pairs = np.unique(np.linspace(0, train.num_pairs - 1, SAMPLED_PAIRS).astype(np.int64))
        sides = train.questions[train.pair_question[pairs]], train.candidates[pairs]
        chunks = []
        for start in range(0, len(pairs), PAIRS_PER_CHUNK):
            question, candidate = (
                torch.from_numpy(corpus.texts.padded(side[start : start + PAIRS_PER_CHUNK], MAX_TOKENS)) for side in sides
            )
            chunks.append(self._raw(question, candidate))
        return torch.cat(chunks)

    def _raw(
        self, question: Int[Tensor, "pair question_length"], candidate: Int[Tensor, "pair candidate_length"]
    ) -> Float[Tensor, "pair 4"]:
        ordered = question.sort(dim=1).values
        first = ordered.diff(dim=1, prepend=ordered.new_full((ordered.shape[0], 1), -1)) != 0  # a repeated word counts once
        shared = (ordered[:, :, None] == candidate[:, None, :]).any(dim=2) & first & (ordered > UNKNOWN)  # (pair, question_length)
        idf, content = self.idf[ordered], self.content[ordered]
        weights = torch.stack([torch.ones_like(idf), idf, content, idf * content], dim=-1)  # (pair, question_length, 4)
        lengths = token_mask(question).sum(dim=1) + token_mask(candidate).sum(dim=1)
        return (weights * shared.unsqueeze(-1)).sum(dim=1) / lengths.clamp(min=1).unsqueeze(1)
