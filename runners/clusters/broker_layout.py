"""Where the brokers of one cluster of our own have their ports, files and logs, and their properties."""

import base64
import re
import shutil
import tempfile
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from runners.clusters.java import KafkaJava
from runners.clusters.memory import memory_root
from runners.clusters.processes import free_ports
from runners.errors import DiskTooFull
from runners.places import state_root
from search_spaces.properties_file import format_properties

_MIB = 1024 * 1024
LEAST_FREE_BYTES = 2 * 1024**3
LOGS_KEPT = 10
_FOLDER_PREFIX = "kafka-tuner-broker-"
_FOLDER_NAME = re.compile(re.escape(_FOLDER_PREFIX) + r"[0-9a-f]{12}")
# Three brokers share a host that one would have to itself.
_HEAP_ALONE, _HEAP_SHARED = "1g", "512m"


@dataclass(frozen=True, slots=True)
class Node:
    """One process that is broker and controller at once.

    Attributes:
        node_id: 1, 2, 3.
        host: Address that both listeners are bound to.
        port: Of the client listener.
        controller_port: Of the controller listener.
        folder: Where its properties lie.
        log_dir: Where its partitions lie.
    """

    node_id: int
    host: str
    port: int
    controller_port: int
    folder: Path
    log_dir: Path


