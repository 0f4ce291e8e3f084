"""A broker of our own that other hosts reach: beside its listener on loopback it has one that they are sent to."""

import contextlib
import re
import time
from dataclasses import dataclass
from typing import Final

import psutil

from runners.clusters.cluster import RunningCluster
from runners.clusters.embedded import EmbeddedCluster
from runners.clusters.processes import free_ports, require_free
from runners.errors import EmbeddedBrokerError

_LOOPBACK: Final = "127.0.0.1"
_ANY: Final = ("0.0.0.0", "::")
_POLL_S: Final = 0.5
# Brackets stand around an IPv6 address, whose colons would else be taken for the one before the port.
_ADDRESS: Final = re.compile(r"(?:\[(?P<v6>[0-9A-Fa-f:.]+)\]|(?P<name>[A-Za-z0-9._-]+)):(?P<port>[0-9]{1,5})")


@dataclass(frozen=True, slots=True)
class Address:
    """Where a broker listens, or where clients find it.

    Attributes:
        host: A name or an address, without brackets.
        port: 1 to 65535.
    """

    host: str
    port: int

    @classmethod
    def parse(cls, text: str) -> "Address":
        """Read `HOST:PORT`.

        Raises:
            ValueError: It is none.
        """
        found = _ADDRESS.fullmatch(text)
        if found is None or not 1 <= int(found["port"]) <= 65_535:
            raise ValueError(f"an address is HOST:PORT, such as 0.0.0.0:9092 or [::1]:9092, but got {text!r}")
        return cls(found["v6"] or found["name"], int(found["port"]))

    @property
    def is_any(self) -> bool:
        """Whether it stands for every address of a host, so that nobody can be sent there."""
        return self.host in _ANY

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def open_broker(listen: Address, advertised: Address) -> EmbeddedCluster:
    """Describe one broker that listens for others; nothing is started.

    Whoever asks it on loopback is sent to loopback, whoever asks it at `listen` is sent to `advertised`: inside a
    container the two differ, and neither reaches the other's.

    Args:
        listen: Where it listens for others, without authentication.
        advertised: Where they reach it.

    Raises:
        ValueError: Nobody can be sent to `advertised`.
        BrokerDidNotStart: The port of `listen` is taken.
    """
    if advertised.is_any:
        raise ValueError(f"clients are sent to the advertised address, so it can't be {advertised}: name this host")
    if ":" not in listen.host:
        require_free(listen.host, listen.port)
    inside, control = free_ports(_LOOPBACK, 2)
    return EmbeddedCluster(
        port=inside,
        properties={
            "listeners": f"PLAINTEXT://{_LOOPBACK}:{inside},OUTSIDE://{listen},CONTROLLER://{_LOOPBACK}:{control}",
            "advertised.listeners": f"PLAINTEXT://{_LOOPBACK}:{inside},OUTSIDE://{advertised}",
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,OUTSIDE:PLAINTEXT,CONTROLLER:PLAINTEXT",
            "inter.broker.listener.name": "PLAINTEXT",
            "controller.quorum.voters": f"1@{_LOOPBACK}:{control}",
        },
    )


def wait_while_running(cluster: RunningCluster) -> None:
    """Return never, as long as the brokers of our own live.

    Raises:
        EmbeddedBrokerError: One has ended by itself.
    """
    with contextlib.suppress(psutil.NoSuchProcess):
        processes = [psutil.Process(broker.pid) for broker in cluster.local_brokers]
        while all(process.is_running() for process in processes):
            time.sleep(_POLL_S)
    raise EmbeddedBrokerError(
        f"The broker at {cluster.bootstrap} must run until it is told to stop, but it ended by itself. "
        "Its log says why; start it again."
    )
