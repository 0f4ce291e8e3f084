"""A slow network for one process, which disappears when the process ends.

The process moves into a new network namespace, which has only a loopback interface, and slows that interface with a
token bucket. The host's own network is not changed, no address or name is used up, and the kernel removes the namespace
when the last process in it ends. `python -m tests.helpers.slow_network` checks whether this works here.
"""

import ctypes
import os
import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from typing import Final

from runners.clusters.brokers.embedded import EmbeddedCluster
from runners.clusters.topics.owned_topics import OwnedTopics
from runners.librdkafka.librdkafka_runner import LibrdkafkaRunner
from runners.measurements.measurement import Measurement
from runners.runner import Watch, go_on
from runners.workload import Workload
from search_spaces.configs.producer_config import ProducerConfig

_CLONE_NEWNET: Final = 0x40000000  # source: linux/sched.h
_PATIENCE_S: Final = 30.0


def enter(mbit_per_s: int) -> None:
    """Move this process into a new network.

    Raises:
        OSError: We may not do this, or a tool or the kernel's tbf is missing.
        subprocess.CalledProcessError: The same, reported by a tool.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(_CLONE_NEWNET) != 0:
        raise OSError(ctypes.get_errno(), f"unshare: {os.strerror(ctypes.get_errno())}")
    shape = f"tbf rate {mbit_per_s}mbit burst 64kb latency 100ms"
    # Packets have the usual size of an Ethernet. The 64 kB packets of a loopback would pass the bucket one by one.
    for command in ("ip link set lo mtu 1500", "ip link set lo up", f"tc qdisc add dev lo root {shape}"):
        subprocess.run(command.split(), check=True, capture_output=True)


@cache
def why_not() -> str | None:
    """Return why there can be no slow network on this host; None if there can be one."""
    command = [sys.executable, "-m", "tests.helpers.slow_network"]
    tried = subprocess.run(command, capture_output=True, text=True, timeout=_PATIENCE_S, check=False)
    if tried.returncode == 0:
        return None
    return f"a slow network needs root, iproute2 and the kernel's tbf: {tried.stderr.strip().splitlines()[-1]}"


@dataclass(frozen=True, slots=True)
class OnSlowNetwork:
    """A `Runner` that measures on a slow network with its own broker.

    It must run in its own process, which then stays in that network.

    Attributes:
        mbit_per_s: Throughput of the network, in megabits per second.
    """

    mbit_per_s: int

    def run(self, config: ProducerConfig, workload: Workload, watch: Watch = go_on) -> Measurement:
        """Move into a slow network, start a broker there and measure."""
        enter(self.mbit_per_s)
        cluster = EmbeddedCluster()
        try:
            running = cluster.start()
            with OwnedTopics(running) as topics:
                return LibrdkafkaRunner(running, topics.create()).run(config, workload, watch)
        finally:
            cluster.stop()


if __name__ == "__main__":
    enter(100)