def broker_properties(node: Node, nodes: Sequence[Node], extra: Mapping[str, str]) -> dict[str, str]:
    """The properties of one node.

    Kafka's own defaults stand wherever they bear on a producer (threads, request and batch limits), since the
    broker stands for the one its user will have. What differs keeps it small, quick to start and unable to
    fill the disk.

    Args:
        node: The node.
        nodes: All nodes of the cluster.
        extra: Properties that win over ours.

    Returns:
        Kafka's property names and values.
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
        # A topic is deleted after each trial, and its space is waited for. By default files go a minute later
        # and retention is looked at every 5 minutes, first after 30 s: 90 GB at 300 MB/s.
        "log.segment.delete.delay.ms": "0",
        "log.retention.check.interval.ms": "1000",
        "log.initial.task.delay.ms": "1000",
        "log.segment.bytes": str(128 * _MIB),
        "log.retention.bytes": str(512 * _MIB),
        # Internal topics: 50 partitions each by default, which is 150 open logs nobody writes to.
        "offsets.topic.num.partitions": "1",
        "offsets.topic.replication.factor": copies,
        "transaction.state.log.num.partitions": "1",
        "transaction.state.log.replication.factor": copies,
        "transaction.state.log.min.isr": isr,
        "share.coordinator.state.topic.num.partitions": "1",
        "share.coordinator.state.topic.replication.factor": copies,
        "share.coordinator.state.topic.min.isr": isr,
        "group.initial.rebalance.delay.ms": "0",
        # 128 MiB of heap by default, for compacted topics that we don't have.
        "log.cleaner.dedupe.buffer.size": str(4 * _MIB),
        "controlled.shutdown.enable": "false",  # its data is thrown away
    }
    return {**ours, **extra}


def properties_text(properties: Mapping[str, str]) -> str:
    """A Java properties file; Kafka reads it as Latin-1, so what is no ASCII is escaped."""
    return "".join(c if c.isascii() else f"\\u{ord(c):04x}" for c in format_properties(properties))


@dataclass(frozen=True, slots=True)
class Layout:
    """The plan of a cluster of our own.

    Attributes:
        run_id: 12 hex digits.
        folders: Hold everything that is removed at the end: the first one the files of the brokers, and their logs
            where there is no second one.
        nodes: Its processes.
        logs: One log per node; they outlive the cluster.
    """

    run_id: str
    folders: tuple[Path, ...]
    nodes: tuple[Node, ...]
    logs: tuple[Path, ...]

    @property
    def bootstrap(self) -> str:
        """`host:port` of every broker, joined by commas."""
        return ",".join(f"{node.host}:{node.port}" for node in self.nodes)


@dataclass(frozen=True, slots=True)
class FirstStart:
    """What the first start has left.

    Attributes:
        checkpoint: Feature levels that a formatted log directory starts from.
        flags: Flags of the JVM for a quick start; none where Java is too old for them.
    """

    checkpoint: bytes
    flags: tuple[str, ...]

    def format_log_dir(self, node: Node, cluster_id: str) -> None:
        """Make the log directory of a node as `kafka-storage format` does.

        What Kafka's tool writes differs between clusters by the ids in `meta.properties` only; the feature
        levels in `bootstrap.checkpoint` depend on the version alone, so they are copied.

        Args:
            node: The node; its log directory must not exist.
            cluster_id: As `new_id` gives.
        """
        node.log_dir.mkdir(parents=True)
        (node.log_dir / "bootstrap.checkpoint").write_bytes(self.checkpoint)
        meta = {
            "version": "1",
            "cluster.id": cluster_id,
            "node.id": str(node.node_id),
            "directory.id": new_id(),
        }
        (node.log_dir / "meta.properties").write_text(properties_text(meta), encoding="ascii")


def lay_out(brokers: int, host: str, first_port: int | None) -> Layout:
    """Choose folders, ports and log files; nothing is made yet.

    The brokers' data lies in memory, where there is room and `TMPDIR` is not set, and the rest in the host's temporary
    folder.

    Args:
        brokers: How many.
        host: Address that they listen on.
        first_port: Client port of the first broker, the others follow; free ones by default.

    Raises:
        DiskTooFull: Too little space is free for even a short run.
    """
    run_id = uuid.uuid4().hex[:12]
    root = Path(tempfile.gettempdir()).absolute()
    free = shutil.disk_usage(root).free
    if free < LEAST_FREE_BYTES:
        raise DiskTooFull(
            f"At least {LEAST_FREE_BYTES / 1e9:.1f} GB must be free for a broker's log, but {root} has "
            f"{free / 1e9:.1f} GB. Free some, or set TMPDIR to a folder on a larger disk."
        )
    ports = free_ports(host, 2 * brokers)
    client_ports = ports[:brokers] if first_port is None else range(first_port, first_port + brokers)
    name = f"{_FOLDER_PREFIX}{run_id}"
    memory = memory_root(brokers)
    # The rest stays where programs may be run from: Kafka's codecs unpack their native libraries there.
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
        )
        for number, client_port, controller_port in zip(numbers, client_ports, ports[brokers:], strict=True)
    )
    suffixes = [""] if brokers == 1 else [f"-{number}" for number in numbers]
    logs = tuple(log_folder() / f"broker-{run_id}{suffix}.log" for suffix in suffixes)
    return Layout(run_id=run_id, folders=folders, nodes=nodes, logs=logs)


def write_files(
    layout: Layout, kafka: KafkaJava, first: FirstStart, properties: Mapping[str, str]
) -> list[dict[str, Any]]:
    """Make folders, properties and formatted log directories.

    Args:
        layout: The plan.
        kafka: Java and jars.
        first: What the first start left.
        properties: Broker properties that win over ours.

    Returns:
        Command and log file of each broker, as the keeper wants them.
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
        file.write_text(properties_text(wanted), encoding="ascii")
        temporary = node.folder / "tmp"  # the codecs unpack their native libraries there
        temporary.mkdir()
        # Equal bounds: a heap that grows during a measurement would show in it.
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
    """A random id as Kafka writes them: 16 bytes in URL-safe base 64, without a dash in front."""
    while (text := base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")).startswith("-"):
        pass
    return text


def remove_folders(folders: Iterable[str]) -> None:
    """Remove the folders of a layout, and no others."""
    for folder in map(Path, folders):
        if _FOLDER_NAME.fullmatch(folder.name):
            shutil.rmtree(folder, ignore_errors=True)


def log_folder() -> Path:
    """Where brokers' logs are kept."""
    return state_root() / "logs"


def drop_old_logs() -> None:
    """Keep the newest logs only."""
    logs = sorted(log_folder().glob("broker-*.log"), key=lambda log: log.stat().st_mtime, reverse=True)
    for log in logs[LOGS_KEPT:]:
        log.unlink(missing_ok=True)
