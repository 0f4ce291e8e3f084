"""Runs a command, and searches everything that it starts and writes for a secret while it runs."""

import base64
import mmap
import os
import re
import subprocess
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import psutil

from tests.helpers.command import Ended, arguments

_TIMEOUT_S: Final = 240.0
_LOOK_S: Final = 0.1
_FORK_S: Final = 0.5
_FILES_EVERY_S: Final = 1.0
_RAY_FOLDER: Final = re.compile(r"/[^\s=,\0\"']*?kt-ray-[^/\s,\0\"']+")


@dataclass(slots=True)
class Watcher:
    """What has been searched, and where the secret was found.

    Attributes:
        secret: A text that occurs in no other word.
        command_lines: Command lines of the command and of all processes that it started.
        environments: Ids of the child processes whose environment was read.
        ray_files: Files of Ray's session that were read.
        found: The places where the secret was found.
    """

    secret: str
    command_lines: set[str] = field(default_factory=set)
    environments: set[int] = field(default_factory=set)
    ray_files: set[str] = field(default_factory=set)
    found: set[str] = field(default_factory=set)
    _copies: set[int] = field(default_factory=set)

    def run(self, *words: str) -> Ended:
        """Run a `tuner` command to its end."""
        with subprocess.Popen(
            arguments(*words), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        ) as process:
            over = threading.Event()
            watching = threading.Thread(target=self._watch, args=(psutil.Process(process.pid), over))
            watching.start()
            try:
                out, err = process.communicate(timeout=_TIMEOUT_S)
            finally:
                over.set()
                watching.join()
                process.kill()
        return Ended(process.returncode, out, err)

    def _watch(self, root: psutil.Process, over: threading.Event) -> None:
        files_at = time.monotonic()
        while not over.wait(_LOOK_S):
            try:
                processes = [root, *root.children(recursive=True)]
            except psutil.NoSuchProcess:
                return
            line = _line(root)
            for process in processes:
                # Between fork and exec, a child is still a copy of its parent, with the parent's environment.
                self._look(process, own=process == root or self._just_forked(process, line))
            if time.monotonic() - files_at > _FILES_EVERY_S:
                for folder in {place for line in self.command_lines for place in _RAY_FOLDER.findall(line)}:
                    for path in holding(Path(folder), self.secret, self.ray_files):
                        self.found.add(f"Ray's session: {path}")
                files_at = time.monotonic()

    def _just_forked(self, process: psutil.Process, parents_line: str) -> bool:
        """Return whether a process has been forked, but does not run its own program yet.

        A process that stays a copy of its parent for long is not counted.
        """
        if _line(process) != parents_line or process.pid in self._copies:
            return False
        time.sleep(_FORK_S)
        if _line(process) == parents_line:
            self._copies.add(process.pid)
        return True

    def _look(self, process: psutil.Process, *, own: bool) -> None:
        try:
            line = " ".join(process.cmdline())
            self.command_lines.add(line)
            if self.secret in line:
                self.found.add(f"command line: {line[:200]}")
            if own:
                return  # this environment comes from the user's shell
            self.environments.add(process.pid)
            # Read the file itself: psutil leaves out entries that are not NAME=VALUE.
            if self.secret.encode() in Path(f"/proc/{process.pid}/environ").read_bytes():
                self.found.add(f"environment of: {line[:200]}")
        except (psutil.Error, OSError):
            pass  # the process has ended


def _line(process: psutil.Process) -> str:
    try:
        return " ".join(process.cmdline())
    except psutil.Error:
        return ""


def holding(folder: Path, secret: str, seen: set[str]) -> Iterator[Path]:
    """Yield the files below a folder that contain a secret, as plain text or in base64.

    The paths of all files that were read are added to `seen`.
    """
    encoded = {base64.b64encode(b"\0" * shift + secret.encode())[4:-4] for shift in range(3)}
    for place, _, names in os.walk(folder):
        for path in (Path(place, name) for name in names):
            try:
                if not path.is_file() or path.stat().st_size == 0:
                    continue
                with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as text:
                    seen.add(str(path))
                    if any(text.find(form) >= 0 for form in (secret.encode(), *encoded)):
                        yield path
            except (OSError, ValueError):
                continue  # the file has been deleted or emptied
