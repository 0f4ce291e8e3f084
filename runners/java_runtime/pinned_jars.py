"""The pinned jars of Kafka, which `jars.py` fetches and checks.

The file `pinned_jars.json` beside this module lists them. `python scripts/lock_kafka_jars.py` writes it.
"""

import json
from pathlib import Path
from typing import Any, Final, NamedTuple


class PinnedJar(NamedTuple):
    """One jar of the class path.

    Attributes:
        coordinate: Maven coordinate `group:artifact:version`.
        size_bytes: Size of the file.
        sha256: SHA-256 of the file in hexadecimal digits.
    """

    coordinate: str
    size_bytes: int
    sha256: str

    @property
    def file_name(self) -> str:
        """The file's name, as in a Maven repository."""
        _, artifact, version = self.coordinate.split(":")
        return f"{artifact}-{version}.jar"


_LISTED: Final[dict[str, Any]] = json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))

KAFKA_VERSION: Final = str(_LISTED["kafka"])
PINNED_JARS: Final = tuple(PinnedJar(*each) for each in _LISTED["jars"])
