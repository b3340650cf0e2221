"""Ranks a data set, that of the training or another one, with a trained model; measures and writes the rankings."""

import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.utils import instantiate
from omegaconf import DictConfig, OmegaConf

from qaexp.config import RANK, compose, without_keys
from qaexp.data.corpus import RankingCorpus
from qaexp.data.files import progress
from qaexp.data.module import RankingDataModule
from qaexp.data.vectors.sources import VectorSource, WordVectors, digests
from qaexp.data.vocabulary import SPECIAL_WORDS, UNKNOWN, Vocabulary
from qaexp.errors import ConfigError, MissingDataError, RecordError, meant
from qaexp.files import atomic_write_text, name_another_place, require_writable
from qaexp.mistakes import check_config, config_of_choices
from qaexp.models.scorer import AnswerScorer
from qaexp.runs.checkpoint import open_checkpoint, rebuild_scorer
from qaexp.runs.folder import CONFIG, EVALUATION, checkpoint_file
from qaexp.runs.provenance import git_commit, versions
from qaexp.runs.record import RunRecord
from qaexp.runs.tasks import Metrics, Scores, write_results
from qaexp.runs.trusted import saved_config
from qaexp.training.matmul import choose_matmul
from qaexp.training.scoring import score_blocks

log = logging.getLogger(__name__)

OF_DATA = ("dataset", "data_dir", "cache_dir")
"""The options that an evaluation takes."""


@dataclass(frozen=True)
class Words:
    """The distinct words of dev and test that the model's vocabulary lacks."""

    outside: int = 0
    with_vectors: int = 0
    """How many of them get vectors from the model's own vector files. If the model can take new words, the others get random vectors."""
    unknown: int = 0
    """How many of them are read as one unknown word."""
    share_unknown: float = 0.0
    """The fraction of all words in dev and test that they make up, in [0, 1]. A text that occurs several times is counted once."""


@dataclass(frozen=True)
class Evaluation:
    """What a trained model reaches on a data set."""

    metrics: Mapping[str, Metrics]
    """Split to metric to value, as in a run's record."""
    words: Words
    convention: str
    folder: Path
    """Has rankings and labels in TREC's format, the measures of each question, and `evaluation.json`."""


def evaluate_run(run: Path, overrides: Sequence[str] = (), folder: Path | None = None) -> Evaluation:
    """Rank dev and test of a data set with a run's best checkpoint, or with the checkpoint file `run`.

    `overrides` choose the data set as on the command line; without any, it is the run's own. Words outside the model's vocabulary get
    vectors from the same published files as the others, or are read as one unknown word and counted. Without a `folder` the files go into
    `evaluations/<data set>` beside the checkpoint.

    Raises:
        ConfigError: an option does not belong to the data set, or the classes of the data set are not those of the model.
        CheckpointError, MissingDataError, BadDataError: the checkpoint or the data cannot be read.
        OutputError: the folder cannot be written.
    """
    file = checkpoint_file(run)
    cfg = _configuration(file.parent, overrides)
    checkpoint = open_checkpoint(file)
    plan, scorer = checkpoint["qaexp"], rebuild_scorer(checkpoint).eval()
    data = _data(run, file.parent, cfg, plan, is_own=not overrides)
    folder = folder or file.parent / "evaluations" / str(data.name)
    require_writable(folder / EVALUATION, name_another_place("--to FOLDER"))
    choose_matmul("auto")
    words = Words()
    if scorer.subwords:
        data = data.read_by(scorer.subwords)
    else:
        data, words = _in_vocabulary(data, scorer, Vocabulary(plan["vocabulary"]), file.parent, cfg)
    scorer.to("cuda" if torch.cuda.is_available() else "cpu")
    scores = _scores(scorer, data)
    _remove_former(folder)
    done = Evaluation(write_results(folder, scores, data, plan.get("key", "") or "qaexp"), words, data.convention, folder)
    facts = {
        "run": str(run),
        "key": plan.get("key", ""),
        "step": checkpoint["global_step"],
        "dataset": OmegaConf.to_container(cfg.dataset, resolve=True),
        "convention": done.convention,
        "data": data.describe(reads_vectors=False),
        "words": asdict(words),
        "metrics": done.metrics,
        "commit": git_commit(),
        "versions": versions(),
    }
    atomic_write_text(folder / EVALUATION, json.dumps(facts, indent=1) + "\n", name_another_place("--to FOLDER"))
    return done


