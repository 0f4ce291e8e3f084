"""The Kafka cluster to measure, as a study file or a command-line option names it."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from runners.zones.link import Link
from tuner.model.secrets_in_urls import MASK

if TYPE_CHECKING:
    from runners.clusters.cluster import Cluster

MOST_BROKERS: Final = 9
"""The most brokers that the tuner starts on a host."""
ADDRESS_RULE: Final = (
    "an address must read host:port (or [::1]:9092 for IPv6), or host:port,host:port for several brokers, with ports "
    "from 1 to 65535"
)
# The client also accepts a security protocol in front of the host.
_ADDRESS: Final = re.compile(
    r"([A-Z_]+://)?([^\s,:/@\[\]]+|\[[0-9a-f:.]+(%\w+)?\]):(?P<port>[0-9]{1,5})", re.IGNORECASE | re.ASCII
)

TOPIC_RULE: Final = (
    "a topic's name must consist of letters, digits, ., _ and -, have at most 249 characters, and be neither . nor .."
)
TOPIC_PATTERN: Final = r"(?!\.\.?$)[A-Za-z0-9._-]{1,249}"
"""The names that Kafka accepts. Source: `org.apache.kafka.common.internals.Topic`."""


def check_addresses(text: str) -> str:
    """Return the addresses of brokers, if each of them has a host and a port.

    Raises:
        ValueError: An address has another form. The message is the rule, without the address.
    """
    for each in text.split(","):
        found = _ADDRESS.fullmatch(each.strip())
        if found is None or not 1 <= int(found["port"]) <= 65_535:
            raise ValueError(ADDRESS_RULE)
    return text


def without_login(addresses: str) -> str:
    """Return addresses for a message, with `***` in place of a user and a password before an `@`.

    Everything before the last `@` is left out, because a password may contain a comma and look like two addresses.
    """
    _, at, rest = addresses.rpartition("@")
    return f"{MASK}@{rest}" if at else addresses


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
        link: A link with a delay or a bandwidth between the client and the brokers that are started; None for no link.
        secret_variables: Environment variables from which the connection file took secrets, such as passwords.
    """

    bootstrap: str | None = None
    connection: Mapping[str, str] = field(default_factory=dict, repr=False)
    container: str | None = None
    brokers: int = 1
    topic: str | None = None
    like: str | None = None
    link: Link | None = None
    secret_variables: tuple[str, ...] = field(default=(), repr=False, compare=False)

    @property
    def of_this_host_only(self) -> bool:
        """Whether only this host can reach the cluster: it has brokers that we start, or a loopback address."""
        if self.bootstrap is None:
            return True
        hosts = [address.strip().rpartition(":")[0].strip("[]") for address in self.bootstrap.split(",")]
        return any(host == "localhost" or host == "::1" or host.startswith("127.") for host in hosts)

    @property
    def label(self) -> str:
        """The target's name for tables and MLflow, without secrets."""
        if self.bootstrap is not None:
            return self.bootstrap
        if self.container is not None:
            return f"container {self.container}"
        brokers = "embedded" if self.brokers == 1 else f"embedded, {self.brokers} brokers"
        return f"{brokers}, behind {self.link}" if self.link else brokers

    def cluster(self) -> "Cluster":
        """Return the cluster that the target describes; the cluster is not started yet."""
        # Imported here because the client library takes a while to import, and reading results does not need it.
        from runners.clusters.brokers.container import ContainerCluster
        from runners.clusters.brokers.embedded import EmbeddedCluster
        from runners.clusters.brokers.existing import ExistingCluster
        from runners.zones.zoned_cluster import ZonedCluster

        if self.bootstrap is not None:
            return ExistingCluster(self.bootstrap, self.connection)
        if self.container is not None:
            return ContainerCluster(self.container)
        brokers = EmbeddedCluster(self.brokers)
        return ZonedCluster(self.link, brokers) if self.link else brokers
