"""A broker of our own that outlives the command that started it."""

import time
from dataclasses import dataclass
from pathlib import Path

from runners.clusters.embedded import Wish, bring_down, bring_up
from runners.clusters.keeper_control import clear_leftovers
from runners.clusters.processes import Record, records
from runners.errors import EmbeddedBrokerError
from runners.locks import locked
from runners.places import state_root
from runners.reporting import Say, silent

_KIND = "persistent"
_LOCK_TIMEOUT_S = 120.0


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
    wish = Wish(brokers=brokers, port=port)
    with locked(state_root() / "persistent.lock", _LOCK_TIMEOUT_S, progress):
        if running := persistent_status():
            since = time.strftime("%Y-%m-%d %H:%M", time.localtime(running.started_s))
            raise EmbeddedBrokerError(
                f"One persistent broker can run at a time, but {running.bootstrap} is running already, since "
                f"{since}. Use it, or stop it first."
            )
        return _broker(bring_up(_KIND, wish, progress).record)


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