def _data(run: Path, folder: Path, cfg: DictConfig, plan: Mapping[str, Any], is_own: bool) -> RankingDataModule:
    """The data set that `cfg` names, with the words left out that a run in `folder` leaves out by its `plan` to rebuild.

    `is_own` says that it is the data set of the run, whose files may have changed.

    Raises:
        ConfigError: its classes are not those of the run, or the run's vectors are not known.
    """
    if plan.get("drop_unknown"):  # the words to leave out are those that the run's vectors lack
        if not (folder / CONFIG).is_file():
            raise ConfigError(f"{run} leaves out words without a vector, and {CONFIG} names the vectors; put the run's {CONFIG} beside it")
        cfg.dataset.drop_unknown = True
        cfg.dataset.vectors = OmegaConf.to_container(saved_config(folder, data_dir=str(cfg.data_dir)).dataset.vectors, resolve=True)
    data: RankingDataModule = instantiate(cfg.dataset)
    of_run = RunRecord.of(folder)
    if is_own and of_run and of_run.data.get("fingerprint") != data.corpus.fingerprint:
        log.warning(
            "the files of dataset=%s have changed since the run was made, so these are not the texts that it was measured on", data.name
        )
    if tuple(plan["classes"]) != tuple(data.classes):
        ours, theirs = (", ".join(classes) or "a ranking" for classes in (plan["classes"], data.classes))
        raise ConfigError(f"{run} predicts {ours}, and dataset={data.name} has {theirs}; choose another data set")
    return data


def _scores(scorer: AnswerScorer, data: RankingDataModule) -> Scores:
    """The scores of every ranked split, with a progress bar."""
    scores = {}
    with progress() as bar:
        for split in data.ranked_splits:
            blocks = data.scoring_blocks(split)
            tracked = bar.track(blocks, total=len(blocks), description=split)
            scores[split] = score_blocks(scorer, tracked, data.splits[split].num_pairs)
    return scores


def _remove_former(folder: Path) -> None:
    """Remove the files of an earlier evaluation, which may have had other splits."""
    if (folder / EVALUATION).is_file():
        for path in folder.iterdir():
            if path.name == EVALUATION or path.name.endswith((".run", ".qrels", ".questions.csv", ".pairs.csv")):
                path.unlink()


def _configuration(run: Path, overrides: Sequence[str]) -> DictConfig:
    """The configuration of the data set: the one that is chosen, or the run's own."""
    if odd := without_keys(overrides, OF_DATA):
        name = odd[0].lstrip("+~").partition("=")[0].partition(".")[0]
        raise ConfigError(f"{odd[0]} is not an option of a data set, and the model is the run's; {meant(name, OF_DATA)}")
    if any(option.lstrip("+").startswith("dataset=") for option in overrides):
        cfg = compose(overrides)
        check_config(cfg, config_of_choices(overrides, RANK), overrides)
        return cfg
    if not (run / CONFIG).is_file():
        raise ConfigError(f"{run} has no {CONFIG} that names its data set; choose one with dataset=NAME")
    if odd := without_keys(overrides, OF_DATA[1:]):
        raise ConfigError(f"{odd[0]} changes the data set; name it, too, as in dataset=NAME {odd[0]}")
    given = OverridesParser.create().parse_overrides(list(overrides))
    return saved_config(run, **{option.key_or_group: str(option.value()) for option in given})


def _in_vocabulary(
    data: RankingDataModule, scorer: AnswerScorer, vocabulary: Vocabulary, run: Path, cfg: DictConfig
) -> tuple[RankingDataModule, Words]:
    """The data in the model's vocabulary. Words that the model lacks are appended to it, if it can take new words."""
    words = data.corpus.vocabulary.words
    ids = np.array(vocabulary.ids(words))
    ids[: len(SPECIAL_WORDS)] = range(len(SPECIAL_WORDS))
    ranked = [data.splits[split] for split in data.ranked_splits]
    texts = np.unique(np.concatenate([side for split in ranked for side in (split.questions, split.candidates)]))
    uses = np.bincount(np.concatenate([data.corpus.texts.words(int(text)) for text in texts]), minlength=len(words))
    new = np.flatnonzero((ids == UNKNOWN) & (uses > 0) & (np.arange(len(ids)) != UNKNOWN))
    if not len(new):
        return data.with_ids(ids), Words()
    places = {"data_dir": str(cfg.data_dir), "cache_dir": str(cfg.cache_dir)}
    vectors = vectors_of(data.corpus, run, **places) if scorer.reads_vectors else None
    if vectors and scorer.add_words([words[number] for number in new], torch.from_numpy(vectors.matrix[new])):
        ids[new] = len(vocabulary) + np.arange(len(new))
        return data.with_ids(ids), Words(len(new), int(np.isin(new, vectors.known).sum()))
    return data.with_ids(ids), Words(len(new), 0, len(new), float(uses[new].sum() / uses.sum()))


def vectors_of(corpus: RankingCorpus, run: Path, **places: str) -> WordVectors | None:
    """The vectors of a corpus' words from the published vector files of a run. None, with a warning, if the files are missing or have
    changed.

    `places` are `data_dir` and `cache_dir`, by default the run's own.
    """
    try:
        if not (run / CONFIG).is_file():
            return None
        ours = saved_config(run, **places)
        cache = Path(ours.cache_dir).expanduser()
        source: VectorSource = instantiate(ours.dataset.vectors)
        if not (files := digests(source, cache)):
            return None
        if RunRecord.load(run).data["vectors"]["files"] == files:
            return source.build(corpus, cache, int(ours.seed))
        log.warning("the word vectors of %s have changed since: its vocabulary is not extended", run)
    except (MissingDataError, RecordError, KeyError) as error:
        log.warning("the vocabulary of %s is not extended: %s", run, error)
    return None
