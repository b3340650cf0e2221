"""What a run was made with: the commit of the code, the versions of its libraries, and the hardware."""

import os
import platform
import subprocess
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from qaexp.config import CONF

LIBRARIES = ("qaexp", "torch", "pytorch-lightning", "hydra-core", "omegaconf", "torchmetrics", "numpy", "pandas", "wandb", "gensim")


@cache
def versions() -> dict[str, str]:
    """The versions of Python and of the libraries that influence the results."""
    return {"python": platform.python_version(), **{library: _version(library) for library in LIBRARIES}}


def _version(library: str) -> str:
    try:
        return version(library)
    except PackageNotFoundError:  # a checkout that is not installed, or a library that only some runs need
        return "not installed"


@cache
def git_commit() -> str:
    """The commit of the code, with `+changes` when qaexp/ or conf/ differ from it; empty outside a checkout."""
    return commit_of(CONF.parent)


def commit_of(repository: Path) -> str:
    """The commit of a repository. Changed tables and figures do not count as changes, since no run depends on them.

    Empty if the folder is not the root of a repository, as for an installed package, or if git fails.
    """
    if not (repository / ".git").exists():
        return ""

    def git(*command: str) -> str:
        return subprocess.run(["git", *command], cwd=repository, capture_output=True, text=True, check=True).stdout.strip()

    try:
        return git("rev-parse", "HEAD") + ("+changes" if git("status", "--porcelain", "--", "qaexp", "conf") else "")
    except (OSError, subprocess.CalledProcessError):
        return ""


@cache
def hardware() -> dict[str, Any]:
    """The processor, its number of cores, the threads that torch uses, and the GPU (None if there is none)."""
    import torch

    model = platform.processor() or platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        names = [line.partition(":")[2].strip() for line in cpuinfo.read_text().splitlines() if line.startswith("model name")]
        model = names[0] if names else model
    gpu = torch.cuda.get_device_name() if torch.cuda.is_available() else None
    return {"processor": model, "cores": os.cpu_count(), "threads": torch.get_num_threads(), "gpu": gpu}
