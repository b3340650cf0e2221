"""AnswerScorer, the contract of every model, and Scorer, the chain of slots that most models are."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack
from functools import partial
from itertools import chain

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from qaexp.data.batch import RankingBatch
from qaexp.data.corpus import RankingCorpus
from qaexp.data.tokenise import TextReader
from qaexp.errors import ConfigError
from qaexp.models.blocks import encode_by_length, encode_fields, score_pairs
from qaexp.models.embedding.word_vectors import is_word_vector
from qaexp.models.intermediates import watch
from qaexp.models.lexical.overlap_features import WordOverlapFeatures
from qaexp.models.stage import Embedding, Encoder, Interaction, Similarity, Stage, require_key, require_kind
from qaexp.models.types import Text

Examples = Callable[[int], Iterable[RankingBatch]]
"""A function from an epoch to its training batches."""


def first_batches(examples: Examples, num_pairs: int) -> Iterator[RankingBatch]:
    """The first training batches, up to the one with which they have `num_pairs` pairs."""
    count = 0
    for batch in examples(0):
        yield batch
        count += len(batch.labels)
        if count >= num_pairs:
            return


class AnswerScorer(nn.Module, ABC):
    """Scores pairs in two steps: texts are encoded once each, then every pair of encodings is scored."""

    reads_vectors: bool = True
    """Whether it looks at word vectors. If not, no vectors are read or trained, and the table that the model gets has width 0.

    A class attribute, since it is read from the classes of the model and of its embedding before the model is built.
    """

    bounded: bool = False
    """Whether scores stay within a small range, as cosines do. Such scores can be ranked, but they are not log-odds.

    An attribute, since a loss that reads scores as log-odds warns of such a model before there are scores.
    """

    @property
    def subwords(self) -> TextReader | None:
        """The reader of texts as they were written, if the model does not read the data set's words."""
        return getattr(getattr(self, "embedding", None), "subwords", None)

    @property
    def pretrained(self) -> list[str]:
        """The names of the pretrained weights that it is built from."""
        return sorted({name for module in self.modules() if isinstance(module, Stage) for name in module.pretrained})

    @property
    def device(self) -> torch.device:
        """Where its weights and tables are; `to(device)` moves it."""
        return next(chain(self.parameters(), self.buffers()), torch.empty(0)).device

    work_per_cell: int = 1
    """Relative cost of one question-word × candidate-word cell. Where cells are costly, more blocks save more padding."""

    def fit(self, corpus: RankingCorpus, examples: Examples) -> None:
        """Fit what no gradient finds: document frequencies, tables, weights of another learner.

        Called once, before training; checkpoints keep what was fitted. By default it calls `fit(corpus, examples)` of every module inside
        that defines it.
        """
        for module in self.modules():
            if module is not self and callable(fit := getattr(module, "fit", None)):
                fit(corpus, examples)

    def learn_only(self, words: Int[Tensor, " word"]) -> None:
        """Train the vectors of these words only, in each module that defines `learn_only`. Called once, before training."""
        for module in self.modules():
            if module is not self and callable(learn_only := getattr(module, "learn_only", None)):
                learn_only(words)

    def add_words(self, words: Sequence[str], vectors: Float[Tensor, "word dim"]) -> bool:
        """Append words to the vocabulary of a trained model: every module inside that defines `add_words(words, vectors)` takes them.
        Returns whether there is such a module.
        """
        takers = [module for module in self.modules() if module is not self and callable(getattr(module, "add_words", None))]
        for module in takers:
            module.add_words(words, vectors)  # type: ignore[operator]
        return bool(takers)

    @abstractmethod
    def encode_question(self, tokens: Int[Tensor, "text length"]) -> Text:
        """The part of the model that reads questions without their candidates."""

    @abstractmethod
    def encode_candidate(self, tokens: Int[Tensor, "text length"]) -> Text:
        """The part of the model that reads candidates without their questions."""

    @abstractmethod
    def score(self, question: Text, candidate: Text) -> Float[Tensor, "pair *class"]:
        """Scores of pairs: row i of both encodings is pair i. Higher is better, on any scale. With classes, one score for each class."""

    def encode_all(self, encode: Callable[[Tensor], Text], tokens: Int[Tensor, "text *field length"]) -> Text:
        """The encodings of all texts of one side, in order; `encode` is `encode_question` or `encode_candidate`.

        By default field by field, in blocks of similar length. A model that reads all fields of a text together overrides it.
        """
        return encode_fields(partial(encode_by_length, encode), tokens)

    def score_all(
        self,
        questions: Text,
        candidates: Text,
        pair_question: Int[Tensor, " pair"],
        pair_candidate: Int[Tensor, " pair"],
        max_tokens: int | None = None,
    ) -> Float[Tensor, "pair *class"]:
        """The scores of pairs of encoded texts, in order: in blocks of similar lengths.

        `max_tokens` bounds the tokens of either side that are gathered at once.
        """
        scores = score_pairs(self.score, questions, candidates, pair_question, pair_candidate, self.work_per_cell, max_tokens)
        if scores.shape[1:] == (1,):
            raise ConfigError(f"{type(self).__name__}.score returned a column of scores, (pair, 1); return (pair,), as .squeeze(1) does")
        return scores

    def forward(self, batch: RankingBatch) -> Float[Tensor, "pair *class"]:
        """Scores of all pairs of a batch, each distinct text encoded once.

        Any module inside may define `batch_context(questions, candidates)`, a context within which the batch's texts are encoded.
        """
        with ExitStack() as contexts:
            for module in self.modules():
                batch_context: Callable[..., AbstractContextManager[None]] | None = getattr(module, "batch_context", None)
                if batch_context is not None:
                    contexts.enter_context(batch_context(batch.questions, batch.candidates))
            questions = self.encode_all(self.encode_question, batch.questions)
            candidates = self.encode_all(self.encode_candidate, batch.candidates)
        return self.score_all(questions, candidates, batch.pair_question, batch.pair_candidate)


