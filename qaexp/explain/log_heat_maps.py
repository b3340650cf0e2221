"""Heat maps of the hardest questions in W&B: a callback that `conf/logger/wandb.yaml` names."""

from io import BytesIO
from typing import Any

import pandas as pd
import pytorch_lightning as pl
import torch
from pytorch_lightning.callbacks import Callback

from qaexp.data.module import RankingDataModule
from qaexp.explain.heats import heats
from qaexp.models.scorer import AnswerScorer, read_out
from qaexp.runs.tasks import task_of
from qaexp.tracking.logger import RunLogger

IN_CAPTION = ("question", "rank", "candidates", "pair", "class", "predicted")
"""The columns of `hardest` that the caption over a heat map shows."""


class LogHeatMaps(Callback):
    """At the end of the test, logs `heat maps/1`, `heat maps/2` and so on: the hardest questions of dev, each with its best right answer.

    Logs nothing if the model shows nothing over words.
    """

    def __init__(self, questions: int) -> None:
        self.questions = questions

    def on_test_end(self, trainer: pl.Trainer, pl_module: Any) -> None:
        for logger in trainer.loggers:
            if isinstance(logger, RunLogger) and "dev" in pl_module.scores:
                data: RankingDataModule = trainer.datamodule  # type: ignore[attr-defined]
                pairs = task_of(data).hardest("dev", pl_module.scores["dev"], self.questions)
                images = heat_maps(pl_module.scorer, data, pairs, pl_module.device)
                logger.log_images(images, step=trainer.current_epoch + 1)  # `log_questions` commits this step


def heat_maps(scorer: AnswerScorer, data: RankingDataModule, pairs: pd.DataFrame, device: torch.device) -> dict[str, Any]:
    """An image for each pair of dev with values over words. Empty for texts with several fields: these are averaged after pooling."""
    if data.corpus.texts.num_fields > 1:
        return {}
    import wandb  # here, since a run without W&B does without it and matplotlib
    from PIL import Image

    from qaexp.explain.heat_map import draw, png

    images = {}
    for number, (pair, row) in enumerate(zip(pairs.index.tolist(), pairs.to_dict("records"), strict=True), 1):
        words, ids = data.words_of_pair("dev", pair), scorer.subwords.of_words if scorer.subwords else data.corpus.vocabulary.ids
        question, candidate = (torch.tensor(ids(text), device=device) for text in words)
        if placed := heats(read_out(scorer, question, candidate), *words, unit=None):
            caption = ", ".join(f"{name} {value}" for name, value in row.items() if name in IN_CAPTION)
            images[f"heat maps/{number}"] = wandb.Image(Image.open(BytesIO(png(draw(placed, caption)))), caption=caption)
    return images
