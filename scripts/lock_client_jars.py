"""Resolves the jars of the Java client and of its load generator with Maven, and pins them.

    python -m scripts.lock_client_jars 2.8.2 3.9.1 4.3.1

Only the releases that the command names are pinned. The pins are written to `runners/java_client/pinned_jars.json`.
Afterwards, review the difference and run the tests of `tests/runners/java_client`.
"""

import json
import sys
import tempfile
from pathlib import Path

from jgo.maven import MavenContext

from runners.java_client.compiled import pinned_by_checksum, resolve
from runners.java_runtime.pinned_jars import PINNED_JARS
from scripts.lock_kafka_jars import as_json
from scripts.make_java_catalogue import COMPILER

TARGET = Path(__file__).parent.parent / "runners" / "java_client" / "pinned_jars.json"
# The broker has the same jars, so that they are pinned only once.
HARNESS = ("HdrHistogram", "jackson-annotations", "jackson-core", "jackson-databind", "jose4j")


def main(versions: list[str]) -> None:
    """Resolve the jars, download them to a temporary folder, and write their pins."""
    if not versions:
        sys.exit("name the releases of kafka-clients to pin, as in: python -m scripts.lock_client_jars 3.9.1 4.3.1")
    with tempfile.TemporaryDirectory() as repository:
        maven = MavenContext(repo_cache=Path(repository))
        group, artifact, version = COMPILER.split(":")
        compiler = [pinned_by_checksum(maven.project(group, artifact).at_version(version).artifact())]
        clients = {version: sorted(map(pinned_by_checksum, resolve(maven, version))) for version in versions}
    harness = [jar.coordinate for jar in PINNED_JARS if jar.coordinate.split(":")[1] in HARNESS]
    of_clients = ",\n".join(f"{json.dumps(version)}: {as_json(jars)}" for version, jars in clients.items())
    text = f'{{"compiler": {as_json(compiler)},\n"harness": {json.dumps(harness)},\n"clients": {{\n{of_clients}}}}}\n'
    TARGET.write_text(text, encoding="utf-8")
    print(f"the jars of {len(clients)} clients pinned in {TARGET}")


if __name__ == "__main__":
    main(sys.argv[1:])
