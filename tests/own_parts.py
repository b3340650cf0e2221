"""Parts of a model, a loss and readers as a user might write them, in a package of their own: whole ones, and such as lack something."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from qaexp.data.corpus import RankingCorpus
from qaexp.data.corpus_builder import CorpusBuilder
from qaexp.models.stage import Encoder, Similarity, Stage
from qaexp.models.types import Text
from qaexp.training.losses import Loss


class MeanPooling(Stage):
    def __init__(self, input_dim: int, **options: Any) -> None:
        super().__init__()
        self.output_dim = input_dim

    def forward(self, text: Text) -> Text:
        return {"vector": text["states"].mean(dim=1)}


class StrictPooling(Stage):
    def __init__(self, input_dim: int, power: float) -> None:
        super().__init__()
        self.output_dim, self.power = input_dim, power

    def forward(self, text: Text) -> Text:
        return {"vector": text["states"].pow(self.power).mean(dim=1)}


class PoolingWithoutWidth(Stage):
    def __init__(self, input_dim: int, **options: Any) -> None:
        super().__init__()


class PoolingOfAnotherKey(MeanPooling):
    def forward(self, text: Text) -> Text:
        return {"pooled": text["states"].mean(dim=1)}


class PoolingOfTensors(MeanPooling):
    def forward(self, text: Text) -> Any:
        return text["states"].mean(dim=1)


class EncoderOfAnotherKey(Encoder):
    def __init__(self, input_dim: int, **options: Any) -> None:
        super().__init__()
        self.output_dim = input_dim

    def forward(self, text: Text) -> Text:
        return {"hidden": text["states"], "mask": text["mask"]}


class PlainSimilarity(nn.Module):
    def __init__(self, input_dim: int) -> None:
        super().__init__()


class PlainLoss:
    def __init__(self, margin: float) -> None:
        self.margin = margin

    def __call__(self, scores: Float[Tensor, " pair"], labels: Int[Tensor, " pair"], groups: Int[Tensor, " pair"]) -> Float[Tensor, ""]:
        return torch.square(scores - labels).mean()


class LossWithWeights(nn.Module, Loss):
    def __init__(self, margin: float) -> None:
        super().__init__()
        self.margin = nn.Parameter(torch.tensor(margin))

    def __call__(self, scores: Float[Tensor, " pair"], labels: Int[Tensor, " pair"], groups: Int[Tensor, " pair"]) -> Float[Tensor, ""]:
        return (self.margin - scores).mean()


class PlainReader:
    def __init__(self, **options: Any) -> None:
        pass

    def read(self) -> Any:
        return [("why?", "so", 1)]


class ReaderOfNoSettings(PlainReader):
    version = 1

    def files(self) -> list[Path]:
        return []


@dataclass(init=False)
class ReaderOfLists(ReaderOfNoSettings):
    pass


class ReaderOfNothing(ReaderOfLists):
    def read(self) -> RankingCorpus:
        return CorpusBuilder().build()


class DetachedCosine(Similarity):
    """Scores through which no gradient flows."""

    def __init__(self, input_dim: int) -> None:
        super().__init__()

    def forward(self, question: Float[Tensor, "pair dim"], candidate: Float[Tensor, "pair dim"]) -> Float[Tensor, " pair"]:
        return torch.cosine_similarity(question, candidate).detach()