def as_scorer(model: object) -> AnswerScorer:
    """Checks that what was built for `model=` is an `AnswerScorer`, and returns it.

    Raises:
        ConfigError: it is not an `AnswerScorer`.
    """
    if isinstance(model, AnswerScorer):
        return model
    lacking = [name for name in ("encode_question", "encode_candidate", "score") if not hasattr(model, name)]
    raise ConfigError(
        f"model={type(model).__name__} is not an AnswerScorer: derive it from {AnswerScorer.__module__}.AnswerScorer"
        + (f", and give it {', '.join(lacking)}" if lacking else "")
    )


class LexicalScorer(AnswerScorer):
    """A scorer of words without vectors, which reads all fields of a text together."""

    reads_vectors = False

    def encode_all(self, encode: Callable[[Tensor], Text], tokens: Int[Tensor, "text *field length"]) -> Text:
        return encode_by_length(encode, tokens) if tokens.ndim == 2 else encode(tokens)


class Scorer(AnswerScorer):
    """embedding → encoder → interaction → pooling → similarity.

    The cut falls before the first pairwise stage: an interaction inside the encoder leaves only the encoder's first half to be done once
    for each text; a pairwise pooling leaves the whole encoder, and the pooling's own `once_per_text`. A pooling of several hops gives
    vectors (pair, hop, dim), whose similarities are summed over the hops.

    `shared` says whether questions and candidates go through one encoder or through two of the same kind. With an `initial_bound` b all
    weights start uniformly within ±b, instead of each stage's own initialisation.

    Raises:
        ConfigError: a slot holds a module of another kind or, at the first text, a stage lacks what it reads.
    """

    def __init__(
        self,
        embedding: Callable[..., Embedding],
        encoder: Callable[..., Encoder],
        interaction: Callable[..., Interaction],
        pooling: Callable[..., Stage],
        similarity: Callable[..., Similarity],
        shared: bool,
        vectors: Float[Tensor, "word dim"],
        initial_bound: float | None = None,
    ) -> None:
        super().__init__()
        self.embedding = require_kind(embedding(vectors=vectors), Embedding, "embedding")
        self.question_encoder = require_kind(encoder(input_dim=self.embedding.output_dim), Encoder, "encoder")
        self.candidate_encoder = self.question_encoder if shared else encoder(input_dim=self.embedding.output_dim)
        self.interaction = require_kind(interaction(input_dim=self.candidate_encoder.output_dim), Interaction, "interaction")
        self.pooling = require_kind(pooling(input_dim=self.interaction.output_dim), Stage, "pooling")
        self.similarity = require_kind(similarity(input_dim=self.pooling.output_dim), Similarity, "similarity")
        self.bounded = self.similarity.bounded
        self.overlap = WordOverlapFeatures(len(vectors), self.subwords) if self.similarity.reads_overlap else None
        if initial_bound is not None:
            draw_uniformly(self, initial_bound)

    def encode_question(self, tokens: Int[Tensor, "text length"]) -> Text:
        return self._encode("question", self.question_encoder, tokens)

    def encode_candidate(self, tokens: Int[Tensor, "text length"]) -> Text:
        return self._encode("candidate", self.candidate_encoder, tokens)

    def encode_all(self, encode: Callable[[Tensor], Text], tokens: Int[Tensor, "text *field length"]) -> Text:
        in_one_block = self.candidate_encoder.skips_padding and not self.subwords  # a transformer below it reads padding
        return encode_fields(encode, tokens) if in_one_block else super().encode_all(encode, tokens)

    def score(self, question: Text, candidate: Text) -> Float[Tensor, "pair *class"]:
        features = () if self.overlap is None else (self.overlap(question["tokens"], candidate["tokens"]),)
        if self.interaction.pairwise:
            question, candidate = self.interaction(question, candidate)
            question = self.interaction.finish("question", self.question_encoder, question)
            candidate = self.interaction.finish("candidate", self.candidate_encoder, candidate)
        if self.pooling.pairwise:
            if self.interaction.pairwise:
                question, candidate = self.pooling.once_per_text("question", question), self.pooling.once_per_text("candidate", candidate)
            question, candidate = (require_key("vector", text, self.pooling, "pooling") for text in self.pooling(question, candidate))
        elif self.interaction.pairwise:
            question, candidate = self._pooled(question), self._pooled(candidate)
        q, c = question["vector"].float(), candidate["vector"].float()  # (pair, dim) or (pair, hop, dim)
        with torch.autocast(q.device.type, enabled=False):  # in bfloat16 many scores of a pool would be equal
            if q.ndim == 2:
                return self.similarity(q, c, *features)
            by_hop = self.similarity(q.flatten(0, 1), c.flatten(0, 1), *(each.repeat_interleave(q.shape[1], dim=0) for each in features))
            by_hop = by_hop.unflatten(0, q.shape[:2])  # (pair, hop, *class)
            if "mask" in question:  # hops are words
                by_hop = by_hop.masked_fill(~question["mask"].view(*q.shape[:2], *[1] * (by_hop.ndim - 2)), 0.0)
            return by_hop.sum(dim=1)

    def _pooled(self, text: Text) -> Text:
        return require_key("vector", self.pooling(text), self.pooling, "pooling")

    def _encode(self, side: str, encoder: Encoder, tokens: Int[Tensor, "text length"]) -> Text:
        """The chain before the cut."""
        words = self.embedding.of(tokens)
        text = self.interaction.encode(side, encoder, words)
        if not self.interaction.pairwise:
            text = self.interaction(text)
            text = self.pooling.once_per_text(side, text) if self.pooling.pairwise else self._pooled(text)
        if self.overlap is None:
            return text
        if "states" in text and text["states"].shape[1] != tokens.shape[1]:
            raise ConfigError(
                f"word overlap needs a state for each word, and {type(encoder).__name__} shortens texts before "
                f"{type(self.pooling).__name__} reads them; set model.similarity.overlap=false, or choose a pooling of each text by "
                "itself, such as max"
            )
        return {**text, "tokens": tokens, "mask": words["mask"]}


