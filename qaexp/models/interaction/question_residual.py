"""iGGSA's interaction (Xu et al. 2019, §3.2): the question adds a residual to the answer's words."""

from typing import ClassVar

from torch import nn

from qaexp.limits import PositiveInt
from qaexp.models.encoder.self_attention import FeedForward
from qaexp.models.masking import masked_mean
from qaexp.models.stage import Interaction
from qaexp.models.types import Text


class QuestionResidual(Interaction):
    """An interaction between eq. 2 and eq. 3 of the answer's encoder.

        c^q = Σ_i h_i^q / L                                                     eq. 5, over real tokens
        R̃ = FeedForwardLayer(Y^a ⊙ c^q)
        Ỹ^a = LayerNorm(Y^a + R̃)

    The answer's encoder then goes on from Ỹ^a with its own feed-forward layer (eq. 6–7), as Figure 7(d) draws it.

    Reading: the interaction has a FeedForwardLayer of its own; Figure 7(e) draws it inside the interaction.
    """

    pairwise: ClassVar[bool] = True
    candidate_joint: ClassVar[str] = "residual"

    def __init__(self, input_dim: int, feed_forward_factor: PositiveInt) -> None:
        super().__init__()
        self.feed_forward = FeedForward(input_dim, feed_forward_factor)
        self.norm = nn.LayerNorm(input_dim)
        self.output_dim = input_dim

    def forward(self, question: Text, candidate: Text) -> tuple[Text, Text]:
        c = masked_mean(question["states"], question["mask"])  # (pair, dim)
        Y = candidate["residual"]  # (pair, length, dim)
        residual = self.feed_forward(Y * c.unsqueeze(1))
        return question, {"mask": candidate["mask"], "residual": self.norm(Y + residual)}
