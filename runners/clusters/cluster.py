"""The one seam to every Kafka cluster."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from runners.reporting import Say, silent


@dataclass(frozen=True, slots=True)
class LocalBroker:
    """A broker process on this host.

    Attributes:
        pid: Process id.
        port: Loopback port of its client listener.
        log_dir: Where its partitions lie; None where unknown (a broker that somebody else started).
    """

    pid: int
    port: int
    log_dir: Path | None


@dataclass(frozen=True, slots=True)
class RunningCluster:
    """Proof that a cluster was started (or found) and answers.

    Attributes:
        kind: `embedded`, `existing` or `container`.
        connection: Client properties for connecting, librdkafka's names; `bootstrap.servers` always there.
            May hold secrets: never print it whole.
        local_brokers: Broker processes on this host, so that their CPU and disk can be read; empty for remote
            ones.
    """

    kind: str
    connection: Mapping[str, str] = field(repr=False)
    local_brokers: tuple[LocalBroker, ...] = ()

    @property
    def bootstrap(self) -> str:
        """`host:port[,host:port]` of the cluster."""
        return self.connection["bootstrap.servers"]


class Cluster(Protocol):
    """A Kafka cluster that can be brought up and let go.

    `start` may be called once; `stop` any number of times, also after a failed `start`, and leaves nothing of
    ours behind.
    """

    def start(self, progress: Say = silent) -> RunningCluster:
        """Bring the cluster up, or make contact with it.

        Raises:
            TargetError: It does not answer, or not to us.
            EmbeddedBrokerError: A broker of our own could not be started.
        """

    def stop(self) -> None:
        """Let go: end what we started, touch nothing else."""
