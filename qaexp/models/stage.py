"""What the slots of a chain have in common."""

from typing import ClassVar

from torch import nn

from qaexp.types import Text


class Stage(nn.Module):
    """A slot's module: `forward` maps one text, or both where `pairwise` is True.

    `output_dim` is the width that the right neighbour is built with. The first pairwise stage is the cut: what precedes
    it runs once for each distinct text, the rest once for each pair.
    """

    pairwise: ClassVar[bool] = False
    output_dim: int
    backward_dim: int = 0
    """How many of the last dimensions of the states were read from a text's end to its beginning; a pooling is told its encoder's."""


class Encoder(Stage):
    """A stage in two halves, between which an interaction may step in.

    An encoder with a natural joint (a residual block, a convolution before a recurrence) splits its work there, so that
    an interaction at the joint still leaves the first half to be done once for each text.
    """

    joint: ClassVar[str | None] = None
    """What stands between the halves; an interaction that steps in names the same."""

    def begin(self, text: Text) -> Text:
        """The half before the joint."""
        return text

    def finish(self, text: Text) -> Text:
        """The half after the joint."""
        raise NotImplementedError

    def forward(self, text: Text) -> Text:
        return self.finish(self.begin(text))
