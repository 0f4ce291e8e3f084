"""A broker that tests can kill and start again at the same address, and the topics that runs left on a cluster."""

from dataclasses import dataclass, field

import psutil

from runners.clusters.brokers.embedded import EmbeddedCluster
from runners.clusters.cluster import RunningCluster
from runners.clusters.topics.owned_topics import run_of
from runners.clusters.topics.topic_admin import TopicAdmin
from tests.helpers.ports import free_port
from tests.helpers.waiting import eventually


@dataclass(slots=True)
class RestartableBroker:
    """A broker that tests can kill, as a power cut would, and start again at the same address without its data.

    Attributes:
        port: The port that the broker listens at.
        proxy_port: The port of a proxy, through which all clients shall go; None if there is no proxy.
    """

    port: int = field(default_factory=free_port)
    proxy_port: int | None = None
    _cluster: EmbeddedCluster = field(init=False)
    _pid: int = 0

    def __post_init__(self) -> None:
        through = {"advertised.listeners": f"PLAINTEXT://127.0.0.1:{self.proxy_port}"} if self.proxy_port else {}
        self._cluster = EmbeddedCluster(port=self.port, properties=through)

    @property
    def bootstrap(self) -> str:
        """The broker's address."""
        return f"127.0.0.1:{self.proxy_port or self.port}"

    @property
    def process(self) -> psutil.Process:
        """The broker's process."""
        return psutil.Process(self._pid)

    def start(self) -> None:
        """Start the broker, and wait until it answers."""
        (local,) = self._cluster.start().local_brokers
        self._pid = local.pid

    def kill(self) -> None:
        """Kill the broker, which gets no chance to shut down."""
        self.process.kill()

    def restart(self) -> None:
        """Start the killed broker again at the same address."""
        eventually(lambda: not psutil.pid_exists(self._pid))
        self._cluster.stop()
        self.start()

    def stop(self) -> None:
        """Stop the broker and remove its data."""
        self._cluster.stop()


def our_topics(cluster: RunningCluster) -> set[str]:
    """Return the topics on a cluster that the tuner created."""
    return {name for name in TopicAdmin(cluster.connection).names() if run_of(name)}
