"""What a logger hears once a run has ranked everything: final metrics, tables, and heat maps."""

from io import BytesIO
from pathlib import Path
from typing import Any

import pandas as pd
import torch

from qaexp.data.module import RankingDataModule
from qaexp.models.pairwise.readout import read_out
from qaexp.models.scorer import AnswerScorer
from qaexp.runs.hardest_questions import hardest
from qaexp.runs.record import RunRecord
from qaexp.tracking.logger import RunLogger
from qaexp.training.ranking import RankingModule

HARDEST, DRAWN = 20, 3
CAPTIONED = ("question", "rank", "candidates", "pair", "class", "predicted")
"""What of a hardest question stands over its heat map."""


def log_metrics(logger: RunLogger, record: RunRecord) -> None:
    """Into the run's summary: the final metrics, `<split>/<metric>`, and the epoch whose weights gave them."""
    metrics = {f"{split}/{name}": value for split, table in record.metrics.items() for name, value in table.items()}
    logger.experiment.summary.update({**metrics, "best_epoch": record.best_epoch})


def log_conclusion(logger: RunLogger, folder: Path, record: RunRecord, module: RankingModule, data: RankingDataModule) -> None:
    """Everything with the weights of the best epoch:

    questions/<split>         metrics of each question, or the prediction for each pair with a class: the CSV of the run's folder
    hardest/<split>           the 20 hardest questions
    heat maps/<n>             the 3 hardest of dev, each with its best right answer, if the model shows anything over words
    """
    log_metrics(logger, record)
    concluded: dict[str, Any] = {}
    for split in record.metrics:
        [listed] = [path for path in (folder / f"{split}.questions.csv", folder / f"{split}.pairs.csv") if path.exists()]
        concluded[f"questions/{split}"] = _table(pd.read_csv(listed, dtype={0: str}, keep_default_na=False))
        concluded[f"hardest/{split}"] = _table(hardest(data, split, module.scores[split], HARDEST))
    if "dev" in module.scores:
        concluded |= _heat_maps(module.scorer, data, hardest(data, "dev", module.scores["dev"], DRAWN))
    logger.log_line(concluded, step=len(record.history) + 1)


def _table(frame: pd.DataFrame) -> Any:
    import wandb

    return wandb.Table(columns=list(frame.columns), data=frame.astype(object).to_numpy().tolist())


def _heat_maps(scorer: AnswerScorer, data: RankingDataModule, pairs: pd.DataFrame) -> dict[str, Any]:
    """An image of each pair, of its own size; none for texts with several fields, whose vectors are averaged after pooling."""
    if data.corpus.texts.num_fields > 1:
        return {}
    import wandb
    from PIL import Image

    from qaexp.explain.heat_map import draw, png
    from qaexp.explain.heats import heats

    images = {}
    for number, (pair, row) in enumerate(zip(pairs.index.tolist(), pairs.to_dict("records"), strict=True), 1):
        words = data.words_of_pair("dev", pair)
        question, candidate = (torch.tensor(data.corpus.vocabulary.ids(text)) for text in words)
        if placed := heats(read_out(scorer, question, candidate), *words, unit=None):
            caption = ", ".join(f"{name} {value}" for name, value in row.items() if name in CAPTIONED)
            images[f"heat maps/{number}"] = wandb.Image(Image.open(BytesIO(png(draw(placed, caption)))), caption=caption)
    return images
