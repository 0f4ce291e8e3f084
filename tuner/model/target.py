"""Which cluster is measured, as a study or an option names it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from runners.clusters.cluster import Cluster


@dataclass(frozen=True, slots=True)
class Target:
    """Which cluster, and which topic on it.

    Attributes:
        bootstrap: `host:port[,host:port]` of an existing cluster; None starts brokers of our own.
        connection: Client properties for an existing cluster, librdkafka's names; may hold secrets.
        container: Image of a broker to run in a container; None starts brokers of our own without one.
        brokers: How many brokers to start when there is neither.
        topic: A topic of the user's to write to, never deleted; None creates topics of our own.
        like: A topic whose partitions, replication and settings our topics copy.
    """

    bootstrap: str | None = None
    connection: Mapping[str, str] = field(default_factory=dict, repr=False)
    container: str | None = None
    brokers: int = 1
    topic: str | None = None
    like: str | None = None

    @property
    def of_this_host_only(self) -> bool:
        """Whether other hosts can't reach it: brokers of our own, and loopback addresses."""
        if self.bootstrap is None:
            return True
        hosts = [address.strip().rpartition(":")[0].strip("[]") for address in self.bootstrap.split(",")]
        return any(host == "localhost" or host == "::1" or host.startswith("127.") for host in hosts)

    def cluster(self) -> "Cluster":
        """The cluster, not started yet."""
        # Deferred: whoever only reads what was measured needs no client library, which takes a while to import.
        from runners.clusters.container import ContainerCluster
        from runners.clusters.embedded import EmbeddedCluster
        from runners.clusters.existing import ExistingCluster

        if self.bootstrap is not None:
            return ExistingCluster(self.bootstrap, self.connection)
        if self.container is not None:
            return ContainerCluster(self.container)
        return EmbeddedCluster(self.brokers)
