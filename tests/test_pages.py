"""Large tensors of a run lie in pages of 2 MB where the system has such."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

SWITCH = Path("/sys/kernel/mm/transparent_hugepage/enabled")
PROGRAM = """
import resource
import qaexp.train
import torch
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
kept = torch.ones(64 * 2**18)
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


@pytest.mark.skipif(not SWITCH.is_file() or "[never]" in SWITCH.read_text(), reason="this system has no pages of 2 MB")
def test_64_mb_are_had_in_few_pages() -> None:
    """In pages of 4 KB they are 16,384. Wherever the first tensor of all is made, the package has spoken before it."""
    environment = {name: value for name, value in os.environ.items() if name != "THP_MEM_ALLOC_ENABLE"}
    faults = subprocess.run([sys.executable, "-c", PROGRAM], env=environment, check=True, stdout=subprocess.PIPE, text=True).stdout
    assert int(faults) < 2_000
