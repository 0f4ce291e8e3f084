"""Keeps one Java process for the next run, and ends it with this process."""

import atexit
import contextlib
import threading
from collections.abc import Iterator

from runners.java_client.compiled import Harness
from runners.java_client.jvm import Jvm
from search_spaces.producer_config import ProducerConfig

_lock = threading.Lock()
_kept: list[Jvm] = []


@contextlib.contextmanager
def kept_jvm(config: ProducerConfig, heap_bytes: int) -> Iterator[Jvm]:
    """Give a Java process for one run: the one of the last run if it has this release and this heap, else a new one.

    It is kept if the run gives a measurement. Otherwise it may still be sending, so it is ended.

    Args:
        config: A config of the release of the client to run.
        heap_bytes: The largest size of the heap.
    """
    version = config.client.version
    jvm = _taken(version, heap_bytes) or Jvm(Harness.prepare(version), heap_bytes)
    try:
        yield jvm
    except BaseException:
        jvm.end()
        raise
    with _lock:
        _kept.append(jvm)


def end_kept_jvms() -> None:
    """End the Java processes that wait for a run."""
    with _lock:
        ending, _kept[:] = list(_kept), []
    for jvm in ending:
        jvm.end()


def _taken(version: str, heap_bytes: int) -> Jvm | None:
    """Return the Java process that was kept, if it can take this run. Others are ended, so that there is only one."""
    with _lock:
        waiting, _kept[:] = list(_kept), []
    found = None
    for jvm in waiting:
        if found is None and jvm.runs and (jvm.version, jvm.heap_bytes) == (version, heap_bytes):
            found = jvm
        else:
            jvm.end()
    return found


atexit.register(end_kept_jvms)
