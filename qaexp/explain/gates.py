"""Figures 4 and 5 of Lei et al. 2016: 1 − λ, how much of each word RCNN's gate lets in.

qaexp figures gates RUN [--words "question text" ...] [--data DIR] --to FOLDER

Figure 4: a row of cells for each question of `--words`, with a cell for each word that the model reads; most tokenisers drop punctuation
and emoji. A vector gate is shown by its mean; the paper shows a scalar gate (model.encoder.gate=scalar). Figure 5: the mean and the maximum
of the gate at each word position, averaged over the distinct texts of the run's dev and test sets, field by field.
"""

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from jaxtyping import Float, Int
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from torch import Tensor

from qaexp.data.batch import token_mask
from qaexp.data.corpus import RankingCorpus
from qaexp.errors import ConfigError
from qaexp.explain.drawing import COLOURS, SEQUENTIAL, look, new_figure, printable, save
from qaexp.explain.run_data import data_of
from qaexp.models.encoder.rcnn import RCNN
from qaexp.models.intermediates import watch
from qaexp.models.scorer import AnswerScorer, Scorer
from qaexp.runs.ranker import Ranker, load

MIN_TEXTS = 10
"""Figure 5 shows the positions that at least this many texts reach."""

BATCH_SIZE = 64


def gates(scorer: AnswerScorer, tokens: Int[Tensor, "text length"]) -> Float[Tensor, "text length gate"]:
    """1 − λ of each word, from the question encoder. Values at padding are meaningless.

    Raises:
        ConfigError: the model has no such gate.
    """
    seen: list[Tensor] = []
    with torch.no_grad(), watch(lambda name, tensor: seen.append(tensor.detach()) if name == "gate" else None):
        scorer.encode_question(tokens)
    encoder = scorer.question_encoder if isinstance(scorer, Scorer) else None
    if not isinstance(encoder, RCNN) or len(seen) != 1 or seen[0].shape[:2] != tokens.shape:
        raise ConfigError("this model has no gate for each word to draw; name a run of model=rcnn")
    return seen[0]


def of_words(ranker: Ranker, questions: Sequence[str]) -> pd.DataFrame:
    """A row for each word of each question: its position, from 1, and the mean of its gate.

    Raises:
        ConfigError: a question has no words, or the model no such gate.
    """
    rows = []
    for number, question in enumerate(questions, start=1):
        words, tokens = ranker.read(question)
        if not any(words):
            raise ConfigError(f"--words {question!r} has no word that the model reads; write a question, or leave --words out")
        for position, (word, gate) in enumerate(zip(words, gates(ranker.scorer, tokens[None])[0], strict=True), start=1):
            rows.append({"question": number, "position": position, "word": word, "gate": gate.mean().item()})
    return pd.DataFrame(rows)


def by_position(scorer: AnswerScorer, corpus: RankingCorpus, splits: Sequence[str], max_length: int) -> pd.DataFrame:
    """For each word position, from 1: the gate's mean and maximum, averaged over all texts (fields) that reach it."""
    texts = np.unique(np.concatenate([side for name in splits for side in (corpus.splits[name].questions, corpus.splits[name].candidates)]))
    sums = np.zeros((3, max_length))  # rows: texts, means, maxima
    for tokens in _fields(corpus, texts, max_length):
        mask = token_mask(tokens)
        gate = gates(scorer, tokens)
        for row, values in enumerate((torch.ones(mask.shape), gate.mean(dim=2), gate.amax(dim=2))):
            sums[row, : tokens.shape[1]] += (values * mask).sum(dim=0).double().numpy()
    reached = sums[0] >= MIN_TEXTS
    num_texts, means, maxima = sums[:, reached]
    table = {
        "position": np.flatnonzero(reached) + 1,
        "texts": num_texts.astype(int),
        "mean": means / num_texts,
        "maximum": maxima / num_texts,
    }
    return pd.DataFrame(table)


def _fields(corpus: RankingCorpus, texts: Int[np.ndarray, " text"], max_length: int) -> Iterator[Int[Tensor, "text length"]]:
    """The texts that are not empty, in batches; a text of several fields gives its fields one by one."""
    texts = texts[np.argsort(corpus.texts.lengths(texts, max_length), kind="stable")]
    for start in range(0, len(texts), BATCH_SIZE):
        padded = torch.from_numpy(corpus.texts.padded(texts[start : start + BATCH_SIZE], max_length))
        for tokens in padded.unbind(dim=1) if padded.ndim == 3 else [padded]:
            filled = tokens[token_mask(tokens).any(dim=1)]
            if len(filled):
                yield filled[:, : int(token_mask(filled).sum(dim=1).max())]


def draw_words(table: pd.DataFrame) -> Figure:
    """A row of cells for each question, with a cell for each word; all have the same colour scale."""
    questions = [rows for _, rows in table.groupby("question")]
    widest = max(map(len, questions))
    figure, grid = new_figure(width=max(4.0, 0.45 * widest + 1), height=0.85 * len(questions) + 0.5, rows=len(questions))
    low, high = (float(end) for end in np.quantile(table["gate"], [0, 1]))
    image = None
    with look():
        for [axes], rows in zip(grid, questions, strict=True):
            image = axes.imshow(rows["gate"].to_numpy()[None], cmap=SEQUENTIAL, vmin=low, vmax=high, aspect="auto")
            axes.set_xlim(-0.5, widest - 0.5)
            words = [printable(word, FontProperties()) for word in rows["word"]]
            axes.set_xticks(range(len(rows)), words, rotation=35, ha="right", rotation_mode="anchor", parse_math=False)
            axes.set_yticks([])
            axes.tick_params(length=0)
            axes.spines[:].set_visible(False)
        assert image is not None
        figure.colorbar(image, ax=[row[0] for row in grid], shrink=0.9).set_label("1 − λ")
    return figure


def draw_positions(table: pd.DataFrame) -> Figure:
    """Maximum and mean against word position."""
    figure, [[axes]] = new_figure(width=4.6, height=3.0)
    with look():
        for column, colour, line in (("maximum", COLOURS[1], "--"), ("mean", COLOURS[0], "-")):
            axes.plot(table["position"], table[column], line, color=colour, label=column)
        axes.set_ylim(0, 1.02)  # the maximum is near 1
        axes.set_xlabel("word position")
        axes.set_ylabel("1 − λ")
        figure.legend(loc="outside upper center", ncols=2)
    return figure


def write_figures(options: argparse.Namespace) -> list[Path]:
    """`qaexp figures gates`: figure 5, and figure 4 if there are questions."""
    ranker = load(options.run)
    paths = list[Path]()
    if options.words:
        table = of_words(ranker, options.words)
        paths += save(draw_words(table), table, options.to, "figure4")
    data = data_of(options.run, options.data)
    table = by_position(ranker.scorer, data.corpus, data.ranked_splits, max(data.max_question_length, data.max_candidate_length))
    return paths + save(draw_positions(table), table, options.to, "figure5")
