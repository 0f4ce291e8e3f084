"""The layout of a Kafka cluster that we start: ports, folders, logs and properties of its brokers."""

import base64
import re
import shutil
import tempfile
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from runners.clusters.brokers.memory import memory_root
from runners.clusters.brokers.ports import free_ports
from runners.errors import DiskTooFull
from runners.host_processes.folders import state_root
from runners.java_runtime.java import KafkaJava
from search_spaces.files.properties_file import format_ascii_properties

_MIB = 1024 * 1024
_LEAST_FREE_DISK_BYTES = 2 * 1024**3
LOGS_KEPT = 10
_FOLDER_PREFIX = "kafka-tuner-broker-"
_FOLDER_NAME = re.compile(re.escape(_FOLDER_PREFIX) + r"[0-9a-f]{12}")
# Three brokers have to share the memory of the host, so that each gets a smaller heap.
_HEAP_ALONE, _HEAP_SHARED = "1g", "512m"


@dataclass(frozen=True, slots=True)
class Node:
    """One Kafka process that is both broker and controller.

    Attributes:
        node_id: The node id in Kafka, from 1.
        host: The address that both listeners (for clients and for controllers) are bound to.
        port: The port of the client listener.
        controller_port: The port of the controller listener.
        folder: The folder that holds its properties file.
        log_dir: The folder that holds its partitions.
        proxy_port: The port of a proxy, on `host`, through which clients reach the broker. None: clients use `port`.
        inter_broker_port: The port of a listener for the other brokers, so that they do not go through the proxy. None:
            they use `port`.
    """

    node_id: int
    host: str
    port: int
    controller_port: int
    folder: Path
    log_dir: Path
    proxy_port: int | None = None
    inter_broker_port: int | None = None


def broker_properties(node: Node, nodes: Sequence[Node], extra: Mapping[str, str]) -> dict[str, str]:
    """Return the broker properties of one node.

    Settings that affect a producer (threads, request and batch limits) keep Kafka's own defaults, because our broker
    stands in for the user's broker. We change only what keeps the broker small, quick to start and unable to fill the
    disk.

    Args:
        node: The node that the properties are for.
        nodes: All nodes of the cluster.
        extra: Properties that override our defaults.

    Returns:
        Values by Kafka's property names.
    """
    copies = str(len(nodes))
    isr = str(min(2, len(nodes)))
    ours = {
        "process.roles": "broker,controller",
        "node.id": str(node.node_id),
        "controller.quorum.voters": ",".join(f"{n.node_id}@{n.host}:{n.controller_port}" for n in nodes),
        "controller.listener.names": "CONTROLLER",
        "listeners": f"PLAINTEXT://{node.host}:{node.port},CONTROLLER://{node.host}:{node.controller_port}",
        "advertised.listeners": f"PLAINTEXT://{node.host}:{node.port}",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,SSL:SSL,CONTROLLER:PLAINTEXT",
        "log.dirs": str(node.log_dir),
        "auto.create.topics.enable": "false",
        # We delete the topic of a trial and wait until its disk space is free. By default Kafka removes the files a
        # minute later. With a delay of 0 or 1 ms, the broker looks for such files 1,000 times a second, which takes 6 %
        # of a core.
        "log.segment.delete.delay.ms": "20",
        # By default Kafka checks retention every 5 minutes. In that time, a load of 300 MB/s fills 90 GB.
        "log.retention.check.interval.ms": "1000",
        "log.initial.task.delay.ms": "1000",
        "log.segment.bytes": str(128 * _MIB),
        "log.retention.bytes": str(512 * _MIB),
        # By default the three internal topics have 50 partitions each: 150 open logs that nobody writes to.
        "offsets.topic.num.partitions": "1",
        "offsets.topic.replication.factor": copies,
        "transaction.state.log.num.partitions": "1",
        "transaction.state.log.replication.factor": copies,
        "transaction.state.log.min.isr": isr,
        "share.coordinator.state.topic.num.partitions": "1",
        "share.coordinator.state.topic.replication.factor": copies,
        "share.coordinator.state.topic.min.isr": isr,
        "group.initial.rebalance.delay.ms": "0",
        # By default the log cleaner takes 128 MiB of heap, but we have no compacted topics.
        "log.cleaner.dedupe.buffer.size": str(4 * _MIB),
        "controlled.shutdown.enable": "false",  # its data is deleted anyway
        **_behind_proxy(node),
    }
    return {**ours, **extra}


