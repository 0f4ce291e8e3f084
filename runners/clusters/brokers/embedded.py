"""Starts and stops a real Kafka cluster on this host, which needs no set-up by the user."""

import contextlib
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

import psutil
from typing_extensions import override

from runners.clusters.brokers import keeper
from runners.clusters.brokers.broker_layout import FirstStart, drop_old_logs, lay_out, remove_folders, write_files
from runners.clusters.brokers.first_start import first_start
from runners.clusters.brokers.keeper_control import await_answers, identities, launch_keeper, remove_dead_brokers
from runners.clusters.brokers.ports import require_free
from runners.clusters.cluster import Cluster, LocalBroker, RunningCluster
from runners.errors import BrokerDidNotStart
from runners.host_processes.clean_up import CleanUpList, clean_up_lists
from runners.host_processes.processes import ProcessIdentity
from runners.java_runtime.java import KafkaJava
from runners.reporting import Say, counted, silent

_STOP_TIMEOUT_S = keeper.GRACE_S + 10.0
_POLL_S = 0.03
_TRIES_WITH_FREE_PORTS = 3
_PORT_TAKEN = "Address already in use"


@dataclass(frozen=True, slots=True)
class Brokers:
    """Brokers that we have started and that have answered.

    Attributes:
        record: The file in the state folder that lists what must be cleaned up when the brokers stop. Its `facts` are
            `bootstrap`, `started_s`, `folders`, `logs`, `log_dirs` and `brokers` (process ids and starts).
        local_brokers: The processes, ports and data of the brokers.
        lifeline: The child process (the keeper) that stops the brokers when this process ends. None if the brokers may
            outlive this process.
    """

    record: CleanUpList
    local_brokers: tuple[LocalBroker, ...]
    lifeline: subprocess.Popen[bytes] | None


def bring_up(kind: str, cluster: "EmbeddedCluster", progress: Say) -> Brokers:
    """Fetch Kafka's jars if they are missing, start the brokers, and wait until they answer.

    Args:
        kind: `broker` for brokers that end with this process. `persistent` for brokers that outlive it; only one
            persistent cluster can run at a time.
        cluster: The cluster to start.
        progress: Receives a line for each step.

    Raises:
        JavaNotFound: No Java runtime is usable.
        JarsUnavailable: Kafka's jars could not be fetched.
        BrokerDidNotStart: A port is taken, or a broker ended or did not answer in time. The message names its log.
        DiskTooFull: There is too little free disk space.
    """
    remove_dead_brokers()
    kafka = KafkaJava.prepare(progress)
    first = first_start(kafka, progress)
    progress(f"starting Kafka ({counted(cluster.brokers, 'broker')})")
    if cluster.port is not None:
        for port in range(cluster.port, cluster.port + cluster.brokers):
            require_free(cluster.host, port)
    for _ in range(_TRIES_WITH_FREE_PORTS - 1):
        # Another process may take a port after we have found it free and before the broker binds it.
        with contextlib.suppress(_PortLost):
            return _try_to_start(kind, cluster, kafka, first)
    return _try_to_start(kind, cluster, kafka, first)


