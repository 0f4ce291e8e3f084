"""A small disk that fills up while `tuner run` writes to it: a file system in memory, which only that command sees."""

import contextlib
import os
import shutil
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from tests.campaign.invariants import Invariants
from tests.helpers.command import arguments
from tests.helpers.serving import study_file
from tests.helpers.studies import on_record
from tuner.model.errors import ExitCode, StudyError
from tuner.model.study_files import RESULTS_FILE
from tuner.model.trial import Trial

STEP_BYTES: Final = 4096
"""The disk is filled so that it has room for one page more each time: so each write of the record is the last."""
_DISK_BYTES: Final = 24 << 20
_ENDED: Final = (ExitCode.DONE, ExitCode.NO_FEASIBLE_CONFIG)
_LONGEST_S: Final = 120.0


class SmallDisk:
    """A disk of 24 MB, which only the commands that `run` starts see at its path.

    Args:
        folder: An empty folder, over which the disk is mounted.

    Raises:
        PermissionError: This user may not mount a file system.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        mount = f"mount -t tmpfs -o size={_DISK_BYTES} none {folder} && echo mounted && exec sleep infinity"
        self._holder = subprocess.Popen(
            ["unshare", "--mount", "sh", "-c", mount], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        assert self._holder.stdout is not None
        if self._holder.stdout.readline() != "mounted\n":
            self._holder.wait()
            raise PermissionError("disks that are full are left out, because this user may not mount a file system")
        self.path = Path(f"/proc/{self._holder.pid}/root{folder}")

    def fill(self, but_bytes: int) -> None:
        """Fill the disk until it has room for `but_bytes`."""
        state = os.statvfs(self.path)
        with (self.path / "ballast").open("wb") as ballast:
            os.posix_fallocate(ballast.fileno(), 0, state.f_bavail * state.f_frsize - but_bytes)

    def run(self, words: Sequence[str], environ: Mapping[str, str]) -> "subprocess.CompletedProcess[str]":
        """Run a command that sees the disk at its folder."""
        return subprocess.run(
            ["nsenter", f"--target={self._holder.pid}", "--mount", *words],
            env={**os.environ, **environ},
            capture_output=True,
            text=True,
            timeout=_LONGEST_S,
            check=False,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._holder.send_signal(signal.SIGKILL)
        self._holder.wait()
        assert self._holder.stdout is not None
        self._holder.stdout.close()


def fill_disk(folder: Path, invariants: Invariants, every: int = 1) -> int:
    """Run studies on a disk that is full after one page more each time, until one has enough room; return their number.

    When there is room for all trials, and only the report is cut short, the number of pages doubles each time.

    Each study must end with one sentence. When there is room again, the same command must complete it, with all trials
    that were stored.

    Args:
        folder: A folder for everything.
        invariants: Gets the violations.
        every: Leave out all but every so many pages.

    Raises:
        PermissionError: This user may not mount a file system.
    """
    disk_folder, file = folder / "disk", folder / "full.yaml"
    disk_folder.mkdir()
    file.write_text(study_file("full", trials=3).replace("target: simulated", "executor: {kind: simulated}"))
    command = arguments("run", str(file), "--no-mlflow", "--quiet")
    environ = {"KAFKA_TUNER_STUDIES": str(disk_folder / "studies"), "TMPDIR": str(folder)}
    studies, pages, step = 0, 0, every
    with SmallDisk(disk_folder) as disk:
        while True:
            name, after = f"full-{studies}", f"a full disk with {pages} pages left"
            disk.fill(pages * STEP_BYTES)
            ran = disk.run(command, environ)
            (disk.path / "ballast").unlink()
            said = ran.stdout + ran.stderr
            if ran.returncode not in _ENDED and ("Traceback" in said or len(ran.stderr.strip().splitlines()) > 3):
                invariants.say(after, f"`tuner run` says more than a sentence: {ran.stderr.strip()[-300:]}")
            before = _trials(disk.path / "studies" / "full", folder / "copied")
            invariants.nothing_lost_or_doubled(name, before, (), after)
            again = disk.run(command, environ)
            if again.returncode not in _ENDED:
                invariants.say(after, f"the same command ends with {again.returncode}: {again.stderr.strip()[-300:]}")
            complete = _trials(disk.path / "studies" / "full", folder / "copied")
            invariants.nothing_lost_or_doubled(name, complete, (), after)
            left = [path.name for path in (disk.path / "studies" / "full").rglob(".*")]
            invariants.nothing_left(name, (f"the half-written file {each}" for each in left), after)
            shutil.rmtree(disk.path / "studies", ignore_errors=True)
            studies += 1
            if ran.returncode in _ENDED:
                return studies
            if len(before) == len(complete):
                step = max(pages, every)
            pages += step


def _trials(folder: Path, copied: Path) -> list[Trial]:
    """Return the trials in a study's folder, read from a copy, because SQLite can't open files below /proc."""
    shutil.rmtree(copied, ignore_errors=True)
    copied.mkdir()
    for path in folder.glob(f"{RESULTS_FILE}*"):
        shutil.copy(path, copied)
    with contextlib.suppress(StudyError):
        return on_record(copied)
    return []
