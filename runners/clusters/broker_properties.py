"""The `server.properties` of a broker that we start ourselves."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from search_spaces.properties_file import format_properties

_MIB = 1024 * 1024


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
