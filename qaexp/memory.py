"""Memory on a CPU: what a step frees is kept for the next one."""

import ctypes

M_TRIM_THRESHOLD, M_MMAP_MAX = -1, -4
"""Parameters of glibc's `mallopt`, as `malloc.h` numbers them."""


def keep_freed_memory() -> bool:
    """Let glibc's malloc keep what is freed until the process ends; whether it now does. Another C library is left as it is.

    It gives a tensor of 32 MB or more back to the system as soon as it is freed, and the next one is zeroed anew, page by
    page: for a batch of long texts some gigabytes in each step.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    return mallopt is not None and all(mallopt(parameter, value) for parameter, value in ((M_MMAP_MAX, 0), (M_TRIM_THRESHOLD, -1)))
