"""Run and qrels files that trec_eval reads, so that anyone can recompute our metrics without our code."""

import csv
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from jaxtyping import Float, Int
from torch import Tensor

from qaexp.errors import BadDataError
from qaexp.evaluation.ranks import rank_pairs
from qaexp.files import atomic_write


def write_run(
    path: Path,
    tag: str,
    question_ids: Sequence[str],
    candidate_ids: Sequence[str],
    scores: Float[Tensor, " pair"],
    tie_order: Int[Tensor, " pair"],
) -> None:
    """Writes `question Q0 candidate rank score tag`, a line for each pair: questions in the order given, their candidates by rank.

    Among equal scores the larger `tie_order` ranks first; trec_eval itself sorts by score and breaks ties by id.
    Nine significant digits read back as the same float32. The file is written atomically.

    Raises: BadDataError on ids that a line cannot hold or that repeat within a question; OutputError as `atomic_write`;
    UnrankableScoresError as `rank_pairs`.
    """
    scores = scores.detach().float().cpu()
    _require_words(path, "tag", [tag])
    numbers = _number_pairs(path, question_ids, candidate_ids)
    order = rank_pairs(scores, torch.as_tensor(numbers), tie_order.cpu()).numpy()
    places, sizes = np.arange(len(order)), np.bincount(numbers)
    ranks = places - np.repeat(np.cumsum(sizes) - sizes, sizes) + 1
    rows = zip(order.tolist(), ranks.tolist(), scores.numpy()[order].tolist(), strict=True)
    _write(path, (f"{question_ids[pair]} Q0 {candidate_ids[pair]} {rank} {score:.9g} {tag}\n" for pair, rank, score in rows))


def write_qrels(path: Path, question_ids: Sequence[str], candidate_ids: Sequence[str], labels: Int[Tensor, " pair"]) -> None:
    """Writes `question 0 candidate label`, one line for each pair, also for wrong candidates, in the order given.

    Raises: BadDataError on ids that a line cannot hold or that repeat within a question; OutputError.
    """
    _number_pairs(path, question_ids, candidate_ids)
    rows = zip(question_ids, candidate_ids, labels.tolist(), strict=True)
    _write(path, (f"{question} 0 {candidate} {label}\n" for question, candidate, label in rows))


def read_run(path: Path) -> pd.DataFrame:
    """The columns `question`, `candidate`, `rank` and `score` of a file that `write_run` wrote, a row for each line."""
    columns = ["question", "candidate", "rank", "score"]
    kinds: Any = {"question": str, "candidate": str, "score": float}
    return pd.read_csv(
        path, sep=" ", names=columns, usecols=[0, 2, 3, 4], dtype=kinds, keep_default_na=False, quoting=csv.QUOTE_NONE, encoding="utf-8"
    )


def _number_pairs(path: Path, question_ids: Sequence[str], candidate_ids: Sequence[str]) -> Int[np.ndarray, " pair"]:
    """Each pair's question, numbered by first occurrence, after checking that the ids fit a line."""
    questions, distinct_questions = pd.factorize(np.asarray(question_ids, dtype=object))
    candidates, distinct_candidates = pd.factorize(np.asarray(candidate_ids, dtype=object))
    _require_words(path, "question id", distinct_questions)
    _require_words(path, "candidate id", distinct_candidates)
    repeats = np.flatnonzero(pd.Series(questions * (len(distinct_candidates) + 1) + candidates).duplicated())
    if len(repeats):
        faults = [f"question {question_ids[pair]}: candidate {candidate_ids[pair]} again" for pair in repeats.tolist()]
        raise BadDataError(path, faults, "trec_eval takes each candidate once per question: give each repeat its own id, such as a9#2.")
    return questions


def _require_words(path: Path, kind: str, ids: Iterable[str]) -> None:
    if faults := [f"{kind} {word!r}" for word in ids if word.split() != [word]]:
        raise BadDataError(path, faults, "Fields of a trec_eval line have no white space and are not empty: change these.")


def _write(path: Path, lines: Iterable[str]) -> None:
    with atomic_write(path) as staging, staging.open("w", encoding="utf-8", newline="\n") as file:
        file.writelines(lines)
