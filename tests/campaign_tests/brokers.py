"""Brokers of tests: one that can be killed and started again at its address, and what is left on one."""

from dataclasses import dataclass, field

import psutil

from runners.clusters.cluster import RunningCluster
from runners.clusters.embedded import EmbeddedCluster
from runners.clusters.processes import free_ports
from runners.clusters.topic_admin import TopicAdmin
from runners.clusters.topics import run_of
from tests.clusters_tests.waiting import eventually


@dataclass(slots=True)
class MortalBroker:
    """A broker at one address that dies as by a power cut, and starts anew, empty."""

    port: int = field(default_factory=lambda: free_ports("127.0.0.1", 1)[0])
    _cluster: EmbeddedCluster = field(init=False)
    _pid: int = 0

    def __post_init__(self) -> None:
        self._cluster = EmbeddedCluster(port=self.port)

    @property
    def bootstrap(self) -> str:
        """Its address."""
        return f"127.0.0.1:{self.port}"

    def start(self) -> None:
        """Start it, and wait until it answers."""
        (local,) = self._cluster.start().local_brokers
        self._pid = local.pid

    def kill(self) -> None:
        """End it without a chance to say goodbye."""
        psutil.Process(self._pid).kill()

    def restart(self) -> None:
        """Start it again where it was killed."""
        assert eventually(lambda: not psutil.pid_exists(self._pid))
        self._cluster.stop()
        self.start()

    def stop(self) -> None:
        """End it for good."""
        self._cluster.stop()


def our_topics(cluster: RunningCluster) -> set[str]:
    """Topics on a cluster that a run of ours created."""
    return {name for name in TopicAdmin(cluster.connection).names() if run_of(name)}
