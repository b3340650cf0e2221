"""What the papers' tables of data statistics count: measures of splits, and of AskUbuntu's files."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np

from qaexp.data.corpus import RankingSplit, TokenTable
from qaexp.data.fetch.remotes import fetch_hint
from qaexp.data.files import lines, published, records
from qaexp.errors import plural

Splits = Sequence[RankingSplit]
Count = int | float
"""A count, or a mean."""


def num_questions(texts: TokenTable, splits: Splits) -> int:
    return sum(split.num_questions for split in splits)


def num_pairs(texts: TokenTable, splits: Splits) -> int:
    return sum(split.num_pairs for split in splits)


def candidates_per_question(texts: TokenTable, splits: Splits) -> float:
    return num_pairs(texts, splits) / num_questions(texts, splits)


def question_length(texts: TokenTable, splits: Splits) -> float:
    """Mean tokens of a question, counted as often as it is asked."""
    return float(texts.lengths(np.concatenate([split.questions for split in splits])).mean())


def candidate_length(texts: TokenTable, splits: Splits) -> float:
    """Mean tokens of a candidate. Reading: "average length of answers" is that of the distinct texts in the pools, right and wrong."""
    return float(texts.lengths(np.unique(np.concatenate([split.candidates for split in splits]))).mean())


def answer_to_question_length(texts: TokenTable, splits: Splits) -> float:
    """Mean, over pairs of a question and its right candidate, of the candidate's length over the question's."""
    right = [np.flatnonzero(split.labels) for split in splits]
    answers = np.concatenate([split.candidates[pairs] for split, pairs in zip(splits, right, strict=True)])
    questions = np.concatenate([split.questions[split.pair_question[pairs]] for split, pairs in zip(splits, right, strict=True)])
    return float((texts.lengths(answers) / texts.lengths(questions)).mean())


def num_words(texts: TokenTable, splits: Splits) -> int:
    """Distinct tokens of all texts, in pools or not."""
    return len(np.unique(texts.ids))


MEASURES: Mapping[str, Callable[[TokenTable, Splits], Count]] = {
    "questions": num_questions,
    "pairs": num_pairs,
    "candidates per question": candidates_per_question,
    "question length": question_length,
    "candidate length": candidate_length,
    "words": num_words,
    "answer length / question length": answer_to_question_length,
}


def askubuntu_pools(path: Path) -> dict[str, Count]:
    """Figures of `train_random.txt`, `dev.txt` or `test.txt`: query id, right ids, candidate ids, and in dev and test BM25 scores.

    Raises:
        BadDataError: lines have fewer than three fields.
    """
    num, num_right, num_candidates = 0, 0, 0
    with published(path, fetch_hint("askubuntu")) as faults:
        for line, text in lines(faults):
            fields = text.split("\t")
            if len(fields) < 3:
                faults.add(line, f"{plural(len(fields), 'field')}, at least 3 expected")
                continue
            num, num_right, num_candidates = num + 1, num_right + len(fields[1].split()), num_candidates + len(fields[2].split())
    return {"questions": num, "right pairs": num_right, "pairs": num_candidates, "answers per question": num_right / num}


def askubuntu_texts(path: Path) -> dict[str, Count]:
    """Figures of `text_tokenized.txt`: question id, title, body, which was cut at 100 words before it was published.

    Raises:
        BadDataError: lines do not have three fields.
    """
    ids, title_words, body_words = set[str](), 0, 0
    with published(path, fetch_hint("askubuntu")) as faults:
        for _, (name, title, body) in records(faults, 3):
            ids.add(name)
            title_words, body_words = title_words + len(title.split()), body_words + len(body.split())
    return {"questions": len(ids), "title length": title_words / len(ids), "body length": body_words / len(ids)}


FILE_MEASURES: Mapping[str, Callable[[Path], dict[str, Count]]] = {"askubuntu_pools": askubuntu_pools, "askubuntu_texts": askubuntu_texts}
