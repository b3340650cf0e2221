"""Canaries for pairs with classes: constant, random and label-leaking scorers, whose accuracy can be computed."""

from collections.abc import Iterator

import numpy as np
import torch
from jaxtyping import Int

from qaexp.data.audit.canaries import BROKEN, ERRORS, LEAK, NOTE, OK, Chance, Finding
from qaexp.data.corpus import RankingSplit
from qaexp.data.module import RankingDataModule

FLOAT32 = 1e-6
"""The rounding error of accuracy, a float32, against an exact share."""


def check_classes(data: RankingDataModule, seed: int) -> list[Finding]:
    """Every canary on every split but train."""
    return [finding for split in data.ranked_splits for finding in _check_split(split, data, seed)]


def _check_split(split: str, data: RankingDataModule, seed: int) -> Iterator[Finding]:
    table, num_classes = data.splits[split], len(data.classes)
    labels = table.labels.astype(np.int64)
    shares = np.bincount(labels, minlength=num_classes) / len(labels)
    guess = 1 / num_classes
    yield _finding(split, "label-leaking", data, labels, Chance(1.0, 0.0))
    random = np.random.default_rng(seed).integers(num_classes, size=len(labels))
    yield _finding(split, "random", data, random, Chance(guess, (guess * (1 - guess) / len(labels)) ** 0.5))
    for place, name in enumerate(data.classes):
        yield _finding(split, f"always {name}", data, np.full_like(labels, place), Chance(float(shares[place]), FLOAT32))
    yield _before(split, data, labels)
    if "train" in data.splits:
        yield _seen_in_training(split, table, data.splits["train"])


def _finding(split: str, canary: str, data: RankingDataModule, predicted: Int[np.ndarray, " pair"], expected: Chance) -> Finding:
    accuracy = _accuracy(split, data, predicted)
    as_expected = abs(expected.deviation(accuracy)) <= ERRORS
    remark = "" if as_expected else f"accuracy is {accuracy:.4f}, {expected.mean:.4f} expected"
    return Finding(split, canary, OK if as_expected else BROKEN, {"accuracy": accuracy}, {"accuracy": expected}, remark)


def _before(split: str, data: RankingDataModule, labels: Int[np.ndarray, " pair"]) -> Finding:
    """Predicts the class of the pair before: what the order of the file tells about the labels."""
    shares = np.bincount(labels) / len(labels)
    expected = Chance(float((shares**2).sum()), float(((shares**2).sum() * (1 - (shares**2).sum()) / len(labels)) ** 0.5))
    accuracy = _accuracy(split, data, np.roll(labels, 1))
    off = expected.deviation(accuracy)
    verdict = OK if abs(off) <= ERRORS else NOTE if accuracy < expected.mean else LEAK
    remark = {OK: "", NOTE: "neighbours in the file tend to have different classes; harmless, as models see pairs by themselves"}.get(
        verdict, "neighbours in the file tend to have the same class"
    )
    return Finding(split, "class of the pair before", verdict, {"accuracy": accuracy}, {"accuracy": expected}, remark)


def _seen_in_training(split: str, table: RankingSplit, train: RankingSplit) -> Finding:
    """Equal token sequences are one text of the corpus; a pair is seen if both its texts are."""
    num_texts = 1 + max(int(each.max()) for each in (table.candidates, train.candidates))
    seen = int(np.isin(table.questions * num_texts + table.candidates, train.questions * num_texts + train.candidates).sum())
    remark = f"{seen:,} of {table.num_pairs:,} pairs are in train too, word for word" if seen else ""
    return Finding(split, "seen in train", NOTE if seen else OK, {"count": float(seen)}, {}, remark)


def _accuracy(split: str, data: RankingDataModule, predicted: Int[np.ndarray, " pair"]) -> float:
    scores = torch.nn.functional.one_hot(torch.from_numpy(predicted), len(data.classes)).float()
    return float(data.metrics(split, scores).compute()["accuracy"])
