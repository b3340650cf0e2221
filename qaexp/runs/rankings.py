"""What a run leaves of its scores: metrics for the record, and files from which anyone can compute them again."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from jaxtyping import Float
from torch import Tensor

from qaexp.data.module import RankingDataModule
from qaexp.evaluation.conventions import METRICS
from qaexp.evaluation.trec_files import write_qrels, write_run
from qaexp.files import atomic_write_text

Scores = Mapping[str, Float[Tensor, "pair *class"]]
"""Split to the scores of its pairs, in order."""


def write_rankings(folder: Path, scores: Scores, data: RankingDataModule, tag: str) -> dict[str, dict[str, int | float]]:
    """Write `<split>.run`, `<split>.qrels` and `<split>.questions.csv`, or, of classes, `<split>.pairs.csv`; returns each split's metrics.

    Raises:
        OutputError: the folder is full or read-only.
    """
    if data.classes:
        return {split: _write_classes(folder, scores[split], data, split) for split in data.ranked_splits}
    return {split: _write_ranking(folder, scores[split], data, split, tag) for split in data.ranked_splits}


def _write_classes(folder: Path, scores: Float[Tensor, "pair class"], data: RankingDataModule, split: str) -> dict[str, int | float]:
    table, names = data.splits[split], np.array(data.classes)
    columns = {
        "pair": [name.decode() for name in table.question_ids],
        "class": names[table.labels],
        "predicted": names[scores.argmax(dim=1).numpy()],
        **{f"score of {name}": scores[:, place].tolist() for place, name in enumerate(names)},
    }
    atomic_write_text(folder / f"{split}.pairs.csv", pd.DataFrame(columns).to_csv(index=False))
    return {**{name: value.item() for name, value in data.metrics(split, scores).compute().items()}, "pairs": table.num_pairs}


def _write_ranking(folder: Path, scores: Float[Tensor, " pair"], data: RankingDataModule, split: str, tag: str) -> dict[str, int | float]:
    table, metrics = data.splits[split], data.metrics(split, scores)
    names = [name.decode() for name in table.question_ids]
    questions = [names[q] for q in table.pair_question]
    candidates = [name.decode() for name in table.candidate_ids]
    write_run(folder / f"{split}.run", tag, questions, candidates, scores, torch.from_numpy(data.tie_orders[split]))
    write_qrels(folder / f"{split}.qrels", questions, candidates, torch.from_numpy(np.array(table.labels)))
    measured = {name: values.tolist() for name, values in metrics.per_question().items()}
    measured["question"] = [names[q] for q in measured["question"]]
    columns = ["question", "candidates", "answers", *METRICS]
    atomic_write_text(folder / f"{split}.questions.csv", pd.DataFrame(measured)[columns].to_csv(index=False))
    return {
        **{name: value.item() for name, value in metrics.compute().items()},
        "questions": len(measured["question"]),
        "pairs": table.num_pairs,
        "tied at first answer": metrics.share_tied_at_first_answer().item(),
    }
