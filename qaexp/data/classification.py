"""Pairs that belong to one of several classes: the data module with accuracy in place of ranks."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torchmetrics import MetricCollection
from torchmetrics.classification import MulticlassAccuracy

from qaexp.data.corpus import RankingSplit
from qaexp.data.module import RankingDataModule
from qaexp.data.negatives import PoolPairs
from qaexp.ddp import do_not_sync
from qaexp.errors import ConfigError, UnrankableScoresError

CONVENTION = "accuracy"


class ClassificationDataModule(RankingDataModule):
    """Each pair is a question with a pool of one. Its label is a class. A model scores every class, and the highest score wins.

    Raises:
        ConfigError: `classes` does not name `num_classes` classes, or the convention is one for rankings, or negatives are sampled.
    """

    measures = (CONVENTION,)

    def __init__(self, classes: Sequence[str], **settings: Any) -> None:
        super().__init__(**settings)
        self.classes = tuple(classes)
        if len(self.classes) != self.num_classes:
            named = f"{len(self.classes)} ({', '.join(self.classes)})"
            raise ConfigError(f"dataset.num_classes={self.num_classes}, and dataset.classes names {named}: set both alike")
        if self.convention != CONVENTION:
            raise ConfigError(f"dataset.convention={self.convention}: pairs with classes are not ranked; set {CONVENTION}")
        if not isinstance(self._negatives, PoolPairs):
            raise ConfigError(f"dataset={self.name} has classes and no wrong answers to draw: leave dataset/negatives at pool_pairs")

    def _warn_of_sure_ranks(self, splits: Mapping[str, RankingSplit]) -> None:
        """Does nothing: pairs with classes are not ranked."""

    def usable(self, name: str, split: RankingSplit) -> Bool[np.ndarray, " question"]:
        return np.ones(split.num_questions, dtype=bool)

    def metrics(self, split: str, scores: Float[Tensor, "pair *class"]) -> MetricCollection:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Share of the pairs whose highest score is that of their class.

        Raises:
            ConfigError: the model gives a pair one score.
            UnrankableScoresError: a score is NaN.
        """
        if scores.ndim != 2:
            raise ConfigError(
                f"dataset={self.name} has {self.num_classes} classes, and the model gives a pair one score; "
                "choose a model whose output has classes, such as model/similarity=mlp"
            )
        if bool(nan := scores.isnan().any(dim=1).sum()):
            raise UnrankableScoresError(f"scores of {int(nan)} of {len(scores)} pairs are NaN: has training diverged?")
        metrics = MetricCollection(
            {"accuracy": MulticlassAccuracy(self.num_classes, average="micro", distributed_available_fn=do_not_sync)}
        )
        metrics.update(scores, torch.from_numpy(self.splits[split].labels.astype(np.int64)))
        return metrics