def _behind_proxy(node: Node) -> dict[str, str]:
    """Return the properties that send clients to the proxy, and the other brokers to a separate listener."""
    if node.proxy_port is None or node.inter_broker_port is None:
        return {}
    inter_broker = f"INTERBROKER://{node.host}:{node.inter_broker_port}"
    return {
        "listeners": f"PLAINTEXT://{node.host}:{node.port},{inter_broker},CONTROLLER://{node.host}:{node.controller_port}",
        "advertised.listeners": f"PLAINTEXT://{node.host}:{node.proxy_port},{inter_broker}",
        "inter.broker.listener.name": "INTERBROKER",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,INTERBROKER:PLAINTEXT,CONTROLLER:PLAINTEXT",
    }


@dataclass(frozen=True, slots=True)
class Layout:
    """The ports, folders and log files of a Kafka cluster that we start.

    Attributes:
        run_id: A random id of 12 hex digits, which the names of the folders and logs contain.
        folders: The folders that are removed when the cluster stops. The first folder holds the brokers' files. The
            last folder holds the partitions. It is a second folder, in memory, if there is enough memory; otherwise
            both are the same folder.
        nodes: The brokers.
        logs: One log file for each node. They are kept when the cluster stops.
    """

    run_id: str
    folders: tuple[Path, ...]
    nodes: tuple[Node, ...]
    logs: tuple[Path, ...]

    @property
    def bootstrap(self) -> str:
        """The `host:port` of every broker, joined by commas."""
        return ",".join(f"{node.host}:{node.port}" for node in self.nodes)


@dataclass(frozen=True, slots=True)
class FirstStart:
    """The results of the first start of Kafka on this host, which make all later starts quick.

    Attributes:
        checkpoint: The content of `bootstrap.checkpoint`: the feature levels of a newly formatted log directory.
        flags: JVM flags for a quick start. Empty if the Java version is too old for them.
    """

    checkpoint: bytes
    flags: tuple[str, ...]

    def format_log_dir(self, node: Node, cluster_id: str) -> None:
        """Create the log directory of a node, as `kafka-storage format` would.

        We don't run that tool, because it takes seconds. Between clusters, only the ids in the file `meta.properties`
        that it writes differ, so we write that file ourselves. The feature levels in its file `bootstrap.checkpoint`
        depend only on the Kafka version, so we copy that file.

        Args:
            node: The node whose log directory is created. The directory must not exist yet.
            cluster_id: An id from `new_id`.
        """
        node.log_dir.mkdir(parents=True)
        (node.log_dir / "bootstrap.checkpoint").write_bytes(self.checkpoint)
        meta = {
            "version": "1",
            "cluster.id": cluster_id,
            "node.id": str(node.node_id),
            "directory.id": new_id(),
        }
        (node.log_dir / "meta.properties").write_text(format_ascii_properties(meta), encoding="ascii")


