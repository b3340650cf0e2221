"""What the slots of a chain have in common."""

from typing import ClassVar, TypeVar

from jaxtyping import Float
from torch import Tensor, nn

from qaexp.errors import ConfigError
from qaexp.models.types import Text

Part = TypeVar("Part", bound=nn.Module)


class Stage(nn.Module):
    """A slot's module: `forward` maps one text, or both where `pairwise` is True.

    `output_dim` is the width that the right neighbour is built with. The first pairwise stage is the cut: what precedes
    it runs once for each distinct text, the rest once for each pair.
    """

    pairwise: ClassVar[bool] = False
    needs_last_state: ClassVar[bool] = False
    """For a pooling: whether it takes the last state for one that has read the whole text."""
    output_dim: int
    backward_dim: int = 0
    """How many of the last dimensions of the states were read from a text's end to its beginning; a pooling is told its encoder's."""

    def prepare(self, side: str, text: Text) -> Text:
        """Of a pairwise stage's work, what depends on one text alone; `side` is `question` or `candidate`.

        `forward` then takes both texts prepared. At the cut it is done once for each text, with the stages before it.
        """
        return text


class Encoder(Stage):
    """A stage in two halves, between which an interaction may step in.

    An encoder with a natural joint (a residual block, a convolution before a recurrence) splits its work there, so that
    an interaction at the joint still leaves the first half to be done once for each text.
    """

    joint: ClassVar[str | None] = None
    """What stands between the halves; an interaction that steps in names the same."""

    skips_padding: ClassVar[bool] = False
    """Whether padding costs it nothing, as where texts are packed."""

    accumulates: ClassVar[bool] = False
    """Whether each state has read all words up to its own, so that the last one knows the text."""

    def begin(self, text: Text) -> Text:
        """The half before the joint."""
        return text

    def finish(self, text: Text) -> Text:
        """The half after the joint."""
        raise NotImplementedError

    def forward(self, text: Text) -> Text:
        return self.finish(self.begin(text))


class Interaction(Stage):
    """Where two texts first meet before pooling; a `pairwise` one maps (question, candidate) to (question, candidate)."""

    joint: ClassVar[str | None] = None
    """For an interaction inside the encoder: what stands at the joint where it steps in."""
    begun: ClassVar[tuple[str, ...]] = ()
    """The sides, of `question` and `candidate`, that it takes as their encoder has begun them; the other one is finished."""
    finishes: ClassVar[bool] = False
    """Whether it does the encoder's second half itself."""


class Similarity(nn.Module):
    """Two vectors to a raw score, or one for each class. Softmax belongs to the loss."""

    reads_overlap: bool = False
    """Whether `forward` takes the pair's word-overlap features as a third argument."""
    bounded: bool = False
    """Whether scores stay within a range of a few units."""

    def forward(self, question: Float[Tensor, "pair dim"], candidate: Float[Tensor, "pair dim"]) -> Float[Tensor, "pair *class"]:
        raise NotImplementedError


def require_kind(part: object, kind: type[Part], slot: str) -> Part:
    """The module of a slot, if it is what stands there.

    Raises:
        ConfigError: it is of another kind, or sets no width for its right neighbour.
    """
    if not isinstance(part, kind):
        raise ConfigError(f"model/{slot}={type(part).__name__} is no {kind.__name__}: derive it from {kind.__module__}.{kind.__name__}")
    if isinstance(part, Stage) and not hasattr(part, "output_dim"):
        raise ConfigError(f"model/{slot}={type(part).__name__} sets no output_dim, the width that the next slot is built with")
    return part


def require_key(key: str, text: object, part: nn.Module, slot: str) -> Text:
    """What the module of a slot has made of a text, if what others read is in it.

    Raises:
        ConfigError: it is not.
    """
    if not isinstance(text, dict) or key not in text:
        found = ", ".join(text) if isinstance(text, dict) else f"a {type(text).__name__}"
        raise ConfigError(f"model/{slot}={type(part).__name__} gives {found} and no {key}, which is read next; give {{'{key}': ...}}")
    return text
