"""What the report of runs holds: their scores with intervals, their curves, and every question of a split with its ranking."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from qaexp.data.corpus import RankingSplit
from qaexp.data.module import RankingDataModule
from qaexp.errors import ConfigError, MissingDataError, meant
from qaexp.evaluation.measures import heading, is_measure
from qaexp.evaluation.run_files import Qrels, measure_run
from qaexp.evaluation.significance import Interval, holm
from qaexp.evaluation.trec_files import read_run
from qaexp.explain.names import data_set_in_words, run_in_words
from qaexp.runs.comparison import difference
from qaexp.runs.record import RunRecord

OWN_PROBABILITY = "probability of its class"


@dataclass(frozen=True)
class RankedSplit:
    """A split as several runs ranked it. Pairs stand by question, in the first run's order. A pair with a class is a question with one
    candidate.
    """

    split: RankingSplit
    questions: Sequence[int]
    """The questions that were ranked, as places in the split."""
    pairs: Sequence[np.ndarray]
    """The pairs of each question, as places in the split."""
    ranks: Sequence[Mapping[int, int]]
    """For each run, pair to rank."""
    scores: Sequence[Mapping[int, Any]]
    """For each run, pair to score or, with classes, to the score of each class."""
    values: Sequence[pd.DataFrame]
    """For each run, a row of measures for each question."""

    def first_right(self, run: int) -> list[int]:
        """The rank of each question's best right answer, 0 if it has none."""
        labels, ranks = self.split.labels, self.ranks[run]
        return [min((ranks[pair] for pair in pool if labels[pair] > 0), default=0) for pool in map(np.ndarray.tolist, self.pairs)]


def open_runs(runs: Sequence[Path], data: RankingDataModule, split: str | None) -> tuple[list[RunRecord], str]:
    """The records of the runs, and the split to report: the first test set, unless one is named.

    Raises:
        ConfigError: a run is named twice, or is of other data or another convention; or there is no such split.
        RecordError, MissingDataError: a run has no record, or has not ranked the split.
    """
    if len({run.resolve() for run in runs}) < len(runs):
        raise ConfigError("a run is named twice; name each run once")
    records = [RunRecord.load(run) for run in runs]
    chosen = split or data.shown_split
    if chosen not in data.ranked_splits:
        raise ConfigError(f"--split {chosen}: {meant(chosen, data.ranked_splits)}")
    for run, record in zip(runs, records, strict=True):
        if not record.metrics:
            raise ConfigError(f"{run} is {record.status}; a report needs finished runs")
        if record.data.get("fingerprint") != data.corpus.fingerprint:
            raise ConfigError(f"{run} and {runs[0]} are of different data; report runs of the same files together")
        if record.convention != records[0].convention:
            conventions = f"{record.convention} and {records[0].convention}"
            raise ConfigError(f"{run} and {runs[0]} were measured by different conventions, {conventions}; report each by itself")
        if not (path := _results(run, chosen, data)).is_file():
            raise MissingDataError(f"{path} does not exist; name the folder of a finished run")
    return records, chosen


def ranked_split(runs: Sequence[Path], records: Sequence[RunRecord], data: RankingDataModule, name: str) -> RankedSplit:
    """Reads what the runs wrote of a split.

    Raises:
        ConfigError: the runs do not rank the same questions, or a ranking is not of these data.
        BadDataError: a file is damaged.
    """
    split = data.splits[name]
    both = zip(runs, records, strict=True)
    read = [_classified(run, data, name) if data.classes else _ranked(run, record, data, name) for run, record in both]
    ranks, scores, values = zip(*read, strict=True)
    measures = _shared_measures(values)
    values = tuple(each[measures] for each in values)
    for run, other in zip(runs, values, strict=True):
        if not other.index.equals(values[0].index):
            raise ConfigError(f"{run} and {runs[0]} do not rank the same questions; report each by itself")
    place = {question: at for at, question in enumerate(split.question_ids.tolist())}
    questions = [place[str(question).encode()] for question in values[0].index]
    pairs = []
    for question in questions:
        pool = np.arange(split.offsets[question], split.offsets[question + 1])
        pairs.append(np.array(sorted((pair for pair in pool.tolist() if pair in ranks[0]), key=ranks[0].__getitem__), dtype=np.int64))
    return RankedSplit(split, questions, pairs, ranks, scores, values)


def _shared_measures(values: Iterable[pd.DataFrame]) -> list[str]:
    """The measures that all runs have, in the order of the first."""
    first, *others = values
    return [str(name) for name in first.columns if all(name in other.columns for other in others)]


