"""Uses Maven to find the jars that a release of kafka-clients, or another program, needs."""

import hashlib
import json
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Final

from runners.errors import JarsUnavailable
from runners.host_processes.folders import write_atomically
from runners.host_processes.locks import locked
from runners.java_runtime.jars import jgo_kept_quiet, maven_context
from runners.java_runtime.pinned_jars import PinnedJar
from runners.reporting import Say, first_line, silent

if TYPE_CHECKING:
    from jgo.maven import Artifact, Dependency, MavenContext

_CHECKSUM_TIMEOUT_S: Final = 30
_LOCK_TIMEOUT_S: Final = 600.0


def pinned_once(
    root: Path,
    find: Callable[["MavenContext"], Iterable["Artifact"]],
    what: str,
    advice: str = "check the version",
    progress: Say = silent,
) -> list[PinnedJar]:
    """Return the jars of a program that is not pinned. The first call finds them and writes a file that pins them.

    Args:
        root: The folder of the program's files, which receives the file with the pins.
        find: Finds the jars.
        what: The program and its version, for messages.
        advice: What to do if the jars can't be found, without a full stop.
        progress: Receives the progress.

    Raises:
        JarsUnavailable: The jars could not be found or fetched.
    """
    pins = root / "pins.json"
    with locked(root / "pins-lock", _LOCK_TIMEOUT_S, progress):
        if not pins.exists():
            progress(f"looking for {what}")
            write_atomically(pins, json.dumps(_resolved(root, find, what, advice)))
        return [PinnedJar(*each) for each in json.loads(pins.read_text(encoding="utf-8"))]


def _resolved(
    root: Path, find: Callable[["MavenContext"], Iterable["Artifact"]], what: str, advice: str
) -> list[PinnedJar]:
    with tempfile.TemporaryDirectory(dir=root, prefix="resolve-") as download, jgo_kept_quiet():
        try:
            return [pinned_by_checksum(jar) for jar in find(maven_context(Path(download)))]
        except JarsUnavailable:
            raise
        # jgo raises errors of its HTTP library, of the file system and of its own, which share no base class.
        except Exception as error:  # noqa: BLE001
            raise JarsUnavailable(
                f"{what} could not be fetched from Maven's repository: {first_line(error)}\n{advice}"
            ) from None


def resolve(maven: "MavenContext", version: str) -> list["Artifact"]:
    """Return the jars that a release of kafka-clients needs at run time, and the logging jar.

    Args:
        maven: Access to Maven's repositories.
        version: The release, such as `3.9.1`.
    """
    jars = needed_at_run_time(maven, [maven.create_dependency(f"org.apache.kafka:kafka-clients:{version}")])
    (log,) = {jar.version for jar in jars if jar.artifactId == "slf4j-api"}
    return [*jars, maven.project("org.slf4j", "slf4j-simple").at_version(log).artifact()]


def needed_at_run_time(maven: "MavenContext", wanted: list["Dependency"]) -> list["Artifact"]:
    """Return the jars of artifacts and those that they need at run time."""
    inputs, transitive = maven.resolver.resolve(wanted)
    return [jar.artifact for jar in (*inputs, *transitive) if jar.scope in (None, "compile", "runtime")]


def pinned_by_checksum(jar: "Artifact") -> PinnedJar:
    """Download a jar, compare it with the repository's own checksum, and return it with its size and SHA-256.

    Raises:
        JarsUnavailable: The repository has no checksum for the jar, or another one.
    """
    content = jar.resolve().read_bytes()
    coordinate = f"{jar.groupId}:{jar.artifactId}:{jar.version}"
    stated = _stated_sha1(jar)
    if hashlib.sha1(content, usedforsecurity=False).hexdigest() != stated:
        jar.resolve().unlink()
        raise JarsUnavailable(
            f"a jar must have the SHA-1 that its repository states, but {coordinate} has another one than "
            f"{stated or 'any (the repository states none)'}; run again, or use a release that is pinned"
        )
    return PinnedJar(coordinate, len(content), hashlib.sha256(content).hexdigest())


def _stated_sha1(jar: "Artifact") -> str | None:
    """Return the SHA-1 that a repository states beside the jar; None if no repository does."""
    import requests

    for repository in jar.context.remote_repos.values():
        address = f"{repository}/{jar.component.path_prefix.as_posix()}/{jar.filename}.sha1"
        answer = requests.get(address, timeout=_CHECKSUM_TIMEOUT_S)
        if answer.status_code == requests.codes.ok and answer.text.split():
            return str(answer.text.split()[0])
    return None
