"""What the C library does with memory that a process has freed."""

import subprocess
import sys

import pytest

PROGRAM = """
import ctypes, resource, sys
from runners.host_processes.child import keep_freed_memory

if sys.argv[1] == "kept":
    keep_freed_memory()
libc = ctypes.CDLL(None)
libc.malloc.restype, libc.malloc.argtypes, libc.free.argtypes = ctypes.c_void_p, [ctypes.c_size_t], [ctypes.c_void_p]


def batches() -> None:
    allocated = [libc.malloc(1_000_000) for _ in range(20)]
    for each in allocated:
        ctypes.memset(each, 1, 1_000_000)
    for each in reversed(allocated):
        libc.free(each)


batches()
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(20):
    batches()
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only glibc has mallopt")
def test_memory_that_was_freed_is_used_again_without_page_faults() -> None:
    faults = {
        how: int(
            subprocess.run([sys.executable, "-c", PROGRAM, how], capture_output=True, text=True, check=True).stdout
        )
        for how in ("returned", "kept")
    }
    assert faults["kept"] * 10 < faults["returned"]
