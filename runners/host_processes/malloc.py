"""Keeps glibc from returning freed memory to the kernel."""

import contextlib
import ctypes
from typing import Final

_M_TRIM_THRESHOLD: Final = -1
_M_TOP_PAD: Final = -2
_M_MMAP_THRESHOLD: Final = -3
_MOST_BYTES: Final = 2**31 - 1
_LARGEST_MMAP_THRESHOLD: Final = 32 << 20
"""The largest threshold that glibc accepts on a 64-bit system."""
_PAD_BYTES: Final = 64 << 20


def keep_freed_memory() -> None:
    """Make the C library keep memory that this process frees, for its next allocations.

    Otherwise glibc returns free memory to the kernel again and again while librdkafka allocates and frees its batches.
    The kernel then clears each page again, which took about a quarter of the generator's CPU time at 300 B.

    A C library without `mallopt` is left as it is. Source: mallopt(3).
    """
    with contextlib.suppress(AttributeError):
        mallopt = ctypes.CDLL(None).mallopt
        mallopt(_M_MMAP_THRESHOLD, _LARGEST_MMAP_THRESHOLD)
        mallopt(_M_TRIM_THRESHOLD, _MOST_BYTES)
        mallopt(_M_TOP_PAD, _PAD_BYTES)
