"""Fills the cache with all that a broker of our own needs, so that none of its later starts needs a network.

For images and machines that are cut off later:

    KAFKA_TUNER_CACHE=/opt/cache python scripts/prefetch_kafka.py

The cache folder may be moved to another place afterwards, or into another image layer, only with times kept and for
the same Java; otherwise its jars still serve, and what makes starts quick is made anew.
"""

import os
from pathlib import Path

from runners.clusters.embedded import EmbeddedCluster
from runners.clusters.jars import KafkaJars


def main() -> None:
    """Fetch the jars, then start a broker once and stop it."""
    jars = KafkaJars()
    for jar in jars.class_path(_say).split(os.pathsep):
        # Whole seconds: image layers drop the rest, and a jar with another time counts as changed.
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
