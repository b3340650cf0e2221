"""The lengths of right answers, stored beside the ledger so that figures can be drawn without the data."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from hydra.utils import instantiate
from jaxtyping import Int

from qaexp.config import compose
from qaexp.errors import QaexpError
from qaexp.files import RESULTS_REMEDY, atomic_write_text
from qaexp.reproduction.cells import Cell, fingerprint, lacking
from qaexp.reproduction.ledger import Ledger, PerQuestion, digest
from qaexp.reproduction.measured import CellState
from qaexp.reproduction.spec import READING_ERRORS, describe

if TYPE_CHECKING:  # it needs torch, and tables are written without
    from qaexp.data.module import RankingDataModule


def answer_lengths(state: CellState, split: str, scored: PerQuestion, ledger: Ledger) -> Int[np.ndarray, " question"] | None:
    """The number of tokens of each scored question's longest right answer, 0 if it has none. None if neither the stored lengths nor the
    data are there. Lengths that are read from the data are stored in `lengths/` of the ledger's folder.

    Raises:
        OutputError: the ledger's folder cannot be written.
        QaexpError: the file is damaged.
    """
    measured_on = state.entries[0].fingerprint
    path = ledger.folder / "lengths" / f"{state.cell.dataset}_{measured_on[:8]}.json"
    if not path.is_file():
        if lacking(state.cell) or fingerprint(state.cell) != measured_on:
            return None
        atomic_write_text(path, json.dumps(_lengths(state.cell), separators=(",", ":")) + "\n", RESULTS_REMEDY)
    return _read(path, split, scored)


def _read(path: Path, split: str, scored: PerQuestion) -> Int[np.ndarray, " question"] | None:
    try:
        kept = json.loads(path.read_text(encoding="utf-8")).get(split)
        if not kept or kept["of"] != scored.of:
            return None
        tokens = np.array([int(length) for length in kept["tokens"]])
        if len(tokens) != len(scored.values):
            raise ValueError(f"{len(tokens)} for {len(scored.values)} questions")
        return tokens
    except (ValueError, *READING_ERRORS) as error:
        raise QaexpError(
            f"{path}: not the lengths of answers ({describe(error)}); restore it from git, or delete it, and where the data are, the next "
            "`make reproduce-figure...` writes it again"
        ) from error


def _lengths(cell: Cell) -> dict[str, dict[str, Any]]:
    """Test split to the digest of its questions' names, and the lengths of their answers in the same order."""
    data: RankingDataModule = instantiate(compose([*cell.overrides, "dataset/vectors=random"]).dataset)
    found = {}
    for name in data.ranked_splits[1:]:
        split = data.splits[name]
        tokens = np.where(split.labels == 1, data.corpus.texts.lengths(split.candidates), 0)
        longest = np.maximum.reduceat(tokens, split.offsets[:-1]).tolist()
        found[name] = {"of": digest([question.decode() for question in split.question_ids]), "tokens": longest}
    return found
