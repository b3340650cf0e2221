"""Word embedding: a table that starts from given vectors, frozen or tuned, with dropout."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from qaexp.data.batch import token_mask
from qaexp.data.corpus import RankingCorpus
from qaexp.data.vocabulary import PADDING
from qaexp.errors import ConfigError
from qaexp.limits import PositiveInt, Rate
from qaexp.models.stage import Embedding
from qaexp.models.types import Text


def is_word_vector(parameter: str) -> bool:
    """Whether the parameter with this name holds word vectors. It does if its module is called `words`, also in a model of your own.

    >>> [is_word_vector(name) for name in ("scorer.embedding.words.weight", "words.weight", "encoder.weight")]
    [True, True, False]
    """
    return "words" in parameter.split(".")[:-1]


class WordTable(nn.Module):
    """A vector for each word. In a tuned table, the parameter `weight` holds the vectors of all words, or of those that `learn_only` names.

    The other words' vectors stay constant. A checkpoint has one table of all words, `weight`, in the order of the vocabulary.
    """

    def __init__(self, vectors: Float[Tensor, "word dim"], tuned: bool) -> None:
        super().__init__()
        self.weight = nn.Parameter(vectors.clone(), requires_grad=tuned)
        self.constant: nn.Parameter | None = None  # no buffer: DDP sends buffers to all processes at every step
        self.place: Tensor | None
        self.register_buffer("place", None, persistent=False)

    def learn_only(self, words: Int[Tensor, " word"]) -> None:
        """Keep the vectors of all other words constant. Called once, before training; padding is always in `weight`.

        Without weight decay on word vectors this changes no result: words that training never reads get no gradient.
        """
        if not self.weight.requires_grad:
            return
        learned = torch.zeros(len(self.weight), dtype=torch.bool, device=self.weight.device)
        learned[PADDING] = learned[words] = True
        self.place = torch.where(learned, learned.cumsum(0) - 1, learned.sum() + (~learned).cumsum(0) - 1)
        vectors = self.weight.detach()
        self.weight, self.constant = nn.Parameter(vectors[learned]), nn.Parameter(vectors[~learned], requires_grad=False)

    def add_words(self, words: Sequence[str], vectors: Float[Tensor, "word dim"]) -> None:
        """Append the vectors of words. They are not trained."""
        self.weight = nn.Parameter(torch.cat([self.weight.detach(), vectors.to(self.weight)]), requires_grad=False)

    def forward(self, words: Int[Tensor, "*shape"]) -> Float[Tensor, "*shape dim"]:
        if self.place is None or self.constant is None:
            return F.embedding(words, self.weight, PADDING)
        places, num_learned = self.place[words], len(self.weight)
        vectors = F.embedding(places.clamp(max=num_learned - 1), self.weight, PADDING)
        if (is_constant := places >= num_learned).any():
            vectors[is_constant] = self.constant[places[is_constant] - num_learned]
        return vectors

    def _save_to_state_dict(self, destination: dict[str, Any], prefix: str, keep_vars: bool) -> None:
        weight = self.weight if keep_vars else self.weight.detach()
        if self.place is not None and self.constant is not None:
            weight = torch.cat([weight, self.constant if keep_vars else self.constant.detach()])[self.place]
        destination[f"{prefix}weight"] = weight

    def _load_from_state_dict(self, state_dict: dict[str, Any], prefix: str, *others: Any, **named: Any) -> None:
        name = f"{prefix}weight"
        if self.place is not None and self.constant is not None and name in state_dict and len(state_dict[name]) == len(self.place):
            by_place = state_dict[name][self.place.argsort()]
            split = {name: by_place[: len(self.weight)], f"{prefix}constant": by_place[len(self.weight) :]}
            state_dict = {**state_dict, **split}
        super()._load_from_state_dict(state_dict, prefix, *others, **named)


class WordEmbedding(Embedding):
    """x = dropout(table[word]).

    With a `project_dim`, x = dropout(W·table[word] + b), and with `squash` too, x = dropout(tanh(W·table[word] + b)).

    Xu et al. 2019, §4.2: "fixed during training, which are learned by a projection layer instead", as Tay et al. 2018 have it. The layer of
    tanh is the one that questions and answers share before the convolution in Feng et al. 2015, architecture II.

    Reading: dropout "performed on the word embeddings" (§4.2) applies to the output of the projection, if there is one.

    The padding row is zero and stays so.

    Raises:
        ConfigError: `squash` is set without a `project_dim`.
    """

    def __init__(
        self,
        vectors: Float[Tensor, "word dim"],
        tuned: bool,
        project_dim: PositiveInt | None,
        dropout_rate: Rate,
        squash: bool = False,
    ) -> None:
        super().__init__()
        if squash and project_dim is None:
            raise ConfigError("model.embedding.squash=true needs a projection layer; set model.embedding.project_dim too")
        self.words = WordTable(vectors, tuned)
        self.squash = squash
        self.projection = nn.Identity() if project_dim is None else nn.Linear(vectors.shape[1], project_dim)
        self.dropout = nn.Dropout(dropout_rate)
        self.output_dim = project_dim or vectors.shape[1]
        self._looked_up: tuple[Tensor, Tensor] | None = None  # words in ascending order, their vectors

    def forward(self, text: Text) -> Text:
        states = self.projection(self._vectors(text["tokens"]))
        return {"mask": text["mask"], "states": self.dropout(states.tanh() if self.squash else states)}

    def of(self, tokens: Int[Tensor, "text length"]) -> Text:
        """A text with `mask` and `states`."""
        return self({"tokens": tokens, "mask": token_mask(tokens)})

    @contextmanager
    def batch_context(self, *tokens: Int[Tensor, "..."]) -> Iterator[None]:
        """Inside this context, only texts of these words may be encoded, and the table is read once.

        The gradient of a tuned table is as large as the table, even if few words are looked up. So it is computed once, not once per block
        of texts. The vectors are the same.
        """
        if self.words.weight.requires_grad and torch.is_grad_enabled():
            words = torch.cat([tokens[0].new_tensor([PADDING]), *(side.flatten() for side in tokens)]).unique()
            self._looked_up = words, self.words(words)
        try:
            yield
        finally:
            self._looked_up = None

    def _vectors(self, tokens: Int[Tensor, "text *field length"]) -> Float[Tensor, "text *field length dim"]:
        if self._looked_up is None:
            return self.words(tokens)
        words, vectors = self._looked_up
        return F.embedding(torch.searchsorted(words, tokens.contiguous()), vectors)


class IDFWeightedEmbedding(WordEmbedding):
    """x = dropout(idf(word) · table[word]), idf(w) = 1 + ln((1 + N) / (1 + n(w))), where n(w) of the N distinct texts of the data set
    contain w.

    The release of Lei et al. 2016 weights words in this way, with the smoothed idf of scikit-learn's TfidfVectorizer; their paper does not
    mention it. Words that are met after training have n(w) = 0.
    """

    def __init__(self, vectors: Float[Tensor, "word dim"], **settings: Any) -> None:
        super().__init__(vectors, **settings)
        self.idf: Tensor
        self.register_buffer("idf", torch.ones(len(vectors)))

    def fit(self, corpus: RankingCorpus, examples: object) -> None:
        """Count the texts of the data."""
        self.idf.copy_(1 + torch.from_numpy(np.log((1 + len(corpus.texts)) / (1 + corpus.document_frequencies()))))

    def add_words(self, words: Sequence[str], vectors: Float[Tensor, "word dim"]) -> None:
        """Give the largest idf to words that no text of the data set contains."""
        self.idf = torch.cat([self.idf, self.idf.max().repeat(len(words))])

    def _vectors(self, tokens: Int[Tensor, "text *field length"]) -> Float[Tensor, "text *field length dim"]:
        return super()._vectors(tokens) * self.idf[tokens].unsqueeze(-1)
