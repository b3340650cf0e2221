"""Memory on a CPU: what a step frees is kept for the next one."""

import ctypes
import os

M_TRIM_THRESHOLD, M_MMAP_MAX = -1, -4
"""Parameters of glibc's `mallopt`, as `malloc.h` numbers them."""
PROGRAMS = 64
"""More than one training step needs of them."""


def keep_freed_memory() -> bool:
    """Let glibc's malloc keep what is freed until the process ends; whether it now does. Another C library is left as it is.

    It gives a tensor of 32 MB or more back to the system as soon as it is freed, and the next one is zeroed anew, page by
    page: for a batch of long texts some gigabytes in each step.

    What lives long then lies among what is freed. oneDNN keeps a program for each shape of a product, the last 1,024 of
    them; batches have ever new shapes, and a thousand programs cut the memory into pieces that are too small for the next
    tensor: 20 GB of them where a step needs 5. It is told to keep `PROGRAMS`, which it reads before its first product.
    """
    os.environ.setdefault("ONEDNN_PRIMITIVE_CACHE_CAPACITY", str(PROGRAMS))
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    return mallopt is not None and all(mallopt(parameter, value) for parameter, value in ((M_MMAP_MAX, 0), (M_TRIM_THRESHOLD, -1)))
