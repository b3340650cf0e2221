"""The two tasks: ranking a question's candidates, and classifying a pair. Each writes and shows its own results."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from functools import singledispatch
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from qaexp.config import RANK
from qaexp.data.audit.canaries import Finding, check
from qaexp.data.audit.class_canaries import check_classes
from qaexp.data.classification import ClassificationDataModule
from qaexp.data.corpus import RankingSplit
from qaexp.data.module import RankingDataModule
from qaexp.errors import ConfigError
from qaexp.evaluation.ranks import rank_pairs
from qaexp.evaluation.trec_files import read_run, write_qrels, write_run
from qaexp.files import atomic_write_text

Metrics = dict[str, int | float]
Scores = Mapping[str, Float[Tensor, "pair *class"]]
"""Split to the scores of its pairs, in order."""


class Task(ABC):
    """Measures, writes and shows the scores of a data set. Scores are those of a split's pairs, in order."""

    headings: Sequence[str]
    """Headings of the three columns of measures in the table of canaries."""

    @abstractmethod
    def write(self, folder: Path, split: str, scores: Float[Tensor, "pair *class"], tag: str) -> Metrics:
        """Writes a split's files, from which anyone can compute its metrics again, and returns the metrics.

        Raises:
            OutputError: the folder is full or read-only.
        """

    @abstractmethod
    def hardest(self, split: str, scores: Float[Tensor, "pair *class"], count: int) -> pd.DataFrame:
        """The hardest questions or pairs of a split, the hardest first. The index is a pair of the split."""

    @abstractmethod
    def ranked(self, split: str, scores: Float[Tensor, "pair *class"], questions: int, candidates: int) -> pd.DataFrame:
        """The first questions of a split with their top candidates, or the first pairs with their predicted classes, as texts."""

    @abstractmethod
    def audit(self, in_file_order: Callable[[], RankingDataModule], seed: int) -> list[Finding]:
        """Canaries: scorers whose results are known in advance. `in_file_order` builds the same data set with its pools in file order."""

    @abstractmethod
    def shown_pairs(self, run: Path, split: str, questions: Sequence[int]) -> list[tuple[str, int]]:
        """For each question (a place in the split), a title and the pair to draw: its best-ranked right answer, or the classified pair.

        Raises:
            ConfigError: the run left no ranking.
        """

    @abstractmethod
    def can_be_shown(self, split: RankingSplit) -> Bool[np.ndarray, " question"]:
        """The questions for which `shown_pairs` has a pair."""