def _ranked(run: Path, record: RunRecord, data: RankingDataModule, name: str) -> tuple[dict[int, int], dict[int, float], pd.DataFrame]:
    split, path = data.splits[name], run / f"{name}.run"
    names = zip(split.question_ids[split.pair_question].tolist(), split.candidate_ids.tolist(), strict=True)
    pair_of = {(question, candidate): pair for pair, (question, candidate) in enumerate(names)}
    ranking = read_run(path)
    keys = zip(ranking["question"], ranking["candidate"], strict=True)
    pairs = [pair_of.get((question.encode(), candidate.encode()), -1) for question, candidate in keys]
    if -1 in pairs:
        question, candidate = ranking.loc[pairs.index(-1), ["question", "candidate"]]
        raise ConfigError(f"{path} ranks {candidate} for {question}, which {name} of dataset={data.name} lacks; take the data of the run")
    ranks = dict(zip(pairs, ranking["rank"].tolist(), strict=True))
    return ranks, dict(zip(pairs, ranking["score"].tolist(), strict=True)), _measured(run, record, data, name)


def _measured(run: Path, record: RunRecord, data: RankingDataModule, name: str) -> pd.DataFrame:
    """The measures of each question of a split that are in the run's record."""
    measures = [measure for measure in record.metrics.get(name, {}) if is_measure(measure)] or data.measures
    judged = Qrels.read(run / f"{name}.qrels")
    return measure_run(run / f"{name}.run", judged, measures, record.convention or data.convention, complete=True).values


def _classified(run: Path, data: RankingDataModule, name: str) -> tuple[dict[int, int], dict[int, list[float]], pd.DataFrame]:
    table = pd.read_csv(run / f"{name}.pairs.csv", dtype={"pair": str}, keep_default_na=False)
    scores = table[[f"score of {each}" for each in data.classes]].to_numpy(dtype=float)
    probabilities = np.exp(scores - scores.max(axis=1, keepdims=True))
    probabilities /= probabilities.sum(axis=1, keepdims=True)
    own = np.array([data.classes.index(each) for each in table["class"]], dtype=np.int64)
    right = (table["class"] == table["predicted"]).astype(float)
    values = pd.DataFrame({"accuracy": right.tolist(), OWN_PROBABILITY: probabilities[np.arange(len(own)), own]}, index=list(table["pair"]))
    return dict.fromkeys(range(len(table)), 1), dict(enumerate(probabilities.tolist())), values


def contents_of(
    runs: Sequence[Path], records: Sequence[RunRecord], data: RankingDataModule, name: str, ranked: RankedSplit
) -> dict[str, Any]:
    """All that the page shows before a question is opened."""
    split, measures = ranked.split, [str(column) for column in ranked.values[0].columns]
    texts = split.questions[ranked.questions]
    return {
        "dataset": data_set_in_words(str(data.name)),
        "split": name,
        "convention": records[0].convention,
        "classes": list(data.classes),
        "measures": [heading(measure) for measure in measures],
        "chosen": _chosen(measures, data.selection_metric),
        "runs": [
            {
                "name": title,
                "folder": str(run),
                "facts": _facts(record),
                "scores": _scores(run, record, data, {name: values}),
                **_curves(record),
            }
            for title, run, record, values in zip(titles_of(runs, records), runs, records, ranked.values, strict=True)
        ],
        "comparisons": _comparisons(ranked),
        "questions": {
            "id": [str(question) for question in ranked.values[0].index],
            "text": _question_texts(ranked, data),
            "words": data.corpus.texts.lengths(texts).tolist(),
            "candidates": [len(pool) for pool in ranked.pairs],
            "right": [int((split.labels[pool] > 0).sum()) for pool in ranked.pairs],
            "labels": [sorted({_label(data, split, pair) for pair in pool.tolist()}) for pool in ranked.pairs],
            "first": [ranked.first_right(run) for run in range(len(runs))],
            "values": [[_rounded(values[measure].to_numpy()) for measure in measures] for values in ranked.values],
        },
    }


def _question_texts(ranked: RankedSplit, data: RankingDataModule) -> list[str]:
    """The questions as they were written; with classes, both texts of each pair."""
    split, written = ranked.split, data.corpus.written
    questions = [written(int(split.questions[question])) for question in ranked.questions]
    if not data.classes:
        return questions
    return [f"{first}\n{written(int(split.candidates[pairs[0]]))}" for first, pairs in zip(questions, ranked.pairs, strict=True)]


def pools_of(ranked: RankedSplit, data: RankingDataModule, text_numbers: Mapping[int, int]) -> list[dict[str, Any]]:
    """The candidates of each question: numbers of texts, ids, labels, and the ranks and scores of every run."""
    split, pools = ranked.split, list[dict[str, Any]]()
    for pool in (list[int](pairs.tolist()) for pairs in ranked.pairs):
        pools.append(
            {
                "text": [text_numbers[int(split.candidates[pair])] for pair in pool],
                "id": [split.candidate_ids[pair].decode() for pair in pool],
                "label": [_label(data, split, pair) for pair in pool],
                "right": [int(split.labels[pair] > 0) for pair in pool],
                "rank": [[ranks[pair] for pair in pool] for ranks in ranked.ranks],
                "score": [[significant(scores[pair], 5) for pair in pool] for scores in ranked.scores],
            }
        )
    return pools


