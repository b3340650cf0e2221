"""The losses that training minimises, computed from the raw scores of a batch's pairs."""

import logging
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from qaexp.data.batch import RankingBatch
from qaexp.data.corpus import RankingCorpus
from qaexp.data.module import RankingDataModule
from qaexp.errors import ConfigError
from qaexp.limits import NonNegativeFloat, PositiveFloat
from qaexp.models.scorer import AnswerScorer
from qaexp.runs.other_runs import open_pinned
from qaexp.runs.ranker import Ranker, load, ranker_of
from qaexp.training.hardest_negatives import by_group, hardest_negatives, is_score

log = logging.getLogger(__name__)

MANY_PAIRS = 4
"""With more pairs per group than this, finding the hardest negative first is cheaper than taking the gradients of all."""


class Loss(ABC):
    """Maps scores, labels (1 for right) and groups (numbered from 0, in order) to one number."""

    reads_written_texts = False
    """Whether it reads texts as they are written, beside the model's scores."""

    @abstractmethod
    def __call__(
        self, scores: Float[Tensor, "pair *class"], labels: Int[Tensor, " pair"], groups: Int[Tensor, " pair"]
    ) -> Float[Tensor, ""]: ...

    def require_match(self, scorer: AnswerScorer, data: RankingDataModule) -> None:
        """Checks model and data set before training. By default, a loss is for right and wrong candidates.

        Raises:
            ConfigError: the data set has classes.
        """
        if data.num_classes > 1:
            raise ConfigError(
                f"dataset={data.name} has {data.num_classes} classes, and {type(self).__name__} tells right from wrong; "
                "choose loss=class_cross_entropy"
            )

    def pairs_to_learn(self, scorer: AnswerScorer, batch: RankingBatch) -> RankingBatch:
        """The pairs of a batch that need gradients: by default all."""
        return batch

    def _require_one_score(self, scores: Float[Tensor, "pair *class"]) -> None:
        if scores.ndim != 1:
            raise ConfigError(
                f"{type(self).__name__} takes one score of a pair, and this model gives {scores.shape[1]}, one for each class; "
                "choose loss=class_cross_entropy"
            )

    def _right_and_wrong(
        self, scores: Float[Tensor, "pair *class"], labels: Int[Tensor, " pair"], groups: Int[Tensor, " pair"]
    ) -> tuple[Float[Tensor, "right 1"], Float[Tensor, "right place"]]:
        """The score of each right candidate, and those of the wrong ones of its group, filled up as `by_group` does.

        Raises:
            ConfigError: pairs have classes, or no group has both a right and a wrong candidate.
        """
        self._require_one_score(scores)
        right = labels == 1
        wrong = by_group(scores, groups, keep=~right)[groups[right]]
        if not is_score(wrong).any():
            raise ConfigError(
                f"{type(self).__name__} compares a right candidate with wrong ones of its group, and no group of this batch has both; "
                "choose dataset/negatives=pool or random, or loss=pointwise_cross_entropy"
            )
        return scores[right][:, None], wrong


def as_loss(loss: Any) -> Loss:
    """Checks that what was built for `loss=` is a `Loss`, and returns it.

    Raises:
        ConfigError: it is not a `Loss`, or it has weights, which no optimiser would train.
    """
    if not isinstance(loss, Loss):
        raise ConfigError(f"loss={type(loss).__name__} is not a Loss: derive it from {Loss.__module__}.{Loss.__name__}")
    weights = loss.parameters() if isinstance(loss, nn.Module) else ()
    if any(each.requires_grad for each in weights):
        raise ConfigError(f"loss={type(loss).__name__} has weights to learn, and a loss learns nothing here: put them into the model")
    return loss


