"""What the models looked at in some pairs: values over words, as the page draws them."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from qaexp.data.module import RankingDataModule
from qaexp.errors import ConfigError, meant
from qaexp.explain.heats import Heat, heats, neurons_of, standing_out
from qaexp.explain.report.contents import RankedSplit, significant
from qaexp.explain.run_data import Pair
from qaexp.runs.folder import BEST
from qaexp.runs.ranker import Ranker, load

NEURONS = 3
"""How many neurons of a grid are drawn beside the mean over all: those whose maximum stands out most from their mean over the pair."""


def choose_questions(measured: Sequence[pd.Series], count: int, named: Sequence[str]) -> list[int]:
    """The places of the questions that carry what the models looked at: the named ones, and `count` others.

    Half of `count` are the questions with the lowest value of a single run or, for several runs, those in which the runs differ most. The
    other half are spread evenly over the rest. `measured` has, for each run, one measure of each question by id.

    Raises:
        ConfigError: there is no such question.
    """
    ids = [str(question) for question in measured[0].index]
    if unknown := [question for question in named if question not in ids]:
        raise ConfigError(f"--question {unknown[0]}: there is no such question; {meant(unknown[0], ids[:5] if len(ids) > 1000 else ids)}")
    values = np.array([each.to_numpy(dtype=float) for each in measured])
    merit = values[0] if len(values) == 1 else values.min(axis=0) - values.max(axis=0)
    by_merit = np.argsort(merit, kind="stable")
    first, rest = by_merit[: (count + 1) // 2], np.sort(by_merit[(count + 1) // 2 :])
    even = rest[np.linspace(0, len(rest) - 1, min(count // 2, len(rest))).astype(int)] if count // 2 and len(rest) else rest[:0]
    return sorted({*(ids.index(question) for question in named), *first.tolist(), *even.tolist()})


def looks_of(
    runs: Sequence[Path], ranked: RankedSplit, data: RankingDataModule, split: str, questions: Sequence[int]
) -> Iterator[tuple[int, list[dict[str, Any]]]]:
    """For each of these questions, what every run looked at in some candidates: those that a run ranks first, and the right answers that a
    run ranks best.

    Runs without a checkpoint, models that show nothing over words, and texts of several fields are left out.
    """
    if data.corpus.texts.num_fields > 1:
        return
    rankers = [load(run) if (run / BEST).is_file() else None for run in runs]
    readings = [None if ranker is None else data.read_by(ranker.scorer.subwords) for ranker in rankers]
    for question in questions:
        looks = []
        for place in _telling(ranked, question):
            pair = int(ranked.pairs[question][place])
            for run, (ranker, reading) in enumerate(zip(rankers, readings, strict=True)):
                if ranker and reading and (found := looked_at(ranker, Pair("", *reading.words_of_pair(split, pair)))):
                    looks.append({"run": run, "candidate": place, "heats": found})
        if looks:
            yield question, looks


def _telling(ranked: RankedSplit, question: int) -> list[int]:
    """For each run, its first-ranked candidate and its best-ranked right answer: their positions in the question's pool."""
    pool, chosen = ranked.pairs[question].tolist(), set[int]()
    for ranks in ranked.ranks:
        order = sorted(range(len(pool)), key=lambda place: ranks[pool[place]])
        chosen |= {*order[:1], *[place for place in order if ranked.split.labels[pool[place]] > 0][:1]}
    return sorted(chosen)


def looked_at(ranker: Ranker, pair: Pair) -> list[dict[str, Any]]:
    """The values over words of a pair: a line for each text, or a grid."""
    shown = pair.shown(ranker)
    found = [(_title(heat, pair), heat) for heat in heats(shown, pair.question, pair.answer, unit=None)]
    for name, tensor in shown.items():
        if (slices := neurons_of(name, tensor, pair.question, pair.answer)) is not None:
            found = [(f"{title}, mean of {len(slices)} neurons" if heat.name == name else title, heat) for title, heat in found]
            for neuron in np.argsort(-standing_out(slices), kind="stable")[:NEURONS].tolist():
                found.append((f"{_words(name.partition('.')[2])}, neuron {neuron}", Heat(name, pair.question, pair.answer, slices[neuron])))
    return [
        {"title": title, "rows": list(heat.rows), "columns": list(heat.columns), "values": significant(heat.values.tolist(), 3)}
        for title, heat in found
    ]


def _title(heat: Heat, pair: Pair) -> str:
    """The name of what is shown, and the text that it is over."""
    side, _, what = heat.name.partition(".")
    if heat.rows or side in what:
        return _words(what)
    over = "question" if side == "question" or (heat.columns is pair.question and side == "pair") else "candidate"
    return _words(what) if over in what else f"{_words(what)}, {over}"


def _words(name: str) -> str:
    return name.replace("_", " ")
