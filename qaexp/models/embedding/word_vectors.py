"""Words to vectors: a table that starts from given vectors, frozen or tuned, with dropout."""

from jaxtyping import Float
from torch import Tensor, nn

from qaexp.models.stage import Stage
from qaexp.types import PADDING, Text


class WordEmbedding(Stage):
    """x = dropout(table[word]); with `project`, x = W·x + b behind a frozen table, as Tay et al. 2018 learn "a projection layer instead".

    The padding row is zero and stays so.
    """

    def __init__(self, vectors: Float[Tensor, "word dim"], tuned: bool, project_dim: int | None, dropout_rate: float) -> None:
        super().__init__()
        self.words = nn.Embedding.from_pretrained(vectors.clone(), freeze=not tuned, padding_idx=PADDING)
        self.projection = nn.Identity() if project_dim is None else nn.Linear(vectors.shape[1], project_dim)
        self.dropout = nn.Dropout(dropout_rate)
        self.output_dim = project_dim or vectors.shape[1]

    def forward(self, text: Text) -> Text:
        states = self.dropout(self.projection(self.words(text["tokens"])))
        return {"mask": text["mask"], "states": states}
