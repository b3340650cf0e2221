"""The data set of a run, and pairs of its test set as the run ranked them."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from hydra.errors import InstantiationException
from hydra.utils import instantiate
from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException
from torch import Tensor

from qaexp.data.module import RankingDataModule
from qaexp.errors import ConfigError, MissingDataError, first_line
from qaexp.explain.names import run_in_words
from qaexp.models.scorer import read_out
from qaexp.runs.folder import CONFIG, RECORD, example_below
from qaexp.runs.ranker import Ranker
from qaexp.runs.record import RunRecord
from qaexp.runs.sources import Sources
from qaexp.runs.tasks import task_of
from qaexp.runs.trusted import saved_config


def data_of(run: Path, data_dir: str | None) -> RankingDataModule:
    """The data module of a run. It reads from `data_dir`, if given, in place of the run's own data folder.

    If the run read a file or folder outside its data folder, `data_dir` is that file or folder, or the folder that contains it.

    Raises:
        ConfigError: this is not a folder of a run, or the data have changed since.
        CheckpointError, RecordError: the run's configuration or record is damaged.
        MissingDataError: the data are not there.
    """
    if not (run / CONFIG).is_file():
        raise ConfigError(f"{run} has no {CONFIG}, which names its data set; name a run's folder{example_below(run, CONFIG)}")
    cfg = saved_config(run, **({} if data_dir is None else {"data_dir": data_dir}))
    if data_dir is not None and (own := OmegaConf.select(cfg, "dataset.reader.folder")) and not Path(own).is_relative_to(cfg.data_dir):
        inside = Path(data_dir).expanduser() / Path(own).name
        cfg.dataset.reader.folder = str(inside if inside.exists() else data_dir)
    try:
        data: RankingDataModule = instantiate(cfg.dataset)
        fingerprint = data.corpus.fingerprint  # reads it
    except MissingDataError as error:
        missing = ", ".join(map(str, error.files)) or str(error).rstrip(".")
        raise MissingDataError(
            f"{run} was trained on files that are not there: {missing}. --data PLACE says where they are", error.files
        ) from error
    except (InstantiationException, OmegaConfBaseException) as error:
        raise ConfigError(
            f"{run / CONFIG} describes no data set that can be built ({first_line(error)}); put back the file that the run left"
        ) from error
    record = RunRecord.load(run) if (run / RECORD).is_file() else None
    if record and record.data and not record.has_read(Sources(fingerprint, written=data.corpus.written_fingerprint)):
        raise ConfigError(
            f"the data of {data.name} have changed since {run}, and its word ids no longer fit; put the old files back, or name their "
            "place with --data PLACE"
        )
    return data.by_spelling()


def beginning_of_title(run: Path) -> str:
    """The beginning of a picture's title, such as `AP-CNN on WikiQA, seed 1: `. Empty if no record lies beside the checkpoint."""
    folder = run if run.is_dir() else run.parent
    return f"{run_in_words(RunRecord.load(folder).config)}: " if (folder / RECORD).is_file() else ""


@dataclass(frozen=True)
class Pair:
    """A question and a text ranked for it, in the words that the model reads."""

    name: str
    """The title of its picture."""
    question: Sequence[str]
    answer: Sequence[str]

    def shown(self, ranker: Ranker) -> dict[str, Tensor]:
        """What the model shows of the pair (`qaexp.models.scorer.read_out`)."""
        question, answer = (ranker.ids_of_words(words) for words in (self.question, self.answer))
        return read_out(ranker.scorer, question, answer)


def pairs_of(run: Path, data: RankingDataModule, questions: Sequence[str], count: int) -> list[Pair]:
    """Questions of the first test set (dev, where there is none), each with the right answer that the run ranked best.

    The questions are those with the ids in `questions`, or the first `count` that have a right answer. If the data have classes, the pairs
    themselves take the place of questions.

    Raises:
        ConfigError: there is no such question, or it has no right answer, or the run has not ranked it.
    """
    name = data.shown_split
    split = data.splits[name]
    ids = [question.decode() for question in split.question_ids.tolist()]
    task = task_of(data)
    answered = task.can_be_shown(split)
    if unknown := [question for question in questions if question not in ids]:
        first = ", ".join(ids[:3])
        raise ConfigError(
            f"{name} of dataset={data.name} has no question with the id {unknown[0]!r}; ids look like {first}. "
            "To draw a text of your own, give it with --question and --answer"
        )
    places = [ids.index(question) for question in questions] or np.flatnonzero(answered)[:count].tolist()
    if lacking := [ids[place] for place in places if not answered[place]]:
        raise ConfigError(f"question {lacking[0]} of {name} has no right answer to draw; name one with --answer")
    shown = task.shown_pairs(run, name, places)
    return [Pair(title, *data.words_of_pair(name, pair)) for title, pair in shown]
