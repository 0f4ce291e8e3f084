"""The pinned jars of the Java client, and of the load generator that uses it.

The file `pinned_jars.json` beside this module lists them. `python -m scripts.lock_client_jars` writes it.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from runners.java_runtime.pinned_jars import PINNED_JARS, PinnedJar

_LISTED: Final[dict[str, Any]] = json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))

COMPILER: Final = tuple(PinnedJar(*each) for each in _LISTED["compiler"])
"""The compiler of the load generator."""

HARNESS_JARS: Final = tuple(jar for jar in PINNED_JARS if jar.coordinate in _LISTED["harness"])
"""What the load generator uses besides the client. For OAUTHBEARER, the client itself needs Jackson and jose4j."""

CLIENT_JARS: Final[Mapping[str, tuple[PinnedJar, ...]]] = {
    version: tuple(PinnedJar(*each) for each in jars) for version, jars in _LISTED["clients"].items()
}
"""The jars of each release of kafka-clients that our tests run with."""
