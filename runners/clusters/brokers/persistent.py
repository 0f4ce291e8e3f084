"""Brokers that we start for other processes.

`start_persistent` starts a broker that outlives this process. `broker_for_other_hosts` describes a broker that other
hosts can reach.
"""

import contextlib
import re
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import psutil

from runners.clusters.brokers.broker_layout import log_folder
from runners.clusters.brokers.embedded import EmbeddedCluster, bring_down, bring_up
from runners.clusters.brokers.keeper_control import keeper_of, remove_dead_brokers
from runners.clusters.brokers.ports import free_ports, require_free
from runners.clusters.cluster import RunningCluster
from runners.errors import EmbeddedBrokerError
from runners.host_processes.clean_up import CleanUpList, clean_up_lists, damaged_lists
from runners.host_processes.folders import state_root
from runners.host_processes.locks import locked
from runners.reporting import Say, silent

_KIND = "persistent"
_LOCK_TIMEOUT_S = 120.0
_LOOPBACK: Final = "127.0.0.1"
_ANY: Final = ("0.0.0.0", "::")
_POLL_S: Final = 0.5
# An IPv6 address is written in brackets, because its colons could be mistaken for the colon before the port.
_ADDRESS: Final = re.compile(r"(?:\[(?P<v6>[0-9A-Fa-f:.]+)\]|(?P<name>[A-Za-z0-9._-]+)):(?P<port>[0-9]{1,5})")


@dataclass(frozen=True, slots=True)
class PersistentBroker:
    """A broker, or a cluster of several brokers, that runs until `stop_persistent` is called.

    Attributes:
        bootstrap: `host:port[,host:port]` for clients.
        pids: Process ids of the brokers.
        started_s: Time of the start in seconds since the epoch.
        folders: Folders with the brokers' files and data, which are removed when the brokers stop.
        logs: Log files of the brokers, which are kept.
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
    """Start a broker that outlives this process. Its data is kept until the broker is stopped.

    Args:
        brokers: The number of brokers.
        port: The client port of the first broker. The other brokers get the ports after it. None: use free ports.
        progress: Receives a line for each step.

    Raises:
        EmbeddedBrokerError: A persistent broker is running already (the message names its address), or the broker did
            not start, as described at `EmbeddedCluster.start`.
        DiskTooFull: There is too little free disk space.
        ValueError: `brokers` is less than one.
    """
    wanted = EmbeddedCluster(brokers, port=port)
    with locked(state_root() / "persistent.lock", _LOCK_TIMEOUT_S, progress):
        if running := persistent_status():
            since = time.strftime("%Y-%m-%d %H:%M", time.localtime(running.started_s))
            raise EmbeddedBrokerError(
                f"only one persistent broker can run at a time, but {running.bootstrap} is running already, since "
                f"{since}; use that broker, or stop it first"
            )
        return _broker(bring_up(_KIND, wanted, progress).record)


def persistent_status() -> PersistentBroker | None:
    """Return the persistent broker, or None if none is running.

    Raises:
        EmbeddedBrokerError: The file that says where the broker runs is damaged.
    """
    live = _live()
    return live[1] if live else None


def stop_persistent() -> PersistentBroker | None:
    """Stop the persistent broker, remove its data, and wait until both are done.

    Returns:
        The broker that was stopped, or None if none was running.

    Raises:
        EmbeddedBrokerError: The file that says where the broker runs is damaged.
    """
    with locked(state_root() / "persistent.lock", _LOCK_TIMEOUT_S):
        live = _live()
        if live:
            bring_down(live[0])
        remove_dead_brokers()
    return live[1] if live else None


def _live() -> tuple[CleanUpList, PersistentBroker] | None:
    for path in damaged_lists(_KIND):
        raise _damaged(path)
    for record in clean_up_lists(_KIND):
        if record.state == "live":
            try:
                return record, _broker(record)
            except (KeyError, TypeError, ValueError):  # the file is JSON, but does not say where the broker is
                raise _damaged(record.path) from None
    return None


def _damaged(path: Path) -> EmbeddedBrokerError:
    keeper = keeper_of(path)
    advice = (
        f"the broker still runs, so end it with `kill {keeper}`, which also removes the file"
        if keeper
        else "no such broker runs on this host any more, so remove the file"
    )
    return EmbeddedBrokerError(
        f"{path}, which says where the broker of `tuner broker start` runs, is damaged; {advice}"
    )


def _broker(record: CleanUpList) -> PersistentBroker:
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
    """The address on which a broker listens, or which it advertises to clients.

    Attributes:
        host: A host name or an IP address, without brackets.
        port: 1 to 65535.
    """

    host: str
    port: int

    @classmethod
    def parse(cls, text: str) -> "Address":
        """Parse `HOST:PORT`.

        Raises:
            ValueError: The text has another form.
        """
        match = _ADDRESS.fullmatch(text)
        if match is None or not 1 <= int(match["port"]) <= 65_535:
            raise ValueError(f"an address is HOST:PORT, such as 0.0.0.0:9092 or [::1]:9092, but got {text!r}")
        return cls(match["v6"] or match["name"], int(match["port"]))

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def broker_for_other_hosts(listen: Address, advertised: Address) -> EmbeddedCluster:
    """Describe one broker that other hosts can reach, without starting it.

    The broker advertises a loopback address to clients that connect on loopback, and `advertised` to clients that
    connect to `listen`. It needs both addresses: in a container, a client beside the broker may not reach `advertised`,
    and a client on another host can't reach the loopback address.

    Args:
        listen: The address on which the broker listens for other hosts, without authentication.
        advertised: The address at which other hosts reach the broker.

    Raises:
        ValueError: `advertised` is not an address that a client can connect to.
        BrokerDidNotStart: The port of `listen` is taken.
    """
    if advertised.host in _ANY:
        raise ValueError(
            f"clients connect to the advertised address, so it can't be {advertised}: give a name or an IP address of "
            "this host"
        )
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


def wait_while_running(cluster: RunningCluster, address: Address) -> None:
    """Wait until a broker that we started has ended, then raise an error. The function never returns.

    Args:
        cluster: The cluster of the broker.
        address: The address of the broker that the user knows.

    Raises:
        EmbeddedBrokerError: A broker has ended by itself.
    """
    with contextlib.suppress(psutil.NoSuchProcess):
        processes = [psutil.Process(broker.pid) for broker in cluster.local_brokers]
        while all(process.is_running() for process in processes):
            time.sleep(_POLL_S)
    raise EmbeddedBrokerError(
        f"the broker at {address} ended by itself; read its log in {log_folder()}, then start it again"
    )