def num_parameters(scorer: nn.Module) -> dict[str, int]:
    """Trainable parameters, with and without the word embeddings (the papers count without)."""
    trainable = {name: p.numel() for name, p in scorer.named_parameters() if p.requires_grad}
    words = sum(count for name, count in trainable.items() if is_word_vector(name))
    return {"trainable": sum(trainable.values()), "trainable without word embeddings": sum(trainable.values()) - words}


def draw_uniformly(model: nn.Module, bound: float) -> None:
    """Draw all trained weights and biases again from U(−bound, bound), except word vectors and pretrained weights.

    Liu et al. 2016, §6.1, of all their models: "The other parameters are initialized by randomly sampling from uniform distribution in
    [−0.1, 0.1]."
    """
    pretrained = {each for module in model.modules() if isinstance(module, Stage) and module.pretrained for each in module.parameters()}
    for name, parameter in model.named_parameters():
        if parameter.requires_grad and not is_word_vector(name) and parameter not in pretrained:
            nn.init.uniform_(parameter, -bound, bound)


def read_out(
    scorer: AnswerScorer, question: Int[Tensor, " question_length"], candidate: Int[Tensor, " candidate_length"]
) -> dict[str, Tensor]:
    """What the stages of a model show (`intermediates.show`) while they score one pair, by `<side>.<name>`, and the `score`.

    The side is `question` or `candidate` for what is computed from one text, and `pair` for what needs both. The first axis, of length one,
    is removed; the stage's docstring describes the others. A name that is shown several times (directions, layers) is stacked along a new
    first axis.
    """
    seen: dict[str, list[Tensor]] = {}
    training = scorer.training
    scorer.eval()
    try:
        with torch.no_grad():
            with _side("question", seen):
                encoded_question = scorer.encode_question(question[None])
            with _side("candidate", seen):
                encoded_candidate = scorer.encode_candidate(candidate[None])
            with _side("pair", seen):
                score = scorer.score(encoded_question, encoded_candidate)
    finally:
        scorer.train(training)
    return {"score": score[0], **{name: tensors[0][0] if len(tensors) == 1 else torch.cat(tensors) for name, tensors in seen.items()}}


def _side(side: str, seen: dict[str, list[Tensor]]) -> AbstractContextManager[None]:
    return watch(lambda name, tensor: seen.setdefault(f"{side}.{name}", []).append(tensor.detach()))
