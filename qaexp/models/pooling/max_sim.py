"""Late interaction: each word of the question takes the nearest word of the candidate."""

from typing import ClassVar

from torch.nn import functional as F

from qaexp.models.intermediates import show
from qaexp.models.masking import zero_padding
from qaexp.models.stage import Stage
from qaexp.models.types import Text


class MaxSim(Stage):
    """s = Σ_i max_j cos(q_i, a_j), over real tokens, with model/similarity=cosine (Khattab & Zaharia 2020, ColBERT, eq. 3).

    Each word of the question is a hop: its own state, beside the state of the candidate's nearest word. The scorer sums the similarity
    over the hops that are words.

    Departs: without ColBERT's projection to 128 numbers, and without its masks in place of a short question's padding.

    Shows `alignment` (pair, M, L): the cosines.
    """

    pairwise: ClassVar[bool] = True

    def __init__(self, input_dim: int) -> None:
        super().__init__()
        self.output_dim = input_dim

    def once_per_text(self, side: str, text: Text) -> Text:
        """States of length 1, and 0 on padding."""
        return {"mask": text["mask"], "states": zero_padding(F.normalize(text["states"], dim=2), text["mask"])}

    def forward(self, question: Text, candidate: Text) -> tuple[Text, Text]:
        Q, A = question["states"], candidate["states"]  # (pair, M, dim), (pair, L, dim)
        cosines = Q @ A.transpose(1, 2)  # (pair, M, L)
        show("alignment", cosines)
        nearest = cosines.masked_fill(~candidate["mask"].unsqueeze(1), -2.0).argmax(dim=2)  # (pair, M)
        return {"vector": Q, "mask": question["mask"]}, {"vector": A.gather(1, nearest.unsqueeze(2).expand(-1, -1, A.shape[2]))}