class PairwiseHinge(Loss):
    """J = max(0, m − s⁺ + s⁻), with s⁻ the highest-scoring negative of the group; the mean over right candidates.

    Xu et al. 2019, §3.3 (one negative per group); dos Santos et al. 2016, §2.3, eq. 12 (50 drawn, "the one with the highest score").

    Departs: the papers print the sum over the training set; the mean over a batch makes the learning rate independent of its size.

    A group without a negative costs 0. Each right candidate of a group is an example.

    Raises:
        ConfigError: no group of the batch has both a right and a wrong candidate, so there is nothing to learn, or pairs have classes.

    >>> PairwiseHinge(margin=0.5)(torch.tensor([0.4, 0.1, 0.3]), torch.tensor([1, 0, 0]), torch.tensor([0, 0, 0])).item()
    0.4000000059604645
    """

    def __init__(self, margin: NonNegativeFloat) -> None:
        self.margin = margin

    def __call__(
        self, scores: Float[Tensor, "pair *class"], labels: Int[Tensor, " pair"], groups: Int[Tensor, " pair"]
    ) -> Float[Tensor, ""]:
        right, wrong = self._right_and_wrong(scores, labels, groups)
        return (self.margin - right + wrong.amax(dim=1, keepdim=True)).clamp(min=0).mean()

    def pairs_to_learn(self, scorer: AnswerScorer, batch: RankingBatch) -> RankingBatch:
        """Right candidates and each group's hardest negative: the others get no gradient from this loss."""
        return hardest_negatives(scorer, batch) if len(batch.labels) > MANY_PAIRS * batch.num_groups else batch


class MeanHinge(Loss):
    """J = max(0, m − s⁺ + s⁻), the mean over right candidates and all negatives of their group; `PairwiseHinge` takes only the hardest.

    Liu et al. 2016, §5 and §6.4: max-margin loss (Bordes et al. 2013; Socher et al. 2013) over the 4 or 9 negatives of a question.

    Reading: the mean over (right, wrong) pairs, and not their sum, so that the same learning rate suits 4 and 9 negatives.

    Raises:
        ConfigError: as `PairwiseHinge`.

    >>> scores, labels, groups = torch.tensor([0.4, 0.1, 0.3]), torch.tensor([1, 0, 0]), torch.tensor([0, 0, 0])
    >>> round(MeanHinge(margin=0.5)(scores, labels, groups).item(), 6)  # the mean of 0.2 and 0.4
    0.3
    """

    def __init__(self, margin: NonNegativeFloat) -> None:
        self.margin = margin

    def __call__(
        self, scores: Float[Tensor, "pair *class"], labels: Int[Tensor, " pair"], groups: Int[Tensor, " pair"]
    ) -> Float[Tensor, ""]:
        right, wrong = self._right_and_wrong(scores, labels, groups)
        return (self.margin - right + wrong)[is_score(wrong)].clamp(min=0).mean()


class ListwiseSoftmax(Loss):
    """J = −log [exp(s⁺/τ) / (exp(s⁺/τ) + Σ exp(s⁻/τ))], over the wrong candidates of the group; the mean over right candidates.

    Cross-entropy of a list's softmax (Cao et al. 2007, ListNet's top-one probability), with a temperature τ.

    Reading: if a group has several right candidates, each is an example by itself, without the others.

    Raises:
        ConfigError: as `PairwiseHinge`.

    >>> ListwiseSoftmax(temperature=1.0)(torch.tensor([0.0, 0.0]), torch.tensor([1, 0]), torch.tensor([0, 0])).item()
    0.6931471824645996
    """

    def __init__(self, temperature: PositiveFloat) -> None:
        self.temperature = temperature

    def __call__(
        self, scores: Float[Tensor, "pair *class"], labels: Int[Tensor, " pair"], groups: Int[Tensor, " pair"]
    ) -> Float[Tensor, ""]:
        logits = torch.cat(self._right_and_wrong(scores, labels, groups), dim=1)
        return -(logits / self.temperature).clamp(min=torch.finfo(scores.dtype).min).log_softmax(dim=1)[:, 0].mean()


