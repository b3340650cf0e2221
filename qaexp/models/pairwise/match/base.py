"""How two words, or two segments of text, are held against each other: what fills the grid of a model that matches word against word."""

from jaxtyping import Float
from torch import Tensor, nn

from qaexp.models.types import Text


class Match(nn.Module):
    """A grid of values for each pair of texts, `num_slices` of them wherever two words meet.

    What needs one text alone is done by `begin_question` and `begin_candidate`, once for each text; both keep `mask`, and axis 1 of all
    that they add counts words. What the grid holds where either word is padding is read by nobody.
    """

    num_slices: int

    def begin_question(self, text: Text) -> Text:
        """What a question brings to its pairs."""
        return text

    def begin_candidate(self, text: Text) -> Text:
        """What a candidate brings to its pairs."""
        return text

    def forward(self, question: Text, candidate: Text) -> Float[Tensor, "pair slice question_length candidate_length"]:
        raise NotImplementedError
