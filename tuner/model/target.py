"""The Kafka cluster to measure, as a study file or a command-line option names it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from runners.clusters.cluster import Cluster


@dataclass(frozen=True, slots=True)
class Target:
    """A Kafka cluster, and the topic to write to.

    Attributes:
        bootstrap: `host:port[,host:port]` of an existing cluster; None starts brokers on this host.
        connection: Client properties for an existing cluster, with librdkafka's names; may hold secrets.
        container: Image of a broker to run in a container; None starts brokers without containers.
        brokers: Number of brokers to start if neither `bootstrap` nor `container` is given.
        topic: An existing topic to write to, which is never deleted; None creates a topic for each trial.
        like: A topic whose partitions, replication factor and settings the created topics copy.
    """

    bootstrap: str | None = None
    connection: Mapping[str, str] = field(default_factory=dict, repr=False)
    container: str | None = None
    brokers: int = 1
    topic: str | None = None
    like: str | None = None

    @property
    def of_this_host_only(self) -> bool:
        """Whether only this host can reach the cluster: it has brokers that we start, or a loopback address."""
        if self.bootstrap is None:
            return True
        hosts = [address.strip().rpartition(":")[0].strip("[]") for address in self.bootstrap.split(",")]
        return any(host == "localhost" or host == "::1" or host.startswith("127.") for host in hosts)

    def cluster(self) -> "Cluster":
        """Return the cluster that the target describes; the cluster is not started yet."""
        # Imported here because the client library takes a while to import, and reading results does not need it.
        from runners.clusters.container import ContainerCluster
        from runners.clusters.embedded import EmbeddedCluster
        from runners.clusters.existing import ExistingCluster

        if self.bootstrap is not None:
            return ExistingCluster(self.bootstrap, self.connection)
        if self.container is not None:
            return ContainerCluster(self.container)
        return EmbeddedCluster(self.brokers)
