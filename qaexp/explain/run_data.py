"""The data set that a run was trained on, and pairs of it as the run ranked them."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from hydra.utils import instantiate
from omegaconf import DictConfig, OmegaConf
from torch import Tensor

from qaexp.config import join_options
from qaexp.data.module import RankingDataModule
from qaexp.errors import ConfigError
from qaexp.models.pairwise.readout import read_out
from qaexp.runs.checkpoint import Ranker
from qaexp.runs.folder import CONFIG, RECORD
from qaexp.runs.record import RunRecord, with_places


def data_of(run: Path, data_dir: str | None) -> RankingDataModule:
    """The data module of a run, reading from `data_dir` in place of the folder that the run was given.

    Raises:
        ConfigError: it is no folder of a run, or the data have changed since.
    """
    if not (run / CONFIG).is_file():
        raise ConfigError(f"{run} has no config.yaml, which names its data set; name the folder of a run, or give the texts themselves")
    cfg = OmegaConf.load(run / CONFIG)
    assert isinstance(cfg, DictConfig)
    if data_dir is not None:
        cfg = OmegaConf.create(with_places(OmegaConf.to_container(cfg), {str(cfg.data_dir): data_dir}))
    data: RankingDataModule = instantiate(cfg.dataset)
    record = RunRecord.load(run) if (run / RECORD).is_file() else None
    if record and record.data and not record.is_over(data.corpus.fingerprint, None):
        raise ConfigError(
            f"the data of {data.name} are others than those of {run}, whose words have other numbers; put the former files back, or name "
            "where they are with --data FOLDER"
        )
    return data


@dataclass(frozen=True)
class Pair:
    """A question and a text ranked for it, in the words that the model reads."""

    name: str
    """What stands over its picture."""
    question: Sequence[str]
    answer: Sequence[str]

    def shown(self, ranker: Ranker) -> dict[str, Tensor]:
        """What the model shows of it, as `qaexp.models.pairwise.readout.read_out` gives it."""
        question, answer = (torch.tensor(ranker.vocabulary.ids(words)) for words in (self.question, self.answer))
        return read_out(ranker.scorer, question, answer)


def pairs_of(run: Path, data: RankingDataModule, questions: Sequence[str], count: int) -> list[Pair]:
    """Of the first test set, the questions with these ids, or the first `count` that have a right answer, each with the right answer
    that the run ranked best. Of classes, the pairs themselves.

    Raises:
        ConfigError: there is no such question, or it has no right answer, or the run has not ranked it.
    """
    name = data.ranked_splits[1]
    split = data.splits[name]
    ids = [question.decode() for question in split.question_ids.tolist()]
    answered = np.ones(split.num_questions, dtype=bool) if data.classes else split.answers_per_question > 0
    if unknown := [question for question in questions if question not in ids]:
        first = ", ".join(ids[:3])
        raise ConfigError(
            f"{name} of dataset={data.name} has no question {unknown[0]!r}, as it has {first}; a text needs its --answer beside it"
        )
    places = [ids.index(question) for question in questions] or np.flatnonzero(answered)[:count].tolist()
    if lacking := [ids[place] for place in places if not answered[place]]:
        raise ConfigError(f"question {lacking[0]} of {name} has no right answer to draw; name one with --answer")
    if data.classes:
        return [Pair(f"pair {ids[place]}, {data.classes[split.labels[place]]}", *data.words_of_pair(name, place)) for place in places]
    if not (run / f"{name}.run").is_file():
        raise ConfigError(
            f"{run} has no {name}.run, which a run leaves at its end; go on with: python -m qaexp {join_options([f'resume={run}'])}"
        )
    columns = ["question", "candidate", "rank"]
    ranked = pd.read_csv(run / f"{name}.run", sep=" ", names=columns, usecols=[0, 2, 3], dtype={0: str, 2: str}, keep_default_na=False)
    ranks = {question: dict(zip(rows["candidate"], rows["rank"], strict=True)) for question, rows in ranked.groupby("question")}
    pairs = []
    for place in places:
        pool = range(split.offsets[place], split.offsets[place + 1])
        of_pool = {pair: ranks[ids[place]][split.candidate_ids[pair].decode()] for pair in pool}
        best = min((pair for pair in pool if split.labels[pair]), key=of_pool.__getitem__)
        title = f"question {ids[place]}, right answer ranked {of_pool[best]} of {len(pool)}"
        pairs.append(Pair(title, *data.words_of_pair(name, best)))
    return pairs
