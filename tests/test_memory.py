"""Freed memory is kept: the system is asked for it once."""

import platform
import subprocess
import sys

import pytest

COUNT = """
import resource, torch
from qaexp.memory import keep_freed_memory

def faults():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(5):
        torch.empty(2**24).fill_(1.0)  # 64 MB
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

usual = faults()
assert keep_freed_memory()
for _ in range(4):  # places a little apart, until one is found again
    faults()
print(usual, faults())
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="another C library's memory is left as it is")
def test_what_is_freed_is_not_asked_for_again() -> None:
    done = subprocess.run([sys.executable, "-c", COUNT], capture_output=True, text=True, check=True)
    usual, kept = map(int, done.stdout.split())
    assert usual >= 5 * 32, "pages are 2 MB at most"
    assert kept < usual / 10