class Ranking(Task):
    """Questions with candidates that are right or wrong."""

    headings = ("P@1", "MRR", "MAP")

    def __init__(self, data: RankingDataModule) -> None:
        self.data = data

    def write(self, folder: Path, split: str, scores: Float[Tensor, "pair *class"], tag: str) -> Metrics:
        """`<split>.run` and `<split>.qrels` for trec_eval, and `<split>.questions.csv` with the metrics of each question."""
        table, metrics = self.data.splits[split], self.data.metrics(split, scores)
        names = [name.decode() for name in table.question_ids]
        questions = [names[q] for q in table.pair_question]
        candidates = [name.decode() for name in table.candidate_ids]
        write_run(folder / f"{split}.run", tag, questions, candidates, scores, torch.from_numpy(self.data.tie_orders[split]))
        write_qrels(folder / f"{split}.qrels", questions, candidates, torch.from_numpy(np.array(table.relevance)))
        measured = {name: values.tolist() for name, values in metrics.per_question().items()}
        measured["question"] = [names[q] for q in measured["question"]]
        columns = ["question", "candidates", "answers", *metrics.measures]
        atomic_write_text(folder / f"{split}.questions.csv", pd.DataFrame(measured, columns=columns).to_csv(index=False))
        return {
            **{name: value.item() for name, value in metrics.compute().items()},
            "questions": len(measured["question"]),
            "pairs": table.num_pairs,
            "tied at first answer": metrics.share_tied_at_first_answer().item(),
        }

    def hardest(self, split: str, scores: Float[Tensor, "pair *class"], count: int) -> pd.DataFrame:
        """Questions whose best right answer ranks lowest. At the same rank, a larger gap in score is harder.

        The index is the pair of the best right answer. `answer` is its text; the candidate that ranks first stands beside it.
        """
        table, values = self.data.splits[split].by_spelling(), scores.float().numpy()
        questions, starts = table.pair_question, table.offsets[:-1]
        order, ranks = self._order(split, scores)
        right = np.flatnonzero(table.labels[order] > 0)
        answered, firsts = np.unique(questions[order[right]], return_index=True)
        best, leading, rank = order[right[firsts]], order[starts[answered]], ranks[right[firsts]]
        chosen = np.lexsort((values[best] - values[leading], -rank))[:count]
        answered, best, leading = answered[chosen], best[chosen], leading[chosen]
        return pd.DataFrame(
            {
                "question": [name.decode() for name in table.question_ids[answered].tolist()],
                "rank": rank[chosen],
                "candidates": np.diff(table.offsets)[answered],
                "text": _texts(self.data, table.questions[answered]),
                "answer": _texts(self.data, table.candidates[best]),
                "score": values[best],
                "ranked first": _texts(self.data, table.candidates[leading]),
                "its score": values[leading],
            },
            index=best,
        )

    def _order(self, split: str, scores: Float[Tensor, " pair"]) -> tuple[Int[np.ndarray, " pair"], Int[np.ndarray, " pair"]]:
        """The pairs of a split by question and rank, and the rank of each."""
        table = self.data.splits[split]
        questions = table.pair_question
        order = rank_pairs(scores, torch.from_numpy(questions), torch.from_numpy(self.data.tie_orders[split])).numpy()
        return order, np.arange(len(order)) - table.offsets[questions[order]] + 1  # questions are in order: each has its range of `order`

    def ranked(self, split: str, scores: Float[Tensor, "pair *class"], questions: int, candidates: int) -> pd.DataFrame:
        table = self.data.splits[split].by_spelling()
        order, ranks = self._order(split, scores)
        shown = (table.pair_question[order] < questions) & (ranks <= candidates)
        pairs, ranks = order[shown], ranks[shown]
        asked = table.pair_question[pairs]
        return pd.DataFrame(
            {
                "question": [name.decode() for name in table.question_ids[asked].tolist()],
                "text": _texts(self.data, table.questions[asked]),
                "rank": ranks,
                "label": table.relevance[pairs],
                "score": scores.float().numpy()[pairs],
                "candidate": _texts(self.data, table.candidates[pairs]),
            }
        )

    def audit(self, in_file_order: Callable[[], RankingDataModule], seed: int) -> list[Finding]:
        return check(self.data, in_file_order(), seed)

    def shown_pairs(self, run: Path, split: str, questions: Sequence[int]) -> list[tuple[str, int]]:
        """The right answer that the run ranked best."""
        if not (run / f"{split}.run").is_file():
            raise ConfigError(f"{run} has no {split}.run, which a run writes at its end; resume it: {RANK.resume(run)}")
        table, ranked = self.data.splits[split], read_run(run / f"{split}.run")
        ranks = {question: dict(zip(rows["candidate"], rows["rank"], strict=True)) for question, rows in ranked.groupby("question")}
        shown = []
        for question in questions:
            name, pool = table.question_ids[question].decode(), range(table.offsets[question], table.offsets[question + 1])
            rank_of = {pair: ranks[name][table.candidate_ids[pair].decode()] for pair in pool}
            best = min((pair for pair in pool if table.labels[pair] > 0), key=rank_of.__getitem__)
            shown.append((f"question {name}, right answer ranked {rank_of[best]} of {len(pool)}", best))
        return shown

    def can_be_shown(self, split: RankingSplit) -> Bool[np.ndarray, " question"]:
        return split.answers_per_question > 0