def bring_down(record: CleanUpList, lifeline: subprocess.Popen[bytes] | None = None) -> None:
    """Stop the brokers that a record in the state folder lists, remove their data, and wait until both are done.

    Args:
        record: The list of what has to be cleaned up, either from `bring_up` or read from the file of that record.
        lifeline: The process from `bring_up` that stops the brokers when its standard input is closed. None if the
            brokers were started to outlive their starter.
    """
    if lifeline is not None:
        if lifeline.stdin:
            lifeline.stdin.close()
        try:
            lifeline.wait(_STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            lifeline.kill()  # the kernel then kills the brokers
            lifeline.wait()
    elif (process := record.owner.process()) and process.pid != ProcessIdentity.of().pid:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.terminate()
            deadline = time.monotonic() + _STOP_TIMEOUT_S
            # `wait` would not do: the keeper is not our child, and it stays a zombie if its parent does not reap it.
            while record.owner.process() and time.monotonic() < deadline:
                time.sleep(_POLL_S)
            process.kill()
    # The keeper has done this already, unless it was killed.
    remove_folders(record.facts.get("folders", ()))
    record.remove()


def log_dir_of(pid: int) -> Path | None:
    """Return the folder in which the broker with a process id keeps its partitions.

    The result is None if that broker was not started by kafka-tuner, or was started by another user.
    """
    for kind in ("persistent", "broker"):
        for record in clean_up_lists(kind):
            pids = [broker for broker, _ in record.facts["brokers"]]
            if pid in pids and record.state == "live":
                return Path(str(record.facts["log_dirs"][pids.index(pid)]))
    return None


class _PortLost(BrokerDidNotStart):
    """Another process has taken a port that was free when we chose it."""


def _try_to_start(kind: str, cluster: "EmbeddedCluster", kafka: KafkaJava, first: FirstStart) -> Brokers:
    """Start the brokers once, and clean up if they don't answer."""
    layout = lay_out(cluster.brokers, cluster.host, cluster.port, cluster.proxy.ports if cluster.proxy else ())
    facts: dict[str, Any] = {
        "bootstrap": layout.bootstrap,
        "started_s": time.time(),
        "folders": [str(folder) for folder in layout.folders],
        "logs": [str(log) for log in layout.logs],
        "log_dirs": [str(node.log_dir) for node in layout.nodes],
        "brokers": [],
    }
    owned = kind != "persistent"
    record = CleanUpList(kind, layout.run_id if owned else "broker", ProcessIdentity.of(), facts)
    record.save()
    lifeline = None
    try:
        commands = write_files(layout, kafka, first, cluster.properties)
        drop_old_logs()
        launched, pids = launch_keeper(layout, commands, record, owned=owned)
        lifeline = launched if owned else None
        brokers = identities(layout, pids[1:])
        facts["brokers"] = [[broker.pid, broker.started] for broker in brokers]
        record = replace(record, owner=ProcessIdentity.of(pids[0]))
        record.save()
        if cluster.proxy is not None:
            cluster.proxy.connect([node.port for node in layout.nodes])
        await_answers(layout, brokers, cluster.connection, cluster.start_timeout_s)
    except BaseException as error:
        bring_down(record, lifeline)
        if cluster.port is None and isinstance(error, BrokerDidNotStart) and _PORT_TAKEN in str(error):
            raise _PortLost(str(error)) from None
        raise
    local_brokers = tuple(
        LocalBroker(broker.pid, node.port, node.log_dir, node.inter_broker_port)
        for broker, node in zip(brokers, layout.nodes, strict=True)
    )
    return Brokers(record, local_brokers, lifeline)


class BrokerProxy(Protocol):
    """A proxy that forwards the connections of clients to brokers on the same host.

    Attributes:
        ports: The ports on which it listens, one for each broker.
    """

    ports: Sequence[int]

    def connect(self, targets: Sequence[int]) -> None:
        """Forward new connections from now on.

        It is called before the brokers have started, and again if other ports are chosen for them.

        Args:
            targets: The port of each broker, in the order of `ports`.

        Raises:
            EmbeddedBrokerError: The proxy has ended.
        """


@dataclass(slots=True)
class EmbeddedCluster(Cluster):
    """A cluster of one or more Kafka processes in KRaft mode, each of which is both broker and controller.

    The brokers listen on loopback and keep their data in memory or below the temporary folder. A keeper process stops
    them and removes the data when `stop` is called or when this process ends in any way, even by SIGKILL. The brokers'
    log files are kept in the state folder.

    The very first start on a host fetches 46 MB and prepares files that make later starts quick. Later starts need no
    network.

    Attributes:
        brokers: The number of brokers. With 3, all of them vote on metadata, and topics can have replication 3.
        host: The IPv4 address that the brokers listen on.
        port: The client port of the first broker. The other brokers get the ports after it. None: use free ports.
        properties: Broker properties that override our defaults.
        connection: Client properties that the brokers require, if `properties` change their security.
        start_timeout_s: Seconds that the brokers may take until they answer. Time for downloads is not counted.
        proxy: A proxy in front of the brokers. The brokers advertise the proxy's ports to clients, and use other ports
            among themselves.
    """

    brokers: int = 1
    host: str = "127.0.0.1"
    port: int | None = None
    properties: Mapping[str, str] = field(default_factory=dict)
    connection: Mapping[str, str] = field(default_factory=dict)
    start_timeout_s: float = 60.0
    proxy: BrokerProxy | None = None
    _running: Brokers | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        if self.brokers < 1:
            raise ValueError(f"a cluster needs at least one broker, but got {self.brokers}")
        if self.proxy is not None and len(self.proxy.ports) != self.brokers:
            raise ValueError(
                f"a proxy needs one port for each broker, but has {len(self.proxy.ports)} for {self.brokers} brokers"
            )

    @override
    def start(self, progress: Say = silent) -> RunningCluster:
        brokers = self._running = bring_up("broker", self, progress)
        return RunningCluster(
            kind="embedded",
            connection={**self.connection, "bootstrap.servers": str(brokers.record.facts["bootstrap"])},
            local_brokers=brokers.local_brokers,
        )

    @override
    def stop(self) -> None:
        if self._running is not None:
            bring_down(self._running.record, self._running.lifeline)
            self._running = None
