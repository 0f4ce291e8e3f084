"""A clock that tests hand to a process, and that they can step. The clock of the host is never changed."""

import mmap
import shutil
import struct
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Final

_SOURCE: Final = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
static long step(void) {
    static volatile long *at;
    if (!at) at = mmap(0, sizeof(long), PROT_READ, MAP_SHARED, open(getenv("STEPPED_CLOCK"), O_RDONLY), 0);
    return *at;
}
int clock_gettime(clockid_t id, struct timespec *now) {
    static int (*host)(clockid_t, struct timespec *);
    if (!host) host = dlsym(RTLD_NEXT, "clock_gettime");
    int failed = host(id, now);
    if (!failed && id == CLOCK_REALTIME) now->tv_sec += step();
    return failed;
}
int gettimeofday(struct timeval *restrict now, void *restrict zone) {
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    now->tv_sec = t.tv_sec, now->tv_usec = t.tv_nsec / 1000;
    return 0;
}
time_t time(time_t *also) {
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    if (also) *also = t.tv_sec;
    return t.tv_sec;
}
"""


class SteppedClock:
    """The time of day of the processes that have its environment.

    Args:
        folder: A folder for its files.

    Raises:
        FileNotFoundError: There is no C compiler.
    """

    def __init__(self, folder: Path) -> None:
        compiler = shutil.which("cc")
        if compiler is None:
            raise FileNotFoundError("steps of the clock are left out, because there is no C compiler (cc)")
        library, self._step = folder / "stepped_clock.so", folder / "step"
        command = [compiler, "-shared", "-fPIC", "-x", "c", "-", "-o", str(library), "-ldl"]
        subprocess.run(command, input=_SOURCE, text=True, check=True, capture_output=True)
        self._step.write_bytes(bytes(8))
        self.environ: Mapping[str, str] = {"LD_PRELOAD": str(library), "STEPPED_CLOCK": str(self._step)}

    def set(self, ahead_s: int) -> None:
        """Set how many seconds the clock is ahead of the host's; a number below 0 puts it back."""
        with self._step.open("r+b") as file, mmap.mmap(file.fileno(), 8) as shared:
            shared[:] = struct.pack("l", ahead_s)
