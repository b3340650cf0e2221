"""A linear SVM over how alike two texts are by several measures."""

from collections.abc import Callable, Mapping
from itertools import islice

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from qaexp.data.batch import RankingBatch
from qaexp.data.corpus import RankingCorpus
from qaexp.errors import ConfigError
from qaexp.models.encoding import encode_texts
from qaexp.models.pairing import score_pairs
from qaexp.models.scorer import AnswerScorer, Examples
from qaexp.models.types import Text

GATHERED = 2**15
"""Words of pairs that are measured at once while fitting."""


class SVM(AnswerScorer):
    """s(q, c) = w · (x − μ) / σ,  x_i = s_i(q, c) for each scorer of `features`; w from scikit-learn's LinearSVC on training pairs.

        min_{w,b}  ½(‖w‖² + b²) + C Σ_pairs max(0, 1 − y (w · (x − μ) / σ + b))²

    Lei et al. 2016, §6: "SVM, we trained a re-ranker using SVM-Light (Joachims, 2002) with a linear kernel incorporating several similarity
    measures from the DKPro similarity package".

    Reading: the paper does not list the measures. Ours are n-gram containment and Jaccard, the longest common subsequence and substring,
    which DKPro has among others, with TF-IDF, BM25 and idf-weighed containment. SVM-Light's default is classification: pairs are told
    apart as right and wrong, and candidates are ranked by their distance from the border. That the paper cites Joachims 2002, who ranks by
    preferences within a question, may mean that; it does not say so.

    Departs: the hinge is squared, which LinearSVC solves in the primal, b is held small with w, and each class has half the weight of the
    sum. The paper adds the dev set's pairs to the training set for the test; here dev stays unseen.

    Pairs are the first `num_pairs` of an epoch of training examples. Until it is fitted, all features weigh the same.

    Raises, when fitted:
        ConfigError: the pairs are all right or all wrong.
    """

    reads_fields = True
    reads_vectors = False

    def __init__(self, features: Mapping[str, Callable[..., AnswerScorer]], C: float, num_pairs: int, vectors: Float[Tensor, "word dim"]):
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

        for feature in self._scorers():
            feature.fit(corpus, examples)
        x, labels = self._measured(examples)
        if len(labels.unique()) < 2:
            raise ConfigError("model=svm learns to tell right from wrong pairs, and the training examples have only one kind")
        self.mean.copy_(x.mean(dim=0))
        deviation = x.std(dim=0, correction=0)
        self.deviation.copy_(torch.where(deviation > 1e-6, deviation, 1.0))
        scaled = (x - self.mean) / self.deviation
        machine = LinearSVC(C=self._C, class_weight="balanced", dual=False)  # pyright: ignore[reportArgumentType]  # its stubs know of "auto" alone
        machine.fit(scaled.double().numpy(), (labels == 1).numpy())
        self.weight.copy_(torch.from_numpy(machine.coef_[0]))

    def encode_question(self, tokens: Int[Tensor, "text *field length"]) -> Text:
        return self._joined({name: feature.encode_question(tokens) for name, feature in self._named()})

    def encode_candidate(self, tokens: Int[Tensor, "text *field length"]) -> Text:
        return self._joined({name: feature.encode_candidate(tokens) for name, feature in self._named()})

    def score(self, question: Text, candidate: Text) -> Float[Tensor, " pair"]:
        scaled = (self._features(question, candidate) - self.mean) / self.deviation
        return (scaled * self.weight).sum(dim=1)  # no product, which autocast would round

    def _features(self, question: Text, candidate: Text) -> Float[Tensor, "pair feature"]:
        return torch.stack([f.score(_part(question, name), _part(candidate, name)) for name, f in self._named()], dim=1)

    def _measured(self, examples: Examples) -> tuple[Float[Tensor, "pair feature"], Int[Tensor, " pair"]]:
        """The features and the labels of the training pairs."""
        measured, labels, count = list[Tensor](), list[Tensor](), 0
        for batch in islice(examples(0), self._num_pairs):
            measured.append(self._of_batch(batch))
            labels.append(batch.labels)
            count += len(batch.labels)
            if count >= self._num_pairs:
                break
        return torch.cat(measured)[: self._num_pairs], torch.cat(labels)[: self._num_pairs]

    def _of_batch(self, batch: RankingBatch) -> Float[Tensor, "pair feature"]:
        questions = encode_texts(self.encode_question, batch.questions, skips_padding=True, reads_fields=True)
        candidates = encode_texts(self.encode_candidate, batch.candidates, skips_padding=True, reads_fields=True)
        rows = batch.pair_question, batch.pair_candidate
        return score_pairs(self._features, questions, candidates, *rows, self.work_per_cell, most_tokens=GATHERED)

    def _named(self) -> list[tuple[str, AnswerScorer]]:
        return list(self.features.items())  # type: ignore[arg-type]  # what a ModuleDict holds has no narrower type

    def _scorers(self) -> list[AnswerScorer]:
        return [feature for _, feature in self._named()]

    def _joined(self, texts: Mapping[str, Text]) -> Text:
        """The encodings of all features beside each other, as wide as the widest: zeros mean nothing to any of them."""
        named = {f"{name}.{key}": tensor for name, text in texts.items() for key, tensor in text.items() if key != "mask"}
        width = max(tensor.shape[1] for tensor in named.values())
        joined = {name: F.pad(tensor, (0, width - tensor.shape[1])) for name, tensor in named.items()}
        return {**joined, "mask": torch.ones_like(next(iter(joined.values())), dtype=torch.bool)}


def _part(text: Text, name: str) -> Text:
    """One feature's part of an encoding."""
    return {key.removeprefix(f"{name}."): tensor for key, tensor in text.items() if key.startswith(f"{name}.")}
