"""Fetches jars of Kafka, of its Java client and of a compiler once, and repairs them if they get damaged."""

import contextlib
import hashlib
import json
import logging
import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import TYPE_CHECKING

from runners.errors import JarsUnavailable
from runners.host_processes.folders import cache_root, write_atomically
from runners.host_processes.locks import locked
from runners.java_runtime.pinned_jars import KAFKA_VERSION, PINNED_JARS, PinnedJar
from runners.reporting import Say, first_line, silent

if TYPE_CHECKING:
    from jgo.maven import MavenContext

_REPOSITORY_VARIABLE = "KAFKA_TUNER_MAVEN_REPOSITORY"
_JARS_PER_MESSAGE = 10
_PARALLEL_DOWNLOADS = 4
_TRIES_PER_JAR = 2
_REQUEST_TIMEOUT_S = 30
_LOCK_TIMEOUT_S = 600.0


class JarFolder:
    """A folder with the jars of a class path.

    `jars/` in it holds the jars. A downloaded jar is moved there by a rename after its SHA-256 has been checked, so
    that a killed download leaves no partial jar. `manifest.json` in it holds the size and the modification time of each
    jar at its last check. While the size and the time of a jar are unchanged, the jar is not read again.
    """

    def __init__(self, root: Path, pinned: Sequence[PinnedJar], what: str) -> None:
        """Set the folder of the jars, without reading or writing anything.

        Args:
            root: The folder, which receives `jars/` and `manifest.json`.
            pinned: The jars of the class path.
            what: The program that needs the jars, for messages.
        """
        self.root = root
        self._pinned = pinned
        self._what = what
        self._jars = self.root / "jars"
        self._manifest = self.root / "manifest.json"

    def class_path(self, progress: Say = silent) -> str:
        """Return the class path, after fetching every jar that is missing or damaged.

        If no jar is missing or damaged, this needs no network.

        Args:
            progress: Receives the progress of a download.

        Returns:
            The paths of the jars, joined for `java -cp`.

        Raises:
            JarsUnavailable: A jar could not be fetched. Run again when the network is back; jars that were fetched are
                kept.
        """
        try:
            if self._damaged():
                with locked(self.root / "lock", _LOCK_TIMEOUT_S, progress):
                    if missing := self._damaged():
                        self._fetch(missing, progress)
        except OSError as error:
            raise JarsUnavailable(
                f"the jars of {self._what} could not be stored in {self.root}: {error}; free some space "
                "there or change the permissions, or set KAFKA_TUNER_CACHE to another folder"
            ) from None
        return os.pathsep.join(str(self._jars / jar.file_name) for jar in self._pinned)

    def _damaged(self) -> list[PinnedJar]:
        """Return the jars that are missing, or whose size or SHA-256 is not the pinned one."""
        manifest = self._read_manifest()
        damaged, checked = [], {}
        for jar in self._pinned:
            try:
                status = (self._jars / jar.file_name).stat()
            except (FileNotFoundError, NotADirectoryError):
                damaged.append(jar)
                continue
            stamp = [status.st_size, status.st_mtime_ns]
            if stamp == manifest.get(jar.file_name) or _is_whole(self._jars / jar.file_name, jar):
                checked[jar.file_name] = stamp
            else:
                damaged.append(jar)
        if checked != manifest:
            with contextlib.suppress(OSError):  # if we may not write to the cache, the jars are checked at each use
                write_atomically(self._manifest, json.dumps(checked, indent=1))
        return damaged

    def _read_manifest(self) -> dict[str, list[int]]:
        try:
            known = json.loads(self._manifest.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        return known if isinstance(known, dict) else {}

    def _fetch(self, missing: list[PinnedJar], progress: Say) -> None:
        # Only killed processes can have left these folders: nobody else downloads while we hold the lock.
        for left in self.root.glob("download-*"):
            shutil.rmtree(left, ignore_errors=True)
        self._jars.mkdir(parents=True, exist_ok=True)
        megabytes = sum(jar.size_bytes for jar in missing) / 1e6
        what = f"fetching {self._what} ({megabytes:.0f} MB)"
        progress(f"{what}: 0 of {len(missing)} jars")
        with (
            tempfile.TemporaryDirectory(dir=self.root, prefix="download-") as download,
            jgo_kept_quiet(),
            ThreadPoolExecutor(_PARALLEL_DOWNLOADS) as workers,
        ):
            futures = [workers.submit(self._fetch_one, jar, Path(download)) for jar in missing]
            try:
                for done, future in enumerate(as_completed(futures), start=1):
                    future.result()
                    if done % _JARS_PER_MESSAGE == 0 or done == len(missing):
                        progress(f"{what}: {done} of {len(missing)} jars")
            except BaseException:
                workers.shutdown(cancel_futures=True)
                raise
        if still := self._damaged():
            raise JarsUnavailable(
                f"{still[0].file_name} has changed since it was fetched: it does not have the pinned SHA-256; "
                f"look for another program that writes to {self._jars}, and run again"
            )

    def _fetch_one(self, jar: PinnedJar, download: Path) -> None:
        """Download one jar, and move it into the folder of the jars if it has the pinned SHA-256."""
        maven = maven_context(download)
        group, artifact, version = jar.coordinate.split(":")
        wanted = maven.project(group, artifact).at_version(version).artifact()
        reason = ""
        for _ in range(_TRIES_PER_JAR):
            try:
                fetched: Path = wanted.resolve()
            # jgo raises errors of its HTTP library, of the file system and of its own, which share no base class.
            except Exception as error:  # noqa: BLE001
                reason = first_line(error)
            else:
                if _is_whole(fetched, jar):
                    fetched.replace(self._jars / jar.file_name)
                    return
                reason = f"the downloaded file does not have the pinned SHA-256 {jar.sha256}"
            if half := wanted.cached_path:
                half.unlink(missing_ok=True)
        raise JarsUnavailable(
            f"{jar.coordinate}, one of the jars of {self._what}, could not be fetched: {reason}\n"
            f"run again when the network is back (jars that were fetched are kept), set {_REPOSITORY_VARIABLE} to "
            f"the address of a Maven mirror, or copy the folder {self.root} from a machine that has it"
        )


def kafka_jars() -> JarFolder:
    """Return the folder with the jars of the broker and its tools, without reading or writing anything."""
    return JarFolder(cache_root() / f"kafka-{KAFKA_VERSION}", PINNED_JARS, f"Kafka {KAFKA_VERSION}")


def maven_context(download: Path) -> "MavenContext":
    """Return access to Maven's repository, or to the mirror that the user has named.

    Args:
        download: The folder for downloaded files.
    """
    from jgo.maven import MavenContext

    repository = os.environ.get(_REPOSITORY_VARIABLE)
    return MavenContext(
        repo_cache=download,
        remote_repos={"mirror": repository.rstrip("/")} if repository else None,
        timeout=_REQUEST_TIMEOUT_S,
    )


def _is_whole(path: Path, jar: PinnedJar) -> bool:
    if path.stat().st_size != jar.size_bytes:
        return False
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest() == jar.sha256


@contextlib.contextmanager
def jgo_kept_quiet() -> Iterator[None]:
    """Keep log messages of jgo, the library that downloads the jars, off the terminal.

    We check the downloaded jars ourselves, so the user does not need these messages.
    """
    logger = logging.getLogger("jgo")
    before = logger.disabled, logger.propagate, logger.handlers[:]
    logger.propagate = False
    logger.handlers = [logging.NullHandler()]
    try:
        yield
    finally:
        logger.disabled, logger.propagate, logger.handlers = before
