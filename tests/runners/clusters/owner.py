"""A program that owns a broker or a topic until it is killed. Tests run it with `python -m`.

    owner.py broker                    starts an embedded cluster
    owner.py zoned                     starts an embedded cluster behind a link
    owner.py topic BOOTSTRAP           creates a topic of ours on an existing cluster

It writes one line of JSON to standard output and then waits forever.
"""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from runners.clusters.brokers.embedded import EmbeddedCluster
from runners.clusters.brokers.existing import ExistingCluster
from runners.clusters.brokers.ports import listener
from runners.clusters.topics.owned_topics import OwnedTopics
from runners.host_processes.clean_up import clean_up_lists
from runners.zones.link import Link
from runners.zones.zoned_cluster import ZonedCluster


def main(what: str, *arguments: str) -> None:
    if what == "broker":
        cluster = EmbeddedCluster()
        running = cluster.start()
        (record,) = (record for record in clean_up_lists("broker") if record.facts["bootstrap"] == running.bootstrap)
        write_line(
            bootstrap=running.bootstrap,
            broker=running.local_brokers[0].pid,
            keeper=record.owner.pid,
            folders=record.facts["folders"],
            record=str(record.path),
        )
        signal.pause()
    elif what == "zoned":
        running = ZonedCluster(Link.symmetric(1.0)).start()
        proxy = listener(int(running.bootstrap.rpartition(":")[2]))
        write_line(broker=running.local_brokers[0].pid, proxy=proxy.pid if proxy else None)
        signal.pause()
    else:
        topics = OwnedTopics(ExistingCluster(arguments[0]).start())
        write_line(topic=topics.create().name, run_id=topics.run_id)
        signal.pause()


def write_line(**facts: Any) -> None:
    os.write(1, (json.dumps(facts) + "\n").encode())


@contextmanager
def running_owner(*arguments: str) -> Iterator[tuple["subprocess.Popen[str]", dict[str, Any]]]:
    """Run this program in a subprocess, and yield the process and the JSON that it wrote. It is killed at the end."""
    command = [sys.executable, "-m", "tests.runners.clusters.owner", *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as owner:
        try:
            assert owner.stdout is not None
            yield owner, json.loads(owner.stdout.readline())
        finally:
            owner.kill()


if __name__ == "__main__":
    main(*sys.argv[1:])
