"""The command line that runs a class of Kafka."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from runners.clusters.jars import KafkaJars
from runners.clusters.java import Java, find_java
from runners.places import write_atomically
from runners.reporting import Say, silent

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
