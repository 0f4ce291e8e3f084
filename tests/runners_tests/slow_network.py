"""A network of our own that is slow, and gone with the process that uses it.

The process moves into a new network namespace, which has nothing but a loopback interface of its own, and slows that
down with a token bucket. Nothing of the host's network is touched, no address or name is taken, and the kernel removes
everything when the last process in it ends. Run as `python -m tests.runners_tests.slow_network` it only tries.
"""

import ctypes
import os
import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from typing import Final

from runners.clusters.embedded import EmbeddedCluster
from runners.clusters.topics import OwnedTopics
from runners.librdkafka.librdkafka_runner import LibrdkafkaRunner
from runners.measurement import Measurement
from runners.runner import Watch, go_on
from runners.workload import Workload
from search_spaces.producer_config import ProducerConfig

_CLONE_NEWNET: Final = 0x40000000  # source: linux/sched.h
_PATIENCE_S: Final = 30.0


def enter(mbit_per_s: int) -> None:
    """Move this process into a network of its own.

    Raises:
        OSError: We may not, or a tool or the kernel's tbf is missing.
        subprocess.CalledProcessError: As above.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(_CLONE_NEWNET) != 0:
        raise OSError(ctypes.get_errno(), f"unshare: {os.strerror(ctypes.get_errno())}")
    shape = f"tbf rate {mbit_per_s}mbit burst 64kb latency 100ms"
    # Packets as large as on a usual network: those of 64 kB that loopback carries would pass the bucket one by one.
    for command in ("ip link set lo mtu 1500", "ip link set lo up", f"tc qdisc add dev lo root {shape}"):
        subprocess.run(command.split(), check=True, capture_output=True)


@cache
def why_not() -> str | None:
    """Why there can be no slow network here; None where there can."""
    command = [sys.executable, "-m", "tests.runners_tests.slow_network"]
    tried = subprocess.run(command, capture_output=True, text=True, timeout=_PATIENCE_S, check=False)
    if tried.returncode == 0:
        return None
    return f"a slow network needs root, iproute2 and the kernel's tbf: {tried.stderr.strip().splitlines()[-1]}"


@dataclass(frozen=True, slots=True)
class OnSlowNetwork:
    """A `Runner` with a network and a broker of its own; for a process of its own, which stays there.

    Attributes:
        mbit_per_s: How much passes.
    """

    mbit_per_s: int

    def run(self, config: ProducerConfig, workload: Workload, watch: Watch = go_on) -> Measurement:
        """See `Runner.run`."""
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
