"""The contract every model keeps, and the chain of slots that most models are."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from contextlib import ExitStack

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from qaexp.data.batch import RankingBatch
from qaexp.data.corpus import RankingCorpus
from qaexp.errors import ConfigError
from qaexp.models.blocks import encode_texts, score_pairs
from qaexp.models.embedding.word_vectors import WordEmbedding
from qaexp.models.lexical.overlap_features import WordOverlapFeatures
from qaexp.models.stage import Encoder, Interaction, Similarity, Stage, require_key, require_kind
from qaexp.models.types import Text

Examples = Callable[[int], Iterable[RankingBatch]]
"""From an epoch to its training batches."""


class AnswerScorer(nn.Module, ABC):
    """Scores pairs in two steps: what depends on one text is done once for each text, the rest once for each pair."""

    skips_padding: bool = False
    """Whether padding costs nothing before the cut, as where texts are packed."""

    reads_fields: bool = False
    """Whether it is given all fields of a text at once, (text, field, length), in place of one by one."""

    reads_vectors: bool = True
    """Whether it looks at word vectors. Where it does not, none are read or trained: its rows have no width."""

    bounded: bool = False
    """Whether scores stay within a range of a few units, as cosines do: good to rank by, and no log-odds."""

    work_per_cell: int = 1
    """How much is done for a question's word beside a candidate's, about: with more, padding of pairs is worth more to be spared."""

    def fit(self, corpus: RankingCorpus, examples: Examples) -> None:
        """Fit what no gradient finds: document frequencies, tables, weights of another learner.

        Called once, before training; checkpoints keep what was fitted. By default it calls `fit(corpus, examples)` of every module inside
        that defines it.
        """
        for module in self.modules():
            if module is not self and callable(fit := getattr(module, "fit", None)):
                fit(corpus, examples)

    @abstractmethod
    def encode_question(self, tokens: Int[Tensor, "text length"]) -> Text:
        """What can be known of questions without their candidates."""

    @abstractmethod
    def encode_candidate(self, tokens: Int[Tensor, "text length"]) -> Text:
        """What can be known of candidates without their questions."""

    @abstractmethod
    def score(self, question: Text, candidate: Text) -> Float[Tensor, "pair *class"]:
        """Scores of pairs whose encodings stand in the same rows; higher is better, on any scale. With classes, a score of each."""

    def forward(self, batch: RankingBatch) -> Float[Tensor, "pair *class"]:
        """Scores of all pairs of a batch, each distinct text encoded once."""
        with ExitStack() as tables:
            for module in self.modules():
                if isinstance(module, WordEmbedding):
                    tables.enter_context(module.looked_up(batch.questions, batch.candidates))
            questions = encode_texts(self.encode_question, batch.questions, self.skips_padding, self.reads_fields)
            candidates = encode_texts(self.encode_candidate, batch.candidates, self.skips_padding, self.reads_fields)
        return score_pairs(self.score, questions, candidates, batch.pair_question, batch.pair_candidate, self.work_per_cell)


class Scorer(AnswerScorer):
    """embedding → encoder → interaction → pooling → similarity.

    The cut falls before the first pairwise stage: an interaction inside the encoder leaves only the encoder's first half
    to be done once for each text; a pairwise pooling still leaves the whole encoder, and what it prepares of each text. A
    pooling of several hops gives vectors (pair, hop, dim), whose similarities are summed over the hops.

    `shared` says whether questions and candidates go through one encoder or through two of the same make. With an `initial_bound` all
    weights begin uniformly within it, in place of each stage's own way.

    Raises:
        ConfigError: an interaction needs a joint that the encoder lacks, or a pooling a last state that has read everything; or what
            stands in a slot is of another kind.
    """

    def __init__(
        self,
        embedding: Callable[..., WordEmbedding],
        encoder: Callable[..., Encoder],
        interaction: Callable[..., Interaction],
        pooling: Callable[..., Stage],
        similarity: Callable[..., Similarity],
        shared: bool,
        vectors: Float[Tensor, "word dim"],
        initial_bound: float | None = None,
    ) -> None:
        super().__init__()
        self.embedding = require_kind(embedding(vectors=vectors), WordEmbedding, "embedding")
        self.question_encoder = require_kind(encoder(input_dim=self.embedding.output_dim), Encoder, "encoder")
        self.candidate_encoder = self.question_encoder if shared else encoder(input_dim=self.embedding.output_dim)
        self.interaction = require_kind(interaction(input_dim=self.candidate_encoder.output_dim), Interaction, "interaction")
        self.pooling = require_kind(pooling(input_dim=self.interaction.output_dim), Stage, "pooling")
        self.pooling.backward_dim = self.candidate_encoder.backward_dim
        self.similarity = require_kind(similarity(input_dim=self.pooling.output_dim), Similarity, "similarity")
        self.skips_padding = self.candidate_encoder.skips_padding
        self.bounded = self.similarity.bounded
        self.overlap = WordOverlapFeatures(num_words=len(vectors)) if self.similarity.reads_overlap else None
        if self.pooling.needs_last_state and not self.candidate_encoder.accumulates:
            raise ConfigError(
                f"model/pooling={type(self.pooling).__name__} takes the last state for the text, and that of "
                f"{type(self.candidate_encoder).__name__} has not read all of it; choose an encoder like lstm, or another pooling"
            )
        if self.interaction.joint != (self.candidate_encoder.joint if self.interaction.begun else None):
            raise ConfigError(
                f"model/interaction={type(self.interaction).__name__} steps in at the {self.interaction.joint} of an encoder, and "
                f"{type(self.candidate_encoder).__name__} has {self.candidate_encoder.joint or 'no joint'}; "
                "choose another encoder, or interaction=none"
            )
        if initial_bound is not None:
            draw_uniformly(self, initial_bound)

    def encode_question(self, tokens: Int[Tensor, "text length"]) -> Text:
        return self._encode("question", self.question_encoder, tokens)

    def encode_candidate(self, tokens: Int[Tensor, "text length"]) -> Text:
        return self._encode("candidate", self.candidate_encoder, tokens)

    def score(self, question: Text, candidate: Text) -> Float[Tensor, "pair *class"]:
        features = () if self.overlap is None else (self.overlap(question["tokens"], candidate["tokens"]),)
        if self.interaction.pairwise:
            question, candidate = self.interaction(question, candidate)
            if not self.interaction.finishes:
                question = self.question_encoder.finish(question) if "question" in self.interaction.begun else question
                candidate = self.candidate_encoder.finish(candidate) if "candidate" in self.interaction.begun else candidate
        if self.pooling.pairwise:
            if self.interaction.pairwise:
                question, candidate = self.pooling.prepare("question", question), self.pooling.prepare("candidate", candidate)
            question, candidate = (require_key("vector", text, self.pooling, "pooling") for text in self.pooling(question, candidate))
        elif self.interaction.pairwise:
            question, candidate = self._pooled(question), self._pooled(candidate)
        q, c = question["vector"].float(), candidate["vector"].float()  # (pair, dim) or (pair, hop, dim)
        with torch.autocast(q.device.type, enabled=False):  # rounded to bfloat16, scores of a pool would be tied
            if q.ndim == 2:
                return self.similarity(q, c, *features)
            by_hop = self.similarity(q.flatten(0, 1), c.flatten(0, 1), *(each.repeat_interleave(q.shape[1], dim=0) for each in features))
            return by_hop.unflatten(0, q.shape[:2]).sum(dim=1)

    def _pooled(self, text: Text) -> Text:
        return require_key("vector", self.pooling(text), self.pooling, "pooling")

    def _encode(self, side: str, encoder: Encoder, tokens: Int[Tensor, "text length"]) -> Text:
        """What comes before the cut."""
        words = self.embedding.of(tokens)
        if side in self.interaction.begun:
            text = encoder.begin(words)
        else:
            text = require_key("states", encoder(words), encoder, "encoder")
            if not self.interaction.pairwise:
                text = self.interaction(text)
                text = self.pooling.prepare(side, text) if self.pooling.pairwise else self._pooled(text)
        return text if self.overlap is None else {**text, "tokens": tokens, "mask": words["mask"]}


def num_parameters(scorer: nn.Module) -> dict[str, int]:
    """Trainable parameters, with and without the word embeddings (the papers count without)."""
    trainable = {name: p.numel() for name, p in scorer.named_parameters() if p.requires_grad}
    words = sum(count for name, count in trainable.items() if name.startswith("embedding.words"))
    return {"trainable": sum(trainable.values()), "trainable without word embeddings": sum(trainable.values()) - words}


def draw_uniformly(model: nn.Module, bound: float) -> None:
    """Draw every trained weight and bias but the word vectors anew, from U(−bound, bound).

    Liu et al. 2016, §6.1, of all their models: "The other parameters are initialized by randomly sampling from uniform distribution in
    [−0.1, 0.1]."
    """
    for name, parameter in model.named_parameters():
        if parameter.requires_grad and not name.startswith("embedding.words"):
            nn.init.uniform_(parameter, -bound, bound)
