"""Resolves the jars of the Java client and of its load generator with Maven, and pins them.

    python -m scripts.lock_client_jars 2.8.2 3.9.1 4.3.1

Only the releases that the command names are pinned. The pins are written to `runners/java_client/pinned_jars.py`.
Afterwards, review the difference and run the tests of `tests/runners/java_client`.
"""

import sys
import tempfile
from pathlib import Path

from jgo.maven import MavenContext

from runners.java_client.compiled import resolve
from runners.java_runtime.pinned_jars import PINNED_JARS
from scripts.lock_kafka_jars import entry
from scripts.make_java_catalogue import COMPILER

TARGET = Path(__file__).parent.parent / "runners" / "java_client" / "pinned_jars.py"
# The broker has the same jars, so that they are pinned only once.
HARNESS = ("HdrHistogram", "jackson-annotations", "jackson-core", "jackson-databind", "jose4j")


def main(versions: list[str]) -> None:
    """Resolve the jars, download them to a temporary folder, and write their pins."""
    if not versions:
        sys.exit("name the releases of kafka-clients to pin, as in: python -m scripts.lock_client_jars 3.9.1 4.3.1")
    with tempfile.TemporaryDirectory() as repository:
        maven = MavenContext(repo_cache=Path(repository))
        group, artifact, version = COMPILER.split(":")
        compiler = entry(maven.project(group, artifact).at_version(version).artifact())
        clients = {version: sorted(entry(jar) for jar in resolve(maven, version)) for version in versions}
    harness = [jar.coordinate for jar in PINNED_JARS if jar.coordinate.split(":")[1] in HARNESS]
    TARGET.write_text(_text(compiler, harness, clients), encoding="utf-8")
    print(f"the jars of {len(clients)} clients pinned in {TARGET}")


def _text(compiler: str, harness: list[str], clients: dict[str, list[str]]) -> str:
    pins = "".join(
        f'    "{version}": (\n{"".join(_indented(jar) for jar in jars)}    ),\n' for version, jars in clients.items()
    )
    names = "".join(f'    "{coordinate}",\n' for coordinate in harness)
    return f'''"""The pinned jars of the Java client, and of the load generator that uses it.

This file is written by `python -m scripts.lock_client_jars`; don't edit it by hand.
"""

from collections.abc import Mapping
from typing import Final

from runners.java_runtime.pinned_jars import PINNED_JARS, PinnedJar

COMPILER: Final = (
{compiler})
"""The compiler of the load generator."""

_HARNESS: Final = frozenset({{
{names}}})

HARNESS_JARS: Final = tuple(jar for jar in PINNED_JARS if jar.coordinate in _HARNESS)
"""What the load generator uses besides the client. For OAUTHBEARER, the client itself needs Jackson and jose4j."""

CLIENT_JARS: Final[Mapping[str, tuple[PinnedJar, ...]]] = {{
{pins}}}
"""The jars of each release of kafka-clients that our tests run with."""
'''


def _indented(text: str) -> str:
    return "".join(f"    {line}\n" for line in text.splitlines())


if __name__ == "__main__":
    main(sys.argv[1:])
