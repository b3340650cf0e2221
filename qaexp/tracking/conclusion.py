"""What a run logs at its end: its final metrics and tables of questions."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd
from jaxtyping import Float
from torch import Tensor

from qaexp.data.module import RankingDataModule
from qaexp.runs.hardest_questions import hardest
from qaexp.runs.record import RunRecord
from qaexp.tracking.logger import RunLogger

HARDEST_LISTED = 20


def log_metrics(logger: RunLogger, record: RunRecord) -> None:
    """Puts the final metrics, `<split>/<metric>`, and the best epoch into the run's summary."""
    metrics = {f"{split}/{name}": value for split, table in record.metrics.items() for name, value in table.items()}
    logger.experiment.summary.update({**metrics, "best_epoch": record.best_epoch})


def log_conclusion(
    logger: RunLogger, folder: Path, record: RunRecord, data: RankingDataModule, scores: Mapping[str, Float[Tensor, "pair *class"]]
) -> None:
    """Logs the final metrics and two tables a split, all by the weights of the best epoch:

    questions/<split>         the run's CSV of the split: metrics of each question, or the prediction for each pair with a class
    hardest/<split>           the 20 hardest questions
    """
    log_metrics(logger, record)
    tables: dict[str, Any] = {}
    for split in record.metrics:
        [listed] = [path for path in (folder / f"{split}.questions.csv", folder / f"{split}.pairs.csv") if path.exists()]
        tables[f"questions/{split}"] = _table(pd.read_csv(listed, dtype={0: str}, keep_default_na=False))
        tables[f"hardest/{split}"] = _table(hardest(data, split, scores[split], HARDEST_LISTED))
    logger.log_line(tables, step=len(record.history) + 1)


def _table(frame: pd.DataFrame) -> Any:
    import wandb

    return wandb.Table(columns=list(frame.columns), data=frame.astype(object).to_numpy().tolist())