class InfoNCE(ListwiseSoftmax):
    """`ListwiseSoftmax` with in-batch negatives: the candidates of all other examples of the batch are wrong ones, too.

    van den Oord et al. 2018; for bi-encoders Henderson et al. 2017, and sentence-transformers' MultipleNegativesRankingLoss.

    A candidate that the batch labels right for the same question is not a negative, nor is the question's own text, if candidates are
    questions. A right candidate that the batch has only as another question's negative counts as wrong. A batch without any right candidate
    or without any negative costs 0. With several processes, each uses the negatives of its own share of the batch only.

    Raises:
        ConfigError: `dataset.batch_size` is 1, so that no batch has other examples.
    """

    def require_match(self, scorer: AnswerScorer, data: RankingDataModule) -> None:
        super().require_match(scorer, data)
        if data.batch_size == 1:
            raise ConfigError(
                "loss=info_nce takes the other examples of a batch as negatives, and with dataset.batch_size=1 there are none; raise it, "
                "or choose loss=listwise_softmax, which learns from the negatives of each example"
            )

    def __call__(
        self, scores: Float[Tensor, "pair *class"], labels: Int[Tensor, " pair"], groups: Int[Tensor, " pair"]
    ) -> Float[Tensor, ""]:
        right = labels == 1
        is_compared = torch.isin(groups[right], groups[~right])
        return super().__call__(scores, labels, groups) if is_compared.any() else 0.0 * scores.sum()

    def pairs_to_learn(self, scorer: AnswerScorer, batch: RankingBatch) -> RankingBatch:
        """Each example's question beside all candidates of the batch."""
        right, num_candidates = batch.labels == 1, len(batch.candidates)
        question_of = batch.pair_question.new_zeros(batch.num_groups)
        question_of[batch.groups] = batch.pair_question
        right_of_question = torch.zeros(len(batch.questions), num_candidates, dtype=torch.bool, device=right.device)
        right_of_question[batch.pair_question[right], batch.pair_candidate[right]] = True
        right_of_group = right_of_question.new_zeros(batch.num_groups, num_candidates)
        right_of_group[batch.groups[right], batch.pair_candidate[right]] = True
        not_wrong = right_of_question
        if batch.question_texts is not None and batch.candidate_texts is not None:
            not_wrong = right_of_question | (batch.question_texts[:, None] == batch.candidate_texts)
        groups, candidates = (right_of_group | ~not_wrong[question_of]).nonzero(as_tuple=True)
        return replace(
            batch,
            pair_question=question_of[groups],
            pair_candidate=candidates,
            labels=right_of_group[groups, candidates].long(),
            groups=groups,
        )


class MarginMSE(Loss):
    """J = [(s⁺ − s⁻) − c·(t⁺ − t⁻)]², with t the scores of a teacher; the mean over right candidates and all negatives of their group.

    Hofstätter et al. 2020, "Improving Efficient Neural Ranking Models with Cross-Architecture Knowledge Distillation", eq. 5.

    `teacher` is the folder of any finished run, or its checkpoint, or either one pinned to its run (`runs/other_runs.py`); it reads the
    texts as they were written, with its own tokeniser, and scores each pair once. `scale` is c. It should be well below 1 if the student's
    scores are cosines and the teacher's have a wider range.

    Raises:
        ConfigError: no teacher is named, or texts have several fields; or as `PairwiseHinge`.
        CheckpointError: the teacher has no checkpoint, or is no longer the run that it is pinned to.
    """

    reads_written_texts = True

    def __init__(self, teacher: str | Mapping[str, Any] | None, scale: PositiveFloat) -> None:
        self._teacher, self._scale = teacher, scale
        self._ranker: Ranker | None = None
        self._scores = dict[tuple[int, int], float]()
        self._corpus: RankingCorpus | None = None

    def require_match(self, scorer: AnswerScorer, data: RankingDataModule) -> None:
        super().require_match(scorer, data)
        if self._teacher is None:
            raise ConfigError("loss=margin_mse learns from another run's scores; name the run's folder in loss.teacher")
        if data.corpus.texts.num_fields > 1:
            raise ConfigError(
                f"loss=margin_mse has its teacher read whole texts, and those of dataset={data.name} have fields, which a ranking reads "
                "apart; choose one of them, as in dataset.reader.fields=[title]"
            )
        self._corpus = data.corpus
        if isinstance(self._teacher, str):
            self._ranker = load(self._teacher)
        else:
            self._ranker = ranker_of(open_pinned("loss.teacher", self._teacher), self._teacher["path"])
        if self._ranker.classes:
            raise ConfigError("loss.teacher: that run predicts classes and has no score to learn from; name a run that ranks")

    def pairs_to_learn(self, scorer: AnswerScorer, batch: RankingBatch) -> RankingBatch:
        """The batch with the teacher's scores."""
        assert batch.question_texts is not None
        assert batch.candidate_texts is not None
        questions, candidates = batch.question_texts[batch.pair_question].tolist(), batch.candidate_texts[batch.pair_candidate].tolist()
        pairs = list(zip(questions, candidates, strict=True))
        new: dict[int, list[int]] = {}
        for question, candidate in dict.fromkeys(pairs):
            if (question, candidate) not in self._scores:
                new.setdefault(question, []).append(candidate)
        if new and self._ranker:
            self._ranker.scorer.to(batch.labels.device)
        for question, texts in new.items():
            self._ask(question, texts)
        return replace(batch, targets=torch.tensor([self._scores[pair] for pair in pairs], device=batch.labels.device))

    def _ask(self, question: int, candidates: list[int]) -> None:
        assert self._ranker is not None
        assert self._corpus is not None
        for answer in self._ranker.rank(self._corpus.written(question), [self._corpus.written(text) for text in candidates]):
            self._scores[question, candidates[answer.position]] = answer.score

    def __call__(
        self,
        scores: Float[Tensor, "pair *class"],
        labels: Int[Tensor, " pair"],
        groups: Int[Tensor, " pair"],
        targets: Float[Tensor, " pair"] | None = None,
    ) -> Float[Tensor, ""]:
        assert targets is not None
        right, wrong = self._right_and_wrong(scores, labels, groups)
        teachers_right, teachers_wrong = self._right_and_wrong(targets, labels, groups)
        margins, wanted = right - wrong, teachers_right - teachers_wrong
        return (margins - self._scale * wanted)[is_score(wrong)].square().mean()


