"""Finds the jars that a release of kafka-clients needs, with Maven."""

import hashlib
from typing import TYPE_CHECKING, Final

from runners.clusters.pinned_jars import PinnedJar
from runners.errors import JarsUnavailable

if TYPE_CHECKING:
    from jgo.maven import Artifact, MavenContext

_CHECKSUM_TIMEOUT_S: Final = 30


def resolved(maven: "MavenContext", version: str) -> list["Artifact"]:
    """Return the jars that a release of kafka-clients needs at run time, and the one that writes its log.

    Args:
        maven: Where to look for them.
        version: The release, such as `3.9.1`.
    """
    wanted = [maven.create_dependency(f"org.apache.kafka:kafka-clients:{version}")]
    inputs, transitive = maven.resolver.resolve(wanted)
    found = [jar.artifact for jar in (*inputs, *transitive) if jar.scope in (None, "compile", "runtime")]
    (log,) = {jar.version for jar in found if jar.artifactId == "slf4j-api"}
    return [*found, maven.project("org.slf4j", "slf4j-simple").at_version(log).artifact()]


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
            f"A jar must have the SHA-1 that its repository states, but {coordinate} has another one than "
            f"{stated or 'any (the repository states none)'}. Run again, or use a release that is pinned."
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
