"""Prepares a Java program of ours for a release of kafka-clients: fetches the jars, and compiles it at first use."""

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self

from runners.errors import GeneratorError, JarsUnavailable, JavaNotFound
from runners.host_processes.folders import cache_root, write_atomically
from runners.host_processes.locks import locked
from runners.java_client.pinned_jars import CLIENT_JARS, COMPILER, HARNESS_JARS
from runners.java_runtime.jars import JarFolder, jgo_kept_quiet, maven_context
from runners.java_runtime.java import Java, find_java, run_java
from runners.java_runtime.pinned_jars import PinnedJar
from runners.reporting import Say, first_line, silent

if TYPE_CHECKING:
    from jgo.maven import Artifact, Dependency, MavenContext

_NO_SUBJECT: Final = 24
"""Java lacks `Subject.getSubject`, by which older clients find their login, since this version. Source: JEP 486."""
_FINDS_SUBJECT: Final = (3, 9, 1)
"""The first release of kafka-clients that does not need `getSubject`. Source: KAFKA-17078."""
_PROGRAMS: Final = Path(__file__).parent
SOURCES: Final = _PROGRAMS / "harness"
_COMPILE_TIMEOUT_S: Final = 120.0
_LOCK_TIMEOUT_S: Final = 600.0
_HASH_DIGITS: Final = 16
_SOURCE_LEVEL: Final = "17"
"""The version of the Java language that the programs are written in."""
_CHECKSUM_TIMEOUT_S: Final = 30


@dataclass(frozen=True, slots=True)
class Program:
    """A Java program of ours that uses kafka-clients.

    Attributes:
        name: What the program is, for messages.
        main_class: Its main class.
        sources: Its source files.
    """

    name: str
    main_class: str
    sources: tuple[Path, ...]


LOAD_GENERATOR: Final = Program("load generator", "harness.Harness", tuple(sorted(SOURCES.glob("*.java"))))
INSPECTOR: Final = Program(
    "inspector",
    "inspector.Inspector",
    (*sorted((_PROGRAMS / "inspector").glob("*.java")), SOURCES / "Pipe.java"),
)
"""This program uses internal classes of kafka-clients, so it is compiled with the newest release only."""


@dataclass(frozen=True, slots=True)
class CompiledProgram:
    """A program that was compiled with a release of kafka-clients, and the jars that it runs with.

    Attributes:
        java: The Java runtime.
        class_path: The value for `java -cp`.
        version: The release of kafka-clients.
        main_class: The program's main class.
    """

    java: Java
    class_path: str
    version: str
    main_class: str = LOAD_GENERATOR.main_class

    @classmethod
    def prepare(cls, version: str, progress: Say = silent, program: Program = LOAD_GENERATOR) -> Self:
        """Find Java, fetch the jars of a release if they are missing, and compile a program if it is not compiled yet.

        Args:
            version: The release of kafka-clients, such as `4.3.1`.
            progress: Receives the progress of a download.
            program: The program to compile.

        Raises:
            JavaNotFound: No Java runtime is usable.
            JarsUnavailable: The jars could not be fetched.
            GeneratorError: The program does not compile with this release.
        """
        java, root = find_java(), cache_root() / f"java-client-{version}"
        try:
            jars = JarFolder(
                root, (*_client_jars(version, root, progress), *HARNESS_JARS), f"Kafka's Java client {version}"
            )
            class_path = jars.class_path(progress)
            classes = compiled(java, root, program.sources, class_path, progress, program.name)
            return cls(java, os.pathsep.join((str(classes), class_path)), version, program.main_class)
        except OSError as error:
            raise JarsUnavailable(
                f"the Java client's files could not be stored in {root}: {error}; free some space there or "
                "change the permissions, or set KAFKA_TUNER_CACHE to another folder"
            ) from None

    def check_login(self, protocol: str) -> None:
        """Check that this release of the client can log in on this Java runtime.

        Args:
            protocol: The property `security.protocol` of the connection.

        Raises:
            JavaNotFound: The release needs an older Java runtime for SASL.
        """
        release = tuple(int(number) for number in self.version.split("."))
        if protocol.upper().startswith("SASL") and self.java.major >= _NO_SUBJECT and release < _FINDS_SUBJECT:
            raise JavaNotFound(
                f"kafka-clients before {'.'.join(map(str, _FINDS_SUBJECT))} can log in with SASL only on Java below "
                f"{_NO_SUBJECT}, but the client is {self.version}, and {self.java.path} is Java {self.java.version}; "
                "set KAFKA_TUNER_JAVA to the path of an older `java` program, or measure with a newer client"
            )


def _client_jars(version: str, root: Path, progress: Say) -> Sequence[PinnedJar]:
    """Return the jars of a release. If it is not pinned, Maven finds its jars once, and then a file pins them."""
    if version in CLIENT_JARS:
        return CLIENT_JARS[version]
    advice = f"check the version; {', '.join(CLIENT_JARS)} are tested"
    return pinned_once(root, partial(resolve, version=version), f"kafka-clients {version}", advice, progress)


def compiled(
    java: Java,
    root: Path,
    sources: Sequence[Path],
    class_path: str,
    progress: Say = silent,
    name: str = LOAD_GENERATOR.name,
) -> Path:
    """Return the folder with the classes of a Java program, after compiling it, if it is not compiled yet.

    Args:
        java: The runtime, which also runs the compiler.
        root: The folder of the program's files. It receives the folder of the classes.
        sources: The source files.
        class_path: The jars that the program uses.
        progress: Receives the progress of a download.
        name: What the program is, for messages.

    Raises:
        JarsUnavailable: The compiler could not be fetched.
        GeneratorError: The program does not compile.
    """
    digest = hashlib.sha256(b"\0".join((str(java.major).encode(), *(path.read_bytes() for path in sources))))
    classes = root / f"harness-{digest.hexdigest()[:_HASH_DIGITS]}"
    if not classes.exists():
        with locked(root / "compile-lock", _LOCK_TIMEOUT_S, progress):
            if not classes.exists():
                _compile(java, sources, class_path, classes, name)
    return classes


def _compile(java: Java, sources: Sequence[Path], class_path: str, classes: Path, name: str) -> None:
    """Compile the sources, and give the folder its name when it is complete."""
    # Only a killed process can have left these: nobody else compiles while we hold the lock. Classes of other sources
    # stay, because a process of another release of this tool may be running them.
    for left in classes.parent.glob("compile-*"):
        if left.is_dir():
            shutil.rmtree(left, ignore_errors=True)
    compiler = JarFolder(cache_root() / "java-compiler", COMPILER, "the Java compiler").class_path()
    with tempfile.TemporaryDirectory(dir=classes.parent, prefix="compile-") as folder:
        output = Path(folder) / "classes"
        command: list[str | Path] = [
            java.path,
            "-XX:-UsePerfData",
            "-jar",
            compiler,
            f"-{_SOURCE_LEVEL}",
            "-nowarn",
            "-proc:none",
        ]
        ran = run_java([*command, "-cp", class_path, "-d", output, *sources], _COMPILE_TIMEOUT_S)
        if ran.returncode != 0:
            raise GeneratorError(
                f"the {name} does not compile with this release of kafka-clients; the compiler reports: "
                f"{ran.stderr.strip()[:2000]}"
            )
        output.rename(classes)


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
