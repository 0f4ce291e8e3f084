"""Keeps one Java process for the next run, and ends it with this process."""

import atexit
import contextlib
import threading
from collections.abc import Iterator

from runners.java_client.compiled import CompiledProgram
from runners.java_client.jvm import Jvm

_lock = threading.Lock()
_kept: list[Jvm] = []


@contextlib.contextmanager
def kept_jvm(version: str, heap_bytes: int, protocol: str) -> Iterator[Jvm]:
    """Yield a Java process for one run: that of the last run if it has this release and heap, otherwise a new process.

    If the run gives a measurement, the process is kept for the next run. Otherwise it may still be sending, so it is
    ended.

    Args:
        version: The release of the client to run.
        heap_bytes: The largest size of the heap.
        protocol: The property `security.protocol` of the connection.

    Raises:
        JavaNotFound: No Java runtime is usable, or the release can't log in on it.
        JarsUnavailable: The jars of the release could not be fetched.
        GeneratorError: The load generator does not compile with the release, or the process did not start.
    """
    program = CompiledProgram.prepare(version)
    program.check_login(protocol)
    jvm = _taken(version, heap_bytes) or Jvm(program, heap_bytes)
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
    """Return the kept Java process if it has this release and heap; otherwise end it, so that at most one runs."""
    with _lock:
        waiting, _kept[:] = list(_kept), []
    reusable = None
    for jvm in waiting:
        if reusable is None and jvm.runs and (jvm.version, jvm.heap_bytes) == (version, heap_bytes):
            reusable = jvm
        else:
            jvm.end()
    return reusable


atexit.register(end_kept_jvms)
