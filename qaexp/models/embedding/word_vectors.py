"""Word embedding: a table that starts from given vectors, frozen or tuned, with dropout."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from qaexp.data.batch import token_mask
from qaexp.data.vocabulary import PADDING
from qaexp.limits import PositiveInt, Rate
from qaexp.models.stage import Stage
from qaexp.models.types import Text


class WordEmbedding(Stage):
    """x = dropout(table[word]); with a `project_dim`, x = dropout(W·table[word] + b) behind a frozen table.

    Xu et al. 2019, §4.2: "fixed during training, which are learned by a projection layer instead", as Tay et al. 2018 have it.

    Reading: dropout "performed on the word embeddings" (§4.2) is on what the projection gives, where there is one.

    The padding row is zero and stays so.
    """

    def __init__(self, vectors: Float[Tensor, "word dim"], tuned: bool, project_dim: PositiveInt | None, dropout_rate: Rate) -> None:
        super().__init__()
        self.words = nn.Embedding.from_pretrained(vectors.clone(), freeze=not tuned, padding_idx=PADDING)
        self.projection = nn.Identity() if project_dim is None else nn.Linear(vectors.shape[1], project_dim)
        self.dropout = nn.Dropout(dropout_rate)
        self.output_dim = project_dim or vectors.shape[1]
        self._looked_up: tuple[Tensor, Tensor] | None = None  # words in ascending order, their vectors

    def forward(self, text: Text) -> Text:
        states = self.dropout(self.projection(self._vectors(text["tokens"])))
        return {"mask": text["mask"], "states": states}

    def of(self, tokens: Int[Tensor, "text length"]) -> Text:
        """A text with `mask` and `states` from word ids; every id except padding is a real word."""
        return self({"tokens": tokens, "mask": token_mask(tokens)})

    @contextmanager
    def batch_context(self, *tokens: Int[Tensor, "..."]) -> Iterator[None]:
        """Within, only texts of these words may be encoded, and the table is read once.

        A tuned table's gradient is as large as the table, however few words are looked up. So it is made once, not for each block of texts.
        The vectors are the same.
        """
        if self.words.weight.requires_grad and torch.is_grad_enabled():
            words = torch.cat([tokens[0].new_tensor([PADDING]), *(side.flatten() for side in tokens)]).unique()
            self._looked_up = words, self.words(words)
        try:
            yield
        finally:
            self._looked_up = None

    def _vectors(self, tokens: Int[Tensor, "text *length"]) -> Float[Tensor, "text *length dim"]:
        if self._looked_up is None:
            return self.words(tokens)
        words, vectors = self._looked_up
        return F.embedding(torch.searchsorted(words, tokens.contiguous()), vectors)
