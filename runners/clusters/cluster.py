"""The interface of all Kafka clusters that we can measure against."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, Protocol

from runners.reporting import Say, silent

CLIENT_ID: Final = "kafka-tuner"
"""The client id of our producers and consumers if the user gives no other. Brokers can apply quotas to it."""


@dataclass(frozen=True, slots=True)
class LocalBroker:
    """A broker process on this host.

    Attributes:
        pid: Process id.
        port: Port of its client listener on loopback.
        log_dir: The folder of its partitions. None if we don't know it, because somebody else started the broker.
        inter_broker_port: Port of its listener for other brokers. None: it has no such listener.
    """

    pid: int
    port: int
    log_dir: Path | None
    inter_broker_port: int | None = None


@dataclass(frozen=True, slots=True)
class RunningCluster:
    """A running Kafka cluster that has answered us, whether we started it or not.

    Attributes:
        kind: `embedded`, `existing` or `container`.
        connection: Client properties for connecting, under librdkafka's names. They always include `bootstrap.servers`.
            They may hold secrets, so never print the whole mapping.
        local_brokers: The broker processes on this host, whose CPU time and disk we can read. Empty for remote brokers.
        link: What we put between the clients and the brokers, such as `2 ms and 50 MB/s each way`. Empty: nothing.
        without_link: Client properties for connecting without that link, as from the brokers' own zone. None: there is
            no link, or no other way.
        link_mb_per_s: Megabytes per second that this link carries to the brokers; None: there is no limit.
    """

    kind: str
    connection: Mapping[str, str] = field(repr=False)
    local_brokers: tuple[LocalBroker, ...] = ()
    link: str = ""
    without_link: Mapping[str, str] | None = field(default=None, repr=False)
    link_mb_per_s: float | None = None

    @property
    def bootstrap(self) -> str:
        """The cluster's `host:port[,host:port]`."""
        return self.connection["bootstrap.servers"]

    def in_same_zone(self) -> "RunningCluster":
        """Return the same cluster as clients in the brokers' own zone see it: without the link."""
        if self.without_link is None:
            return self
        return replace(self, connection=self.without_link, link="", without_link=None, link_mb_per_s=None)

    @property
    def label(self) -> str:
        """The kind of the cluster, and the link to it if there is one."""
        return f"{self.kind} ({self.link})" if self.link else self.kind


class Cluster(Protocol):
    """A Kafka cluster that `start` starts or contacts, and `stop` stops if we started it.

    Call `start` at most once. `stop` may be called any number of times, also after `start` has failed. `stop` removes
    everything that we created.
    """

    def start(self, progress: Say = silent) -> RunningCluster:
        """Start the cluster, or contact it if it runs already.

        Args:
            progress: Receives a line for each step.

        Raises:
            TargetError: The cluster does not answer, or it refuses us.
            EmbeddedBrokerError: A broker that we start ourselves, or what it needs, did not start or is missing.
        """

    def stop(self) -> None:
        """Stop the brokers that we started. A cluster that was running before is left as it is."""
