"""Fills the cache with everything that the embedded broker needs, so that later starts need no network.

This is for images, and for machines that will have no network later:

    KAFKA_TUNER_CACHE=/opt/cache python scripts/prefetch_kafka.py

The cache folder may be moved or copied into another image layer afterwards. Keep the files' modification times and the
same Java version. Otherwise the jars are still used, but the files that make the broker start fast are made again.
"""

import os
from pathlib import Path

from runners.clusters.embedded import EmbeddedCluster
from runners.clusters.jars import KafkaJars


def main() -> None:
    """Fetch the jars, and start and stop a broker once, which makes the files that speed up later starts."""
    jars = KafkaJars()
    for jar in jars.class_path(_say).split(os.pathsep):
        # Image layers keep modification times in whole seconds. A jar with another time would count as changed.
        whole = int(Path(jar).stat().st_mtime)
        os.utime(jar, (whole, whole))
    cluster = EmbeddedCluster()
    try:
        cluster.start(_say)
    finally:
        cluster.stop()


def _say(progress: str) -> None:
    print(progress, flush=True)


if __name__ == "__main__":
    main()
