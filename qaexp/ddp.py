"""Helpers for a run on several processes (`trainer=ddp`)."""

import os
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from qaexp.errors import ConfigError

if TYPE_CHECKING:
    from torch import Tensor


Entered = TypeVar("Entered")


def require_one_process(trainer: Mapping[str, Any], what: str) -> None:
    """Refuse several processes for `what`: Lightning starts the whole command again in each of them.

    Raises:
        ConfigError: the trainer's configuration asks for several.
    """
    if trainer["devices"] != 1 or str(trainer.get("strategy", "")).startswith("ddp"):
        raise ConfigError(f"{what} runs in one process: leave trainer=ddp and trainer.devices out")


def is_rank_zero() -> bool:
    """Whether this process writes the run's files: it is the only one, or the first. Known before torch.distributed is set up."""
    return all(os.environ.get(name, "0") == "0" for name in ("NODE_RANK", "LOCAL_RANK"))


def on_rank_zero(context: AbstractContextManager[Entered]) -> "AbstractContextManager[Entered | Literal[False]]":
    """`context` on rank zero; on other ranks, a context that yields False."""
    return context if is_rank_zero() else nullcontext(False)


def rank_and_world_size() -> tuple[int, int]:
    """This process' rank and the number of processes; (0, 1) for a single one."""
    import torch.distributed as dist

    return (dist.get_rank(), dist.get_world_size()) if dist.is_available() and dist.is_initialized() else (0, 1)


def do_not_sync() -> bool:
    """Tells torchmetrics not to sync: every process already holds all scores."""
    return False


def all_gather_ragged(tensor: "Tensor") -> "Sequence[Tensor]":
    """The tensors of all processes, by rank, without gradients. Their first axes may differ in size."""
    import torch
    import torch.distributed as dist

    _, processes = rank_and_world_size()
    if processes == 1:
        return [tensor.detach()]
    sizes = [torch.zeros(1, dtype=torch.int64, device=tensor.device) for _ in range(processes)]
    dist.all_gather(sizes, torch.tensor([len(tensor)], device=tensor.device))
    longest = max(int(size) for size in sizes)
    padded = tensor.new_zeros((longest, *tensor.shape[1:]))
    padded[: len(tensor)] = tensor.detach()
    parts = [torch.empty_like(padded) for _ in range(processes)]
    dist.all_gather(parts, padded)
    return [part[: int(size)] for part, size in zip(parts, sizes, strict=True)]
