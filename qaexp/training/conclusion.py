"""What a logger hears once a run has ranked everything: its final metrics and tables."""

from pathlib import Path

from pytorch_lightning.loggers import WandbLogger

from qaexp.results.record import RunRecord


def log_conclusion(logger: WandbLogger, folder: Path, record: RunRecord) -> None:
    """Into the summary go the metrics of each split with the best epoch's weights."""
    summary = {f"{split}/{name}": value for split, metrics in record.metrics.items() for name, value in metrics.items()}
    logger.experiment.summary.update({**summary, "best_epoch": record.best_epoch})
