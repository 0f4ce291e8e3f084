"""Programs that take properties of a producer, from Maven: they say which properties their producer gets."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

from runners.errors import JarsUnavailable
from runners.host_processes.folders import cache_root
from runners.java_client.compiled import compiled, needed_at_run_time, pinned_once
from runners.java_runtime.jars import JarFolder
from runners.java_runtime.java import OUR_FLAGS, find_java, run_java
from runners.reporting import first_line

if TYPE_CHECKING:
    from jgo.maven import Artifact, MavenContext

_SOURCES: Final = Path(__file__).parent / "loaders"
_TIMEOUT_S: Final = 60.0


@dataclass(frozen=True)
class Program:
    """A program that hands properties to a producer.

    Attributes:
        main_class: The class of ours that asks it, in the folder `loaders`.
        wanted: Maven coordinates.
        without: Dependencies that the class does not need, as `group:artifact`.
    """

    main_class: str
    wanted: tuple[str, ...]
    without: tuple[str, ...] = ()

    def producer_properties(self, *files: Path) -> dict[str, str]:
        """Return the properties that the program hands to its producer, if these files are its configuration."""
        name = self.main_class.rpartition(".")[2]
        what = " and ".join(self.wanted)
        java, root = find_java(), cache_root() / f"loaders-{name}-{self.wanted[0].rpartition(':')[2]}"
        try:
            class_path = JarFolder(root, pinned_once(root, self._jars, what), what).class_path()
        except JarsUnavailable as error:
            pytest.skip(f"the jars of {what} can't be had: {first_line(error)}")
        classes = compiled(java, root, [_SOURCES / f"{name}.java"], class_path)
        class_path = os.pathsep.join((str(classes), class_path))
        command: list[str | Path] = [java.path, *OUR_FLAGS, "-cp", class_path, self.main_class, *files]
        ran = run_java(command, _TIMEOUT_S)
        assert ran.returncode == 0, ran.stderr[-3000:]
        return dict(line.split("=", 1) for line in ran.stdout.splitlines())

    def _jars(self, maven: "MavenContext") -> Sequence["Artifact"]:
        excluded = [maven.project(*name.split(":")) for name in self.without]
        return needed_at_run_time(maven, [maven.create_dependency(each, excluded) for each in self.wanted])


SPRING: Final = Program("Spring", ("org.springframework.boot:spring-boot-kafka:4.0.0", "org.yaml:snakeyaml:2.5"))
CONNECT: Final = Program(
    "org.apache.kafka.connect.runtime.ConnectProducer", ("org.apache.kafka:connect-runtime:4.3.1",)
)
STREAMS: Final = Program("Streams", ("org.apache.kafka:kafka-streams:4.3.1",), without=("org.rocksdb:rocksdbjni",))