class PointwiseCrossEntropy(Loss):
    """J = −[y log σ(s) + (1 − y) log(1 − σ(s))], the mean over pairs (Xu et al. 2019, §3.3).

    Reading: the paper's 2-way softmax over logits (z0, z1) is the logistic function of s = z1 − z0, the score.

    Raises:
        ConfigError: pairs have classes.

    >>> PointwiseCrossEntropy()(torch.tensor([0.0]), torch.tensor([1]), torch.tensor([0])).item()
    0.6931471824645996
    """

    def __call__(
        self, scores: Float[Tensor, "pair *class"], labels: Int[Tensor, " pair"], groups: Int[Tensor, " pair"]
    ) -> Float[Tensor, ""]:
        self._require_one_score(scores)
        return F.binary_cross_entropy_with_logits(scores, labels.to(scores.dtype))

    def require_match(self, scorer: AnswerScorer, data: RankingDataModule) -> None:
        """Also warns of a model with bounded scores, since they are no log-odds."""
        super().require_match(scorer, data)
        _warn_of_bounded_scores(scorer)


class ClassCrossEntropy(Loss):
    """J = −log softmax(s)_y, with y the class of the pair; the mean over pairs (Liu et al. 2016, §4.5).

    Raises:
        ConfigError: the model gives a pair one score.

    >>> ClassCrossEntropy()(torch.tensor([[0.0, 0.0]]), torch.tensor([1]), torch.tensor([0])).item()
    0.6931471824645996
    """

    def __call__(
        self, scores: Float[Tensor, "pair *class"], labels: Int[Tensor, " pair"], groups: Int[Tensor, " pair"]
    ) -> Float[Tensor, ""]:
        if scores.ndim != 2:
            raise ConfigError(
                "loss=class_cross_entropy compares the scores of a pair's classes, and this model gives a pair one score; choose a model "
                "whose output has classes, such as model/similarity=mlp, on a data set with classes (dataset.num_classes)"
            )
        return F.cross_entropy(scores, labels)

    def require_match(self, scorer: AnswerScorer, data: RankingDataModule) -> None:
        """Checks that the data set has classes.

        Raises:
            ConfigError: the data set has right and wrong candidates instead of classes.
        """
        if data.num_classes == 1:
            raise ConfigError(
                f"{type(self).__name__} takes classes, and dataset={data.name} has right and wrong candidates; "
                "choose loss=pairwise_hinge or pointwise_cross_entropy"
            )


def _warn_of_bounded_scores(scorer: AnswerScorer) -> None:
    if scorer.bounded:
        log.warning(
            "the scores of this model stay within a narrow range, and this loss reads them as log-odds: it cannot come near 0, and "
            "hardly separates right from wrong; choose loss=pairwise_hinge, or model/similarity=mlp where the model has that slot"
        )
