"""A Java runtime for tests, without the optimising compiler."""

import contextlib
import hashlib
import shlex
from pathlib import Path

from runners.host_processes.folders import cache_root, write_atomically
from runners.java_runtime.java import find_java


def quick_java() -> Path:
    """Return a program that runs Java without its optimising compiler.

    The compiler takes a third of the processor time of a broker that runs for seconds only. The path is the same in
    each session, because a broker's ahead-of-time cache belongs to the path of its Java runtime.

    Raises:
        JavaNotFound: No Java runtime is usable.
    """
    real = find_java().path
    program = f'#!/bin/sh\nexec {shlex.quote(str(real))} -XX:TieredStopAtLevel=1 "$@"\n'
    path = cache_root() / f"java-for-tests-{hashlib.sha256(program.encode()).hexdigest()[:12]}" / "java"
    if not path.exists():
        write_atomically(path, program, mode=0o755)
    with contextlib.suppress(FileExistsError):
        (path.parent / "keytool").symlink_to(real.parent / "keytool")
    return path
