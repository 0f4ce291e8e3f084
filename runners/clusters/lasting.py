"""Brokers of our own that others use: one that outlives this process, and one that other hosts reach."""

import contextlib
import re
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import psutil

from runners.clusters.cluster import RunningCluster
from runners.clusters.embedded import EmbeddedCluster, bring_down, bring_up
from runners.clusters.keeper_control import clear_leftovers
from runners.clusters.processes import Record, free_ports, records, require_free
from runners.errors import EmbeddedBrokerError
from runners.places import locked, state_root
from runners.reporting import Say, silent

_KIND = "persistent"
_LOCK_TIMEOUT_S = 120.0
_LOOPBACK: Final = "127.0.0.1"
_ANY: Final = ("0.0.0.0", "::")
_POLL_S: Final = 0.5
# Brackets stand around an IPv6 address, whose colons would else be taken for the one before the port.
_ADDRESS: Final = re.compile(r"(?:\[(?P<v6>[0-9A-Fa-f:.]+)\]|(?P<name>[A-Za-z0-9._-]+)):(?P<port>[0-9]{1,5})")


@dataclass(frozen=True, slots=True)
class PersistentBroker:
    """A broker that runs until `stop_persistent`.

    Attributes:
        bootstrap: `host:port[,host:port]` for clients.
        pids: Process ids of the brokers.
        started_s: Seconds since the epoch at which it was started.
        folders: Its files and its data, removed when it stops.
        logs: Its logs, which stay.
    """

    bootstrap: str
    pids: tuple[int, ...]
    started_s: float
    folders: tuple[Path, ...]
    logs: tuple[Path, ...]


def start_persistent(
    brokers: int = 1,
    *,
    port: int | None = None,
    progress: Say = silent,
) -> PersistentBroker:
    """Start a broker that outlives this process; its data lives as long as it does.

    Args:
        brokers: How many.
        port: Client port of the first, the others follow; free ones by default.
        progress: Told what is being done.

    Raises:
        EmbeddedBrokerError: One runs already, its address is named; or as for `EmbeddedCluster.start`.
        DiskTooFull: Too little space is free.
        ValueError: Fewer than one broker.
    """
    wanted = EmbeddedCluster(brokers, port=port)
    with locked(state_root() / "persistent.lock", _LOCK_TIMEOUT_S, progress):
        if running := persistent_status():
            since = time.strftime("%Y-%m-%d %H:%M", time.localtime(running.started_s))
            raise EmbeddedBrokerError(
                f"One persistent broker can run at a time, but {running.bootstrap} is running already, since "
                f"{since}. Use it, or stop it first."
            )
        return _broker(bring_up(_KIND, wanted, progress).record)


def persistent_status() -> PersistentBroker | None:
    """The persistent broker; None if there is none or it has died."""
    record = _live()
    return _broker(record) if record else None


def stop_persistent() -> PersistentBroker | None:
    """End the persistent broker and remove its data; returns when both are done.

    Returns:
        What was stopped; None if none ran.
    """
    with locked(state_root() / "persistent.lock", _LOCK_TIMEOUT_S):
        record = _live()
        if record:
            bring_down(record)
        clear_leftovers()
    return _broker(record) if record else None


def _live() -> Record | None:
    return next((record for record in records(_KIND) if record.state == "live"), None)


def _broker(record: Record) -> PersistentBroker:
    facts = record.facts
    return PersistentBroker(
        bootstrap=str(facts["bootstrap"]),
        pids=tuple(int(pid) for pid, _ in facts["brokers"]),
        started_s=float(facts["started_s"]),
        folders=tuple(Path(folder) for folder in facts["folders"]),
        logs=tuple(Path(log) for log in facts["logs"]),
    )


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
    if advertised.host in _ANY:
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
