"""Prepares a Java program of ours for a release of kafka-clients: fetches the jars, and compiles it at first use."""

import hashlib
import os
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final, Self

from runners.errors import EmbeddedBrokerError, GeneratorError, JarsUnavailable, JavaNotFound
from runners.host_processes.folders import cache_root
from runners.host_processes.locks import locked
from runners.java_client.pinned_jars import CLIENT_JARS, COMPILER, HARNESS_JARS
from runners.java_client.resolving import pinned_once, resolve
from runners.java_runtime.jars import JarFolder
from runners.java_runtime.java import Java, find_java, run_java
from runners.java_runtime.pinned_jars import PinnedJar
from runners.reporting import Say, silent

_NO_SUBJECT: Final = 24
"""Java lacks `Subject.getSubject`, by which older clients find their login, since this version. Source: JEP 486."""
_FINDS_SUBJECT: Final = (3, 9, 1)
"""The first release of kafka-clients that does not need `getSubject`. Source: KAFKA-17078."""
_PROGRAMS: Final = Path(__file__).parent
SOURCES: Final = _PROGRAMS / "harness"
_COMPILE_TIMEOUT_S: Final = 120.0
_LOCK_TIMEOUT_S: Final = 600.0
_DIGITS: Final = 16
_RELEASE: Final = "17"


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
        except EmbeddedBrokerError:
            raise
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
    classes = root / f"harness-{digest.hexdigest()[:_DIGITS]}"
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
            f"-{_RELEASE}",
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
