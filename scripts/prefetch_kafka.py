"""Fetches all files that our brokers and our Java programs need into the cache, so that they later need no network.

This is for images, and for machines that will have no network later:

    KAFKA_TUNER_CACHE=/opt/cache python scripts/prefetch_kafka.py

The release of the Java client is the newest, which `client: java` means. The programs for it are compiled: the load
generator, and the program that reads record batches for `tuner inspect`. The cache folder may be moved or copied into
another image layer afterwards. Keep the files' modification times and the same Java version. Otherwise the jars are
still used, but the files that make the broker start fast are made again, and the programs are compiled again.
"""

import os
from pathlib import Path

from runners.clusters.brokers.embedded import EmbeddedCluster
from runners.java_client.compiled import INSPECTOR, LOAD_GENERATOR, CompiledProgram
from runners.java_runtime.jars import kafka_jars
from search_spaces.client import java


def main() -> None:
    """Fetch the jars, compile the programs, and start and stop a broker once."""
    version = java().version
    for class_path in (kafka_jars().class_path(_say), CompiledProgram.prepare(version, _say).class_path):
        for jar in map(Path, class_path.split(os.pathsep)):
            # Image layers keep modification times in whole seconds. A jar with another time would count as changed.
            whole = int(jar.stat().st_mtime)
            os.utime(jar, (whole, whole))
    for program in (LOAD_GENERATOR, INSPECTOR):
        CompiledProgram.prepare(version, _say, program)  # writes the new times down
    cluster = EmbeddedCluster()
    try:
        cluster.start(_say)  # makes the files that speed up later starts, and writes the new times down
    finally:
        cluster.stop()


def _say(progress: str) -> None:
    print(progress, flush=True)


if __name__ == "__main__":
    main()
