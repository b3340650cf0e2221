"""A linear SVM over several measures of how similar two texts are."""

from collections.abc import Callable, Mapping

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from qaexp.data.batch import RankingBatch
from qaexp.data.corpus import RankingCorpus
from qaexp.errors import ConfigError
from qaexp.limits import PositiveFloat, PositiveInt
from qaexp.models.blocks import score_pairs
from qaexp.models.scorer import AnswerScorer, Examples, LexicalScorer, first_batches
from qaexp.models.types import Text

MAX_TOKENS_WHEN_FITTING = 2**15
"""Features of training pairs are measured in blocks of at most this many tokens."""


class SVM(LexicalScorer):
    """s(q, c) = w · (x − μ) / σ, where x_i = s_i(q, c) for each scorer in `features`, and w is from scikit-learn's LinearSVC.

        min_{w,b}  ½(‖w‖² + b²) + C Σ_pairs max(0, 1 − y (w · (x − μ) / σ + b))²

    Lei et al. 2016, §6: "SVM, we trained a re-ranker using SVM-Light (Joachims, 2002) with a linear kernel incorporating several similarity
    measures from the DKPro similarity package".

    The training pairs are the first `num_pairs` of an epoch of training examples. Before fitting, all features weigh the same.

    Reading: the paper does not list the measures. Ours are n-gram containment and Jaccard, the longest common subsequence and substring
    (all in DKPro), TF-IDF, BM25 and idf-weighted containment. We take SVM-Light's default, classification: it separates right from wrong
    pairs, and candidates are ranked by their distance from the border. The paper cites Joachims 2002, who learns preferences within a
    question, but does not say that it uses them.

    Departs: the hinge is squared (LinearSVC solves this in the primal), b is regularised with w, and each class has half of the total
    weight. The paper adds the dev pairs to the training set before testing; here dev stays unseen.

    Raises, when fitted:
        ConfigError: the pairs are all right or all wrong.
    """

    def __init__(
        self,
        features: Mapping[str, Callable[..., AnswerScorer]],
        C: PositiveFloat,
        num_pairs: PositiveInt,
        vectors: Float[Tensor, "word dim"],
    ):
        super().__init__()
        self.features = nn.ModuleDict({name: feature(vectors=vectors) for name, feature in features.items()})
        self._C, self._num_pairs = C, num_pairs
        self.weight: Tensor
        self.mean: Tensor
        self.deviation: Tensor
        self.register_buffer("weight", torch.ones(len(features)))
        self.register_buffer("mean", torch.zeros(len(features)))
        self.register_buffer("deviation", torch.ones(len(features)))

    def fit(self, corpus: RankingCorpus, examples: Examples) -> None:
        from sklearn.svm import LinearSVC  # most of a second to import

        for _, feature in self._named():
            feature.fit(corpus, examples)
        x, labels = self._measured(examples)
        if len(labels.unique()) < 2:
            raise ConfigError("model=svm learns to tell right from wrong pairs, and the training examples have only one kind")
        self.mean.copy_(x.mean(dim=0))
        deviation = x.std(dim=0, correction=0)
        self.deviation.copy_(torch.where(deviation > 1e-6, deviation, 1.0))
        scaled = (x - self.mean) / self.deviation
        machine = LinearSVC(C=self._C, class_weight="balanced", dual=False)  # pyright: ignore[reportArgumentType]  # the stubs know only "auto"
        machine.fit(scaled.double().numpy(), (labels == 1).numpy())
        self.weight.copy_(torch.from_numpy(machine.coef_[0]))

    def encode_question(self, tokens: Int[Tensor, "text *field length"]) -> Text:
        return self._joined({name: feature.encode_question(tokens) for name, feature in self._named()})

    def encode_candidate(self, tokens: Int[Tensor, "text *field length"]) -> Text:
        return self._joined({name: feature.encode_candidate(tokens) for name, feature in self._named()})

    def score(self, question: Text, candidate: Text) -> Float[Tensor, " pair"]:
        scaled = (self._features(question, candidate) - self.mean) / self.deviation
        return (scaled * self.weight).sum(dim=1)  # not a matrix product, which autocast would round

    def _features(self, question: Text, candidate: Text) -> Float[Tensor, "pair feature"]:
        return torch.stack([f.score(_part(question, name), _part(candidate, name)) for name, f in self._named()], dim=1)

    def _measured(self, examples: Examples) -> tuple[Float[Tensor, "pair feature"], Int[Tensor, " pair"]]:
        """Features and labels of the training pairs."""
        measured, labels = list[Tensor](), list[Tensor]()
        for batch in first_batches(examples, self._num_pairs):
            measured.append(self._of_batch(batch))
            labels.append(batch.labels)
        return torch.cat(measured)[: self._num_pairs], torch.cat(labels)[: self._num_pairs]

    def _of_batch(self, batch: RankingBatch) -> Float[Tensor, "pair feature"]:
        questions = self.encode_question(batch.questions)
        candidates = self.encode_candidate(batch.candidates)
        rows = batch.pair_question, batch.pair_candidate
        return score_pairs(self._features, questions, candidates, *rows, work_per_cell=1, max_tokens=MAX_TOKENS_WHEN_FITTING)

    def _named(self) -> list[tuple[str, AnswerScorer]]:
        return list(self.features.items())  # type: ignore[arg-type]  # a ModuleDict holds Modules

    def _joined(self, texts: Mapping[str, Text]) -> Text:
        """The encodings of all features side by side, padded to the widest one: every feature ignores zeros."""
        named = {f"{name}.{key}": tensor for name, text in texts.items() for key, tensor in text.items() if key != "mask"}
        width = max(tensor.shape[1] for tensor in named.values())
        joined = {name: F.pad(tensor, (0, width - tensor.shape[1])) for name, tensor in named.items()}
        return {**joined, "mask": torch.ones_like(next(iter(joined.values())), dtype=torch.bool)}


def _part(text: Text, name: str) -> Text:
    """The part of an encoding that belongs to one feature."""
    return {key.removeprefix(f"{name}."): tensor for key, tensor in text.items() if key.startswith(f"{name}.")}
