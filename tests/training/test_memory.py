"""Freed memory is kept: the system is asked for it once, and what lives long does not pile up in it."""

import os
import platform
import subprocess
import sys

import pytest

COUNT = """
import resource, torch
from qaexp.training.memory import keep_freed_memory

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

EVER_NEW_SHAPES = """
import random, re, torch
from pathlib import Path
from qaexp.training.memory import keep_freed_memory
from qaexp.training.matmul import prefer_onednn

def peak():  # the process's own: `ru_maxrss` begins with what its parent held
    return int(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1])

keep_freed_memory()
if prefer_onednn():
    draw, W = random.Random(0), torch.randn(64, 16)
    before = peak()
    for step in range(400):
        X = torch.randn(draw.randrange(1, 9000), 64)
        held = [torch.zeros(draw.randrange(1, 2**23)) for _ in range(4)]  # up to 32 MB each
        for _ in range(4):
            X[: draw.randrange(1, len(X) + 1)] @ W
            held.pop(0)
    print(peak() - before)
"""


def printed(code: str, **environment: str) -> str:
    kept = {name: value for name, value in os.environ.items() if name != "ONEDNN_PRIMITIVE_CACHE_CAPACITY"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=kept | environment)
    return done.stdout


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="another C library's memory is left as it is")
def test_what_is_freed_is_not_asked_for_again() -> None:
    usual, kept = map(int, printed(COUNT).split())
    assert usual >= 5 * 32, "pages are 2 MB at most"
    assert kept < usual / 10


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="another C library's memory is left as it is")
def test_programs_of_old_shapes_do_not_cut_memory_into_pieces() -> None:
    few = printed(EVER_NEW_SHAPES)
    if not few:
        pytest.skip("products are not oneDNN's here")
    assert int(few) < 0.8 * int(printed(EVER_NEW_SHAPES, ONEDNN_PRIMITIVE_CACHE_CAPACITY="1024"))
