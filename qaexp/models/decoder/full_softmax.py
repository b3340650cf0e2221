"""Softmax over every word of the vocabulary."""

from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from qaexp.models.decoder.word_output import WordOutput


class FullSoftmax(WordOutput):
    """log P(w | h) = v_w·h + b_w − log Σ_u exp(v_u·h + b_u)."""

    def __init__(self, input_dim: int, uses: Int[Tensor, " word"]) -> None:
        super().__init__()
        self.linear = nn.Linear(input_dim, len(uses))

    def forward(self, states: Float[Tensor, "token dim"], words: Int[Tensor, " token"]) -> Float[Tensor, " token"]:
        return -F.cross_entropy(self.linear(states).float(), words, reduction="none")
