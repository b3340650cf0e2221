"""What turns a decoder's states into probabilities of words."""

from jaxtyping import Float, Int
from torch import Tensor, nn


class WordOutput(nn.Module):
    """log P(word | state) over the whole vocabulary.

    Id 0, which is padding everywhere else, stands for the end of the title here: no word has it. Subclasses are built with `input_dim`,
    the width of the states, and `uses`, how often each word is in the training titles (`uses[0]` counts the titles).
    """

    def forward(self, states: Float[Tensor, "token dim"], words: Int[Tensor, " token"]) -> Float[Tensor, " token"]:
        """The log probability of each word, given the state beside it."""
        raise NotImplementedError
