"""Resolves the jars of a Kafka version with Maven and pins them in `runners/java_runtime/pinned_jars.json`.

    python scripts/lock_kafka_jars.py 4.3.1

Afterwards, review the difference and run the tests marked `broker`.
"""

import json
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

from jgo.maven import Artifact, MavenContext

from runners.java_client.compiled import needed_at_run_time, pinned_by_checksum
from runners.java_runtime.pinned_jars import PinnedJar

TARGET = Path(__file__).parent.parent / "runners" / "java_runtime" / "pinned_jars.json"
# Only the tool `connect-plugin-path` needs Connect and its web server. Leaving it out saves 38 jars and 10 MB.
NOT_NEEDED = ("connect-runtime", "connect-api", "connect-json")


def main(kafka_version: str) -> None:
    """Resolve the jars of a Kafka version, download them to a temporary folder, and write their pins."""
    with tempfile.TemporaryDirectory() as repository:
        jars = sorted(map(pinned_by_checksum, resolve(MavenContext(repo_cache=Path(repository)), kafka_version)))
    TARGET.write_text(f'{{"kafka": {json.dumps(kafka_version)}, "jars": {as_json(jars)}}}\n', encoding="utf-8")
    print(f"{len(jars)} jars of Kafka {kafka_version} pinned in {TARGET}")


def resolve(maven: MavenContext, kafka_version: str) -> list[Artifact]:
    """Return all jars that the broker and its tools need at run time."""
    excluded = [maven.project("org.apache.kafka", name) for name in NOT_NEEDED]
    wanted = [
        maven.create_dependency(f"org.apache.kafka:{name}:{kafka_version}", excluded)
        for name in ("kafka_2.13", "kafka-tools")
    ]
    _, transitive = maven.resolver.resolve(wanted)
    (log4j,) = {jar.artifact.version for jar in transitive if jar.artifact.artifactId == "log4j-core"}
    # Kafka's archive contains the bridge from SLF4J to Log4j, but its POM does not name it. With the "!", jgo ignores
    # the versions in Log4j's own POM, which would select kafka-clients 3.9.1.
    wanted.append(maven.create_dependency(f"org.apache.logging.log4j:log4j-slf4j-impl:{log4j}!"))
    return needed_at_run_time(maven, wanted)


def as_json(jars: Iterable[PinnedJar]) -> str:
    """Return a list of pinned jars as JSON, with one line for each jar: its coordinate, its size and its digest."""
    return "[\n" + ",\n".join(f"  {json.dumps(jar)}" for jar in jars) + "\n]"


if __name__ == "__main__":
    main(*sys.argv[1:])
