"""Checkpoints: files that hold what is needed to build their model again, written atomically."""

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from hydra.errors import InstantiationException
from hydra.utils import instantiate

from qaexp.ddp import is_rank_zero
from qaexp.errors import CheckpointError
from qaexp.models.scorer import AnswerScorer
from qaexp.runs.folder import BEST, LAST, NEXT, checkpoint_file
from qaexp.runs.renamed import with_current_targets
from qaexp.runs.trusted import require_ours

log = logging.getLogger(__name__)


CHANGED = "the files of the data set have changed since. Put the old files back, or start a new run"


def require_same_vocabulary(checkpoint: Mapping[str, Any], expected: Sequence[str], remedy: str = CHANGED) -> None:
    """Raises: CheckpointError, when word ids of the checkpoint mean other words than those of the data."""
    words = checkpoint["qaexp"]["vocabulary"]
    if list(words) == list(expected):
        return
    first = next((i for i, (a, b) in enumerate(zip(words, expected, strict=False)) if a != b), min(len(words), len(expected)))
    raise CheckpointError(
        f"the checkpoint was trained with another vocabulary ({len(words)} words, the data have {len(expected)}; "
        f"they first differ at id {first}): {remedy}"
    )


START_AGAIN = "delete its folder, and the same command starts again"


def _require_whole(path: Path) -> dict[str, Any]:
    """The content of a run's checkpoint.

    Raises:
        CheckpointError: the file is damaged.
    """
    try:
        return torch.load(path, map_location="cpu", weights_only=True, mmap=True)
    except Exception as error:
        raise CheckpointError(f"{path} is damaged ({type(error).__name__}); {START_AGAIN}") from error


def last_checkpoint(folder: Path) -> Path | None:
    """The checkpoint to resume from: that of the last whole epoch, or None before the first one ended.

    Raises:
        CheckpointError: the file is damaged, or that of newer best weights.
    """
    path = folder / LAST
    if path.is_file():
        last = _require_whole(path)
        if is_rank_zero():
            settle_best(folder, of=last["epoch"])
        return path
    log.info("%s has no checkpoint yet: its first epoch starts again", folder)
    return None


def settle_best(folder: Path, of: int | None = None) -> None:
    """Move newer best weights, if there are any, to `best.ckpt`. Drop those of another epoch than `of`: that epoch is trained again."""
    path = folder / NEXT
    if not path.is_file():
        return
    if of is None or _require_whole(path)["epoch"] == of:
        path.replace(folder / BEST)
    else:
        path.unlink()


def best_checkpoint(folder: Path) -> Path:
    """The checkpoint that a run ranks with.

    Raises:
        CheckpointError: the file is gone or damaged.
    """
    path = folder / BEST
    if not path.is_file():
        raise CheckpointError(f"{path} is gone, and with it the weights of the best epoch; {START_AGAIN}")
    _require_whole(path)
    return path


def open_checkpoint(path: str | Path) -> dict[str, Any]:
    """A checkpoint file, or the best one in a run's folder; under `qaexp` it holds its `rebuild_plan`.

    Raises:
        CheckpointError: there is no such file, it is not a checkpoint of qaexp, or it would build something else.
    """
    file = checkpoint_file(path)
    try:
        checkpoint = torch.load(file, map_location="cpu", weights_only=True)
        checkpoint["qaexp"] = with_current_targets(checkpoint["qaexp"])
        built = [checkpoint["qaexp"][part] for part in ("model", "tokenise")]
    except Exception as error:
        raise CheckpointError(f"{file} is not a whole checkpoint of qaexp ({type(error).__name__}); train again, or take a copy") from error
    require_ours(built, file)
    return checkpoint


def rebuild_scorer(checkpoint: Mapping[str, Any]) -> AnswerScorer:
    """The scorer of an opened checkpoint, with its weights; a decoder that was trained beside it is left out.

    Raises:
        CheckpointError: its model has changed since.
    """
    plan = checkpoint["qaexp"]
    weights = {name.removeprefix("scorer."): value for name, value in checkpoint["state_dict"].items() if name.startswith("scorer.")}
    try:
        scorer = instantiate(plan["model"], vectors=torch.zeros(len(plan["vocabulary"]), plan["vector_dim"]))
        scorer.load_state_dict(weights)
    except (InstantiationException, RuntimeError) as error:
        model, fault = plan["model"]["_target_"], str(error).splitlines()[-1].strip()
        raise CheckpointError(
            f"the checkpoint's {model} is of another version of qaexp ({fault}); train again, or go back to it"
        ) from error
    return scorer