class Classification(Task):
    """Pairs that belong to one of several classes; the class with the highest score counts."""

    headings = ("accuracy", "", "")

    def __init__(self, data: ClassificationDataModule) -> None:
        self.data = data

    def write(self, folder: Path, split: str, scores: Float[Tensor, "pair *class"], tag: str) -> Metrics:
        """`<split>.pairs.csv`: the class, the prediction and the scores of each pair."""
        measured = self.data.metrics(split, scores).compute()  # first, as it refuses scores of a model without classes
        table, names = self.data.splits[split], np.array(self.data.classes)
        columns = {
            "pair": [name.decode() for name in table.question_ids],
            "class": names[table.labels],
            "predicted": names[scores.argmax(dim=1).numpy()],
            **{f"score of {name}": scores[:, place].tolist() for place, name in enumerate(names)},
        }
        atomic_write_text(folder / f"{split}.pairs.csv", pd.DataFrame(columns).to_csv(index=False))
        return {**{name: value.item() for name, value in measured.items()}, "pairs": table.num_pairs}

    def hardest(self, split: str, scores: Float[Tensor, "pair *class"], count: int) -> pd.DataFrame:
        """Pairs whose class has the lowest probability."""
        table, probabilities = self.data.splits[split].by_spelling(), scores.float().softmax(dim=1).numpy()
        own = probabilities[np.arange(table.num_pairs), table.labels]
        chosen = np.argsort(own, kind="stable")[:count]
        return pd.DataFrame(
            {
                "pair": [name.decode() for name in table.question_ids[table.pair_question[chosen]].tolist()],
                "first": _texts(self.data, table.questions[table.pair_question[chosen]]),
                "second": _texts(self.data, table.candidates[chosen]),
                "class": [self.data.classes[label] for label in table.labels[chosen]],
                "its probability": own[chosen],
                "predicted": [self.data.classes[label] for label in probabilities[chosen].argmax(axis=1)],
            },
            index=chosen,
        )

    def ranked(self, split: str, scores: Float[Tensor, "pair *class"], questions: int, candidates: int) -> pd.DataFrame:
        table = self.data.splits[split].by_spelling()
        pairs = np.arange(min(questions, table.num_pairs))
        return pd.DataFrame(
            {
                "pair": [name.decode() for name in table.question_ids[pairs].tolist()],
                "first": _texts(self.data, table.questions[pairs]),
                "second": _texts(self.data, table.candidates[pairs]),
                "class": [self.data.classes[label] for label in table.labels[pairs]],
                "predicted": [self.data.classes[label] for label in scores[pairs].argmax(dim=1).tolist()],
            }
        )

    def audit(self, in_file_order: Callable[[], RankingDataModule], seed: int) -> list[Finding]:
        return check_classes(self.data, seed)

    def shown_pairs(self, run: Path, split: str, questions: Sequence[int]) -> list[tuple[str, int]]:
        """The pairs themselves: each is a question with one candidate."""
        table = self.data.splits[split]
        return [(f"pair {table.question_ids[pair].decode()}, {self.data.classes[table.labels[pair]]}", pair) for pair in questions]

    def can_be_shown(self, split: RankingSplit) -> Bool[np.ndarray, " question"]:
        return np.ones(split.num_questions, dtype=bool)


@singledispatch
def task_of(data: RankingDataModule) -> Task:
    """The task of a data set. Your own data module may register another, as below."""
    return Ranking(data)


@task_of.register
def _(data: ClassificationDataModule) -> Task:
    return Classification(data)


def write_results(folder: Path, scores: Scores, data: RankingDataModule, tag: str) -> dict[str, Metrics]:
    """Writes the files of every ranked split, and returns its metrics.

    Raises:
        OutputError: the folder is full or read-only.
    """
    task = task_of(data)
    return {split: task.write(folder, split, scores[split], tag) for split in data.ranked_splits}


def _texts(data: RankingDataModule, texts: np.ndarray) -> list[str]:
    return [data.corpus.written(int(text)) for text in texts]
