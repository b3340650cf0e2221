"""Checkpoints: files that hold what is needed to build their model again, written atomically."""

import hashlib
import logging
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any
from zipfile import BadZipFile, ZipFile

import torch
from hydra.errors import InstantiationException
from hydra.utils import instantiate

from qaexp.ddp import is_rank_zero
from qaexp.errors import CheckpointError
from qaexp.models.pretrained.weights import weights_of_checkpoint
from qaexp.models.scorer import AnswerScorer
from qaexp.runs.folder import BEST, LAST, NEXT, checkpoint_file
from qaexp.runs.trusted import admitted

log = logging.getLogger(__name__)

SMALL_VECTORS = 1 << 28
"""Bytes that a model may need beyond what its checkpoint holds. A file that asks for more could fill the memory, and is refused."""


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


def load_verified(path: Path, mmap: bool = False) -> Any:
    """Plain values and tensors of a file that torch wrote. Checks the checksums of this zip archive, which torch itself does not.

    Raises:
        BadZipFile, or any error of torch: the file is damaged.
    """
    with ZipFile(path) as archive:
        if (part := archive.testzip()) is not None:
            raise BadZipFile(f"{part} has another checksum than when it was written")
    return torch.load(path, map_location="cpu", weights_only=True, mmap=mmap)


START_AGAIN = "delete its folder, then repeat the command that made it"


def _require_whole(path: Path) -> dict[str, Any]:
    """The content of a run's checkpoint.

    Raises:
        CheckpointError: the file is damaged.
    """
    try:
        return load_verified(path, mmap=True)
    except Exception as error:
        raise CheckpointError(f"{path} is damaged ({type(error).__name__}); {START_AGAIN}") from error


def last_checkpoint(folder: Path) -> Path | None:
    """The checkpoint to resume from: that of the last whole epoch, or None before the first one ended.

    Raises:
        CheckpointError: `last.ckpt` or `next.ckpt` is damaged.
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
    """Move newer best weights, if there are any, from `next.ckpt` to `best.ckpt`.

    With `of`, the epoch that training resumes after: weights of another epoch are deleted, since that epoch is trained again.
    """
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
    """The content of a checkpoint file, or of the best one in a run's folder. Its key `qaexp` has the `rebuild_plan` of its model.

    Raises:
        CheckpointError: there is no such file, it is not a checkpoint of qaexp, or it would build something else.
    """
    file = checkpoint_file(path)
    try:
        checkpoint = load_verified(file)
        plan = dict(checkpoint["qaexp"])
        _require_parts(checkpoint, plan, file.stat().st_size)
    except Exception as error:
        raise CheckpointError(
            f"{file} is not a whole checkpoint of qaexp ({_reason(error)}); {START_AGAIN}, or restore it from a backup"
        ) from error
    built = admitted({"model": plan["model"], "dataset": {"tokenise": plan["tokenise"]}}, file)
    checkpoint["qaexp"] = {**plan, "model": built["model"], "tokenise": built["dataset"]["tokenise"]}
    return checkpoint


def digest_of_weights(checkpoint: Mapping[str, Any]) -> str:
    """SHA-256 of a checkpoint's weights and their names. It does not depend on the file's path."""
    digest = hashlib.sha256()
    for name, tensor in sorted(checkpoint["state_dict"].items()):
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode())
        digest.update(tensor.contiguous().view(-1).view(torch.uint8).numpy().data)
    return digest.hexdigest()


def _reason(error: Exception) -> str:
    return str(error) if isinstance(error, ValueError) else type(error).__name__


def _require_parts(checkpoint: Mapping[str, Any], plan: Mapping[str, Any], size: int) -> None:
    """Raises KeyError or ValueError if a part that the model is built from is missing or of another type.

    Word vectors may take at most SMALL_VECTORS bytes more than the file's `size`: a file holds the vectors that its model reads, and a
    model that reads none is built with small ones.
    """
    weights, words, width = checkpoint["state_dict"], plan["vocabulary"], plan["vector_dim"]
    numbers = [checkpoint["global_step"], width, plan["max_question_length"], plan["max_candidate_length"]]
    right = {
        "state_dict": isinstance(weights, dict) and all(isinstance(name, str) and torch.is_tensor(weights[name]) for name in weights),
        "vocabulary": isinstance(words, list) and all(isinstance(word, str) for word in words),
        "classes": isinstance(plan["classes"], list) and all(isinstance(name, str) for name in plan["classes"]),
        "plan of the model": all(isinstance(plan[name], dict) and "_target_" in plan[name] for name in ("model", "tokenise")),
        "part of pretrained weights": _is_text_by_name(plan.get("pretrained", {}), depth=2),
        "choice to drop unknown words": isinstance(plan.get("drop_unknown", False), bool),
        "key or command": all(isinstance(plan.get(name, ""), str) for name in ("key", "command")),
        "step, width or length": all(type(number) is int and 0 <= number < 1 << 63 for number in numbers),
    }
    if wrong := [part for part, is_right in right.items() if not is_right]:
        raise ValueError(f"its {wrong[0]} is of another type")
    if 4 * len(words) * width > size + SMALL_VECTORS:
        raise ValueError(f"it is too small for {len(words):,} word vectors of width {width}")


def _is_text_by_name(node: Any, depth: int) -> bool:
    if depth == 0:
        return isinstance(node, str)
    return isinstance(node, dict) and all(isinstance(name, str) and _is_text_by_name(each, depth - 1) for name, each in node.items())


def _bytes_to_build(plan: Mapping[str, Any]) -> int:
    """The bytes of the plan's model, built without memory on torch's meta device; 0 for a model that cannot be built there."""
    with suppress(Exception), torch.device("meta"):
        empty = instantiate(plan["model"], vectors=torch.zeros(len(plan["vocabulary"]), plan["vector_dim"]))
        return _num_bytes(empty.state_dict())
    return 0


def _num_bytes(tensors: Mapping[str, torch.Tensor]) -> int:
    return sum(tensor.numel() * tensor.element_size() for tensor in tensors.values())


def rebuild_scorer(checkpoint: Mapping[str, Any]) -> AnswerScorer:
    """The scorer of an opened checkpoint, with its weights; a decoder that was trained beside it is left out.

    Raises:
        CheckpointError: its model has changed since, or is far larger than its weights.
    """
    plan = checkpoint["qaexp"]
    weights = {name.removeprefix("scorer."): value for name, value in checkpoint["state_dict"].items() if name.startswith("scorer.")}
    try:
        with weights_of_checkpoint(plan.get("pretrained", {})):
            if (needed := _bytes_to_build(plan)) > (held := _num_bytes(weights)) + SMALL_VECTORS:
                raise CheckpointError(f"the checkpoint's model needs {needed:,} bytes of weights, and it holds {held:,}; do not load it")
            scorer = instantiate(plan["model"], vectors=torch.zeros(len(plan["vocabulary"]), plan["vector_dim"]))
        scorer.load_state_dict(weights)
    except (InstantiationException, RuntimeError) as error:
        model, fault = plan["model"]["_target_"], str(error).splitlines()[-1].strip()
        raise CheckpointError(
            f"the checkpoint's {model} is of another version of qaexp ({fault}); train again, or go back to that version"
        ) from error
    return scorer