def significant(value: Any, digits: int) -> Any:
    """A number, or each of a list, with this many significant digits; None for one that is not finite."""
    return [significant(each, digits) for each in value] if isinstance(value, list) else _finite(float(f"{value:.{digits}g}"))


def _label(data: RankingDataModule, split: RankingSplit, pair: int) -> str:
    return data.classes[int(split.labels[pair])] if data.classes else str(split.relevance[pair])


def _results(run: Path, split: str, data: RankingDataModule) -> Path:
    return run / (f"{split}.pairs.csv" if data.classes else f"{split}.run")


def titles_of(runs: Sequence[Path], records: Sequence[RunRecord]) -> list[str]:
    """The names of the runs; where two are alike, those of their folders."""
    names = [run_in_words(record.config) for record in records]
    names = names if len(set(names)) == len(names) else [run.name for run in runs]
    return names if len(set(names)) == len(names) else list(map(str, runs))


def _chosen(measures: Sequence[str], selection_metric: str) -> int:
    wanted = selection_metric.rpartition("/")[2]
    return measures.index(wanted) if wanted in measures else 0


def _facts(record: RunRecord) -> list[tuple[str, str]]:
    choices, seconds = record.config.get("choices", {}), record.seconds.get("total")
    facts = {
        "model": choices.get("model", ""),
        "data set": choices.get("dataset", ""),
        "seed": str(record.seed),
        "begun": record.started.replace("T", " ").replace("+00:00", " UTC"),
        "took": f"{seconds:,.0f} s" if seconds else "",
        "best epoch": f"{record.best_epoch} of {len(record.history)}" if record.best_epoch else "",
        "weights learned": f"{record.parameters['trainable']:,}" if "trainable" in record.parameters else "",
        "convention": record.convention,
        "a quick look": record.debug,
        "status": "" if record.status == "running" else record.status,  # a run writes its own page before it has ended
        "command": record.command,
        "code": record.commit,
    }
    return [(name, value) for name, value in facts.items() if value]


def _scores(run: Path, record: RunRecord, data: RankingDataModule, known: Mapping[str, pd.DataFrame]) -> list[dict[str, Any]]:
    """The measures of each split, with half the width of their 95% intervals over questions. Does not read the splits in `known` again."""
    found = []
    for name, metrics in record.metrics.items():
        split = name.removesuffix(" titles")  # pre-training ranks by titles
        if split not in data.splits or not _results(run, split, data).is_file():
            continue
        if (values := known.get(split)) is None:
            values = _classified(run, data, split)[2] if data.classes else _measured(run, record, data, split)
        measures = next(iter(known.values())).columns
        intervals = [Interval.of(values[measure].tolist(), random=True) for measure in measures]
        found.append(
            {
                "split": name,
                "questions": len(values),
                "values": [(interval.mean, None if math.isnan(interval.half) else interval.half) for interval in intervals],
                "tied": metrics.get("tied at first answer"),
            }
        )
    return found


def _curves(record: RunRecord) -> dict[str, Any]:
    """The values of each epoch, by name."""
    names = [name for name in dict.fromkeys(name for line in record.history for name in line) if name not in ("epoch", "step")]

    def title(name: str) -> str:
        split, _, measure = name.rpartition("/")
        return measure if split == "train" else f"{split} {heading(measure)}"

    return {
        "epochs": [line["epoch"] for line in record.history],
        "curves": {title(name): [_finite(line.get(name)) for line in record.history] for name in names},
        "best": record.best_epoch,
    }


def _comparisons(ranked: RankedSplit) -> list[dict[str, Any]]:
    """A row for each measure and two runs: the difference of their means and whether it may be chance."""
    measures = [str(column) for column in ranked.values[0].columns]
    test = "t" if OWN_PROBABILITY in measures else "randomisation"
    columns = [dict(values.items()) for values in ranked.values]
    rows = [
        {"measure": heading(measure), "first": one, "second": two, **difference(columns[one][measure], columns[two][measure], test)}
        for measure in measures
        for one, two in combinations(range(len(columns)), 2)
    ]
    for row, p in zip(rows, holm([row["p"] for row in rows]), strict=True):
        row["p (Holm)"] = p
    return [{str(key): _finite(value) for key, value in row.items()} for row in rows]


def _finite(value: Any) -> Any:
    """None for NaN and infinity, which JSON cannot hold; other values unchanged."""
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _rounded(values: Iterable[float]) -> list[float]:
    return [round(float(value), 6) for value in values]