def lay_out(brokers: int, host: str, first_port: int | None, proxy_ports: Sequence[int] = ()) -> Layout:
    """Choose folders, ports and log files for a cluster, without creating anything.

    The brokers' partitions go into memory if there is enough free memory and `TMPDIR` is not set. Everything else goes
    into the host's temporary folder.

    Args:
        brokers: The number of brokers.
        host: The address that the brokers listen on.
        first_port: The client port of the first broker. The other brokers get the ports after it. None: use free ports.
        proxy_ports: The port of the proxy in front of each broker. Empty: clients use the brokers' own ports.

    Raises:
        DiskTooFull: There is too little free disk space even for a short run.
    """
    run_id = uuid.uuid4().hex[:12]
    root = Path(tempfile.gettempdir()).absolute()
    free = shutil.disk_usage(root).free
    if free < _LEAST_FREE_DISK_BYTES:
        raise DiskTooFull(
            f"at least {_LEAST_FREE_DISK_BYTES / 1e9:.1f} GB must be free for a broker's data, but {root} has "
            f"{free / 1e9:.1f} GB; free some space, or set TMPDIR to a folder on a larger disk"
        )
    ports = free_ports(host, (3 if proxy_ports else 2) * brokers)
    client_ports = ports[:brokers] if first_port is None else range(first_port, first_port + brokers)
    nobody = [None] * brokers
    name = f"{_FOLDER_PREFIX}{run_id}"
    memory = memory_root(brokers)
    # Only the partitions go into memory. Kafka's codecs unpack native libraries into the other folder, and a file
    # system in memory may forbid executing them.
    folders = (root / name,) if memory is None else (root / name, memory / name)
    numbers = range(1, brokers + 1)
    nodes = tuple(
        Node(
            number,
            host,
            client_port,
            controller_port,
            folder=folders[0] / f"node-{number}",
            log_dir=folders[-1] / f"node-{number}" / "log",
            proxy_port=proxy_port,
            inter_broker_port=inter_broker_port,
        )
        for number, client_port, controller_port, proxy_port, inter_broker_port in zip(
            numbers,
            client_ports,
            ports[brokers : 2 * brokers],
            proxy_ports or nobody,
            ports[2 * brokers :] or nobody,
            strict=True,
        )
    )
    suffixes = [""] if brokers == 1 else [f"-{number}" for number in numbers]
    logs = tuple(log_folder() / f"broker-{run_id}{suffix}.log" for suffix in suffixes)
    return Layout(run_id=run_id, folders=folders, nodes=nodes, logs=logs)


def write_files(
    layout: Layout, kafka: KafkaJava, first: FirstStart, properties: Mapping[str, str]
) -> list[dict[str, Any]]:
    """Create the folders, the properties files and the formatted log directories of all brokers.

    Args:
        layout: The layout of the cluster.
        kafka: Java and Kafka's jars.
        first: The results of the first start of Kafka on this host, which make this start quick.
        properties: Broker properties that override our defaults.

    Returns:
        The command and the log file of each broker, in the format that `keeper.py` reads. That program starts the
        brokers.
    """
    for folder in layout.folders:
        folder.mkdir(mode=0o700)
    log_folder().mkdir(parents=True, exist_ok=True)
    cluster_id = new_id()
    heap = _HEAP_ALONE if len(layout.nodes) == 1 else _HEAP_SHARED
    brokers = []
    for node, log in zip(layout.nodes, layout.logs, strict=True):
        node.folder.mkdir()
        first.format_log_dir(node, cluster_id)
        file = node.folder / "server.properties"
        wanted = broker_properties(node, layout.nodes, properties)
        file.write_text(format_ascii_properties(wanted), encoding="ascii")
        temporary = node.folder / "tmp"  # Kafka's codecs unpack their native libraries there
        temporary.mkdir()
        # The heap has its full size from the start: growing during a measurement would change the measured values.
        flags = [
            f"-Xms{heap}",
            f"-Xmx{heap}",
            f"-Djava.io.tmpdir={temporary}",
            kafka.log_flag(),
            *first.flags,
        ]
        brokers.append({"command": kafka.command("kafka.Kafka", str(file), flags=flags), "log": str(log)})
    return brokers


def new_id() -> str:
    """Return a random id for a cluster or a log directory.

    The id has Kafka's format: 16 bytes in URL-safe base 64, not starting with a dash.
    """
    while (text := base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")).startswith("-"):
        pass
    return text


def remove_folders(folders: Iterable[str]) -> None:
    """Remove the given folders whose names have the form that `lay_out` chooses, and skip all others."""
    for folder in map(Path, folders):
        if _FOLDER_NAME.fullmatch(folder.name):
            shutil.rmtree(folder, ignore_errors=True)


def log_folder() -> Path:
    """Return the folder that holds the brokers' log files."""
    return state_root() / "logs"


def drop_old_logs() -> None:
    """Delete the log files of brokers, except the newest `LOGS_KEPT` files."""
    logs = sorted(log_folder().glob("broker-*.log"), key=lambda log: log.stat().st_mtime, reverse=True)
    for log in logs[LOGS_KEPT:]:
        log.unlink(missing_ok=True)
