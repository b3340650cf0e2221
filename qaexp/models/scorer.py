"""The contract every model keeps, and the chain of slots that most models are."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import ClassVar

from jaxtyping import Float, Int
from torch import Tensor, nn

from qaexp.errors import ConfigError
from qaexp.masking import token_mask
from qaexp.models.stage import Encoder, Stage
from qaexp.types import RankingBatch, Text, gather_texts


class AnswerScorer(nn.Module, ABC):
    """Scores pairs in two steps: what depends on one text is done once for each text, the rest once for each pair."""

    @abstractmethod
    def encode_question(self, tokens: Int[Tensor, "text length"]) -> Text:
        """What can be known of questions without their candidates."""

    @abstractmethod
    def encode_candidate(self, tokens: Int[Tensor, "text length"]) -> Text:
        """What can be known of candidates without their questions."""

    @abstractmethod
    def score(self, question: Text, candidate: Text) -> Float[Tensor, " pair"]:
        """Scores of pairs whose encodings stand in the same rows; higher is better, on any scale."""

    def forward(self, batch: RankingBatch) -> Float[Tensor, " pair"]:
        """Scores of all pairs of a batch, each distinct text encoded once."""
        questions, candidates = self.encode_question(batch.questions), self.encode_candidate(batch.candidates)
        return self.score(gather_texts(questions, batch.pair_question), gather_texts(candidates, batch.pair_candidate))


class Interaction(Stage):
    """Where two texts first meet before pooling; a `pairwise` one maps (question, candidate) to (question, candidate)."""

    inside_encoder: ClassVar[bool] = False
    """Whether the candidate it maps is one that its encoder has only begun."""


class Similarity(nn.Module):
    """Two vectors to a raw score. Softmax belongs to the loss."""

    def forward(self, question: Float[Tensor, "pair dim"], candidate: Float[Tensor, "pair dim"]) -> Float[Tensor, " pair"]:
        raise NotImplementedError


class Scorer(AnswerScorer):
    """embedding → encoder → interaction → pooling → similarity.

    The cut falls before the first pairwise stage: an interaction inside the encoder leaves only the encoder's first half
    of a candidate to be done once for each text; a pairwise pooling still leaves the whole encoder.

    `shared` says whether questions and candidates go through one encoder or through two of the same make.

    Raises:
        ConfigError: an interaction needs a joint that the encoder lacks.
    """

    def __init__(
        self,
        embedding: Callable[..., Stage],
        encoder: Callable[..., Encoder],
        interaction: Callable[..., Interaction],
        pooling: Callable[..., Stage],
        similarity: Callable[..., Similarity],
        shared: bool,
        vectors: Float[Tensor, "word dim"],
    ) -> None:
        super().__init__()
        self.embedding = embedding(vectors=vectors)
        self.question_encoder = encoder(input_dim=self.embedding.output_dim)
        self.candidate_encoder = self.question_encoder if shared else encoder(input_dim=self.embedding.output_dim)
        self.interaction = interaction(input_dim=self.candidate_encoder.output_dim)
        self.pooling = pooling(input_dim=self.interaction.output_dim)
        self.similarity = similarity(input_dim=self.pooling.output_dim)
        if self.interaction.inside_encoder and not self.candidate_encoder.has_joint:
            raise ConfigError(
                f"model/interaction={type(self.interaction).__name__} steps in between the two halves of an encoder, "
                f"and {type(self.candidate_encoder).__name__} has none; choose an encoder like ggsa, or interaction=none"
            )

    def encode_question(self, tokens: Int[Tensor, "text length"]) -> Text:
        return self._after_encoder(self.question_encoder(self._embed(tokens)))

    def encode_candidate(self, tokens: Int[Tensor, "text length"]) -> Text:
        text = self._embed(tokens)
        if self.interaction.inside_encoder:
            return self.candidate_encoder.begin(text)
        return self._after_encoder(self.candidate_encoder(text))

    def score(self, question: Text, candidate: Text) -> Float[Tensor, " pair"]:
        if self.interaction.pairwise:
            question, candidate = self.interaction(question, candidate)
            if self.interaction.inside_encoder:
                candidate = self.candidate_encoder.finish(candidate)
        if self.pooling.pairwise:
            question, candidate = self.pooling(question, candidate)
        elif self.interaction.pairwise:
            question, candidate = self.pooling(question), self.pooling(candidate)
        return self.similarity(question["vector"], candidate["vector"])

    def _after_encoder(self, text: Text) -> Text:
        """What still comes before the cut."""
        if self.interaction.pairwise:
            return text
        text = self.interaction(text)
        return text if self.pooling.pairwise else self.pooling(text)

    def _embed(self, tokens: Int[Tensor, "text length"]) -> Text:
        return self.embedding({"tokens": tokens, "mask": token_mask(tokens)})


def num_parameters(scorer: nn.Module) -> dict[str, int]:
    """Trainable parameters, with and without the word embeddings (the papers count without)."""
    trainable = {name: p.numel() for name, p in scorer.named_parameters() if p.requires_grad}
    words = sum(count for name, count in trainable.items() if name.startswith("embedding.words"))
    return {"trainable": sum(trainable.values()), "trainable without word embeddings": sum(trainable.values()) - words}
