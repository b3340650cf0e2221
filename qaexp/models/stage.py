"""The base classes of the slots, the stages that do nothing (`Words`, `NoInteraction`), and checks of a slot's module.

What a stage needs of its neighbour travels in `Text`: a pooling reads `last` of an encoder, an interaction what stands between the
encoder's halves.
"""

from typing import ClassVar, TypeVar

from jaxtyping import Float, Int
from torch import Tensor, nn

from qaexp.data.tokenise import TextReader
from qaexp.errors import ConfigError
from qaexp.models.types import Text

Part = TypeVar("Part", bound=nn.Module)


class Stage(nn.Module):
    """A slot's module: `forward` maps one text, or both where `pairwise` is True.

    `output_dim` is the width that the next slot is built with. The first pairwise stage is the cut: what precedes it runs once for each
    distinct text, the rest once for each pair.
    """

    pairwise: ClassVar[bool] = False
    output_dim: int
    pretrained: tuple[str, ...] = ()
    """The pretrained weights that it is built from, by the names that `model.*.weights` gives."""

    def once_per_text(self, side: str, text: Text) -> Text:
        """The part of a pairwise stage's work that depends on one text alone; `side` is `question` or `candidate`.

        `forward` then takes both texts as this returns them. Before the cut it runs once for each text.
        """
        return text


class Embedding(Stage):
    """The first stage: from ids to what the encoder reads."""

    reads_vectors: bool = True
    """Whether it looks at word vectors; see `AnswerScorer.reads_vectors`."""
    subwords: TextReader | None = None
    """The reader that replaces the data set's tokeniser, if the ids are not those of words."""

    def of(self, tokens: Int[Tensor, "text length"]) -> Text:
        """A text with a `mask`, and with what the encoder reads, from ids; every id except padding is real."""
        raise NotImplementedError


class Encoder(Stage):
    """A stage in two halves, between which an interaction may step in.

    An encoder with a natural joint (a residual block, a convolution before a recurrence) splits its work there: `begin` returns what
    stands at the joint under a name of its own, and only `finish` has to run once for each pair. Others do all their work in `finish`.

    An encoder returns `last` beside `states` if its last state has read the whole text, and `first` if its first state has.
    """

    skips_padding: ClassVar[bool] = False
    """Whether padding costs nothing, because texts are packed: then all texts are encoded at once, not in blocks of similar length.

    A class attribute, since it is a fact about the class that only `Scorer` reads, before it encodes any text.
    """

    def begin(self, text: Text) -> Text:
        """The half before the joint."""
        return text

    def finish(self, text: Text) -> Text:
        """The half after the joint."""
        raise NotImplementedError

    def forward(self, text: Text) -> Text:
        return self.finish(self.begin(text))


class Words(Encoder):
    """No encoder: the states are the word vectors, h_t = x_t, as in a bag of words."""

    def __init__(self, input_dim: int) -> None:
        super().__init__()
        self.output_dim = input_dim

    def finish(self, text: Text) -> Text:
        return text


class Interaction(Stage):
    """Where two texts first meet before pooling. If it is `pairwise`, `forward` maps (question, candidate) to (question, candidate).

    An interaction inside the candidate's encoder sets `candidate_joint` to the key that it reads there. Any other interaction inside an
    encoder overrides `encode`, to stop at the first half. It also overrides `finish`, to run the second half, unless `forward` does that.
    """

    candidate_joint: ClassVar[str] = ""

    def encode(self, side: str, encoder: Encoder, words: Text) -> Text:
        """What is known of one text before the two meet: all that the encoder returns, or its first half if they meet inside it."""
        if self.candidate_joint and side == "candidate":
            return self.first_half(encoder, words, self.candidate_joint)
        return require_key("states", encoder(words), encoder, "encoder")

    def finish(self, side: str, encoder: Encoder, text: Text) -> Text:
        """If the two texts met inside the encoder, runs its second half. Otherwise returns the text unchanged."""
        return encoder.finish(text) if self.candidate_joint and side == "candidate" else text

    def first_half(self, encoder: Encoder, words: Text, key: str) -> Text:
        """The encoder's work up to its joint, where the interaction reads `key`.

        Raises:
            ConfigError: the encoder has no such joint.
        """
        text = encoder.begin(words)
        if key not in text:
            raise ConfigError(
                f"model/interaction={type(self).__name__} steps in inside the encoder and reads {key} there; "
                f"{type(encoder).__name__} has {', '.join(text)}; choose another encoder, or interaction=none"
            )
        return text


class NoInteraction(Interaction):
    """Leaves every text as it is: the two meet in the pooling or the similarity."""

    def __init__(self, input_dim: int) -> None:
        super().__init__()
        self.output_dim = input_dim

    def forward(self, text: Text) -> Text:
        return text


class Similarity(nn.Module):
    """Maps two vectors to a raw score, or to one for each class. Softmax belongs to the loss."""

    reads_overlap: bool = False
    """Whether `forward` takes the pair's word-overlap features as a third argument.

    The scorer computes them from word ids, which a similarity never sees, so it reads this attribute.
    """
    bounded: bool = False
    """Whether scores stay within a small range; see `AnswerScorer.bounded`."""

    def forward(self, question: Float[Tensor, "pair dim"], candidate: Float[Tensor, "pair dim"]) -> Float[Tensor, "pair *class"]:
        raise NotImplementedError


def require_kind(part: object, kind: type[Part], slot: str) -> Part:
    """The module of a slot, checked to be of the slot's kind.

    Raises:
        ConfigError: it is of another kind, or sets no width for the next slot.
    """
    if not isinstance(part, kind):
        raise ConfigError(
            f"model/{slot}={type(part).__name__} is not of the class {kind.__name__}: derive it from {kind.__module__}.{kind.__name__}"
        )
    if isinstance(part, Stage) and not hasattr(part, "output_dim"):
        raise ConfigError(f"model/{slot}={type(part).__name__} sets no output_dim, the width that the next slot is built with")
    return part


def require_key(key: str, text: object, part: nn.Module, slot: str) -> Text:
    """A text as the module of a slot returned it, checked to hold what is read next.

    Raises:
        ConfigError: `key` is missing.
    """
    if not isinstance(text, dict) or key not in text:
        found = ", ".join(text) if isinstance(text, dict) else f"a {type(text).__name__}"
        raise ConfigError(f"model/{slot}={type(part).__name__} gives {found} and no {key}, which is read next; give {{'{key}': ...}}")
    return text
