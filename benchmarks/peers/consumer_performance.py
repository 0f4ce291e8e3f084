"""Kafka's own `ConsumerPerformance` (4.3), which reads a topic with the Java consumer."""

import uuid
from typing import Final

from runners.clusters.cluster import RunningCluster
from runners.kafka_tools.performance_tools import run_performance_tool, tool_failed

_TOOL: Final = "org.apache.kafka.tools.ConsumerPerformance"
_TIMEOUT_S: Final = 180.0
_RECORDS_COLUMN, _RATE_COLUMN = 4, 9
_COLUMNS: Final = 10
# The client on librdkafka does not check the checksums of batches by default, and the Java client does.
PROPERTIES: Final = {"check.crcs": "false"}


def throughput(cluster: RunningCluster, topic: str, records: int) -> float:
    """Read all records of a topic, and return the records per second without the time for joining a group.

    The tool starts a new Java process, so that its first records are read before Java has compiled what runs often.

    Args:
        cluster: The cluster of the topic.
        topic: Name of the topic.
        records: Number of records in it.

    Raises:
        GeneratorError: The tool failed, or read fewer records. The message quotes its output.
    """
    arguments = ["--bootstrap-server", cluster.bootstrap, "--topic", topic, "--num-records", str(records)]
    arguments += ["--hide-header", "--group", f"tuner-{uuid.uuid4().hex}"]
    ran = run_performance_tool(_TOOL, arguments, PROPERTIES, None, _TIMEOUT_S)
    rates = [rate for line in ran.stdout.splitlines() if (rate := records_per_s(line, records)) is not None]
    if ran.returncode != 0 or not rates:
        raise tool_failed(_TOOL, ran)
    return rates[-1]


def records_per_s(line: str, records: int) -> float | None:
    """Return the records per second in a line that the tool printed; None for other lines, and if records are missing.

    The first column is a time with a comma in it only if the tool's date format has one; the default has none.

    Args:
        line: A line of the tool's output.
        records: Number of records that it should have read.
    """
    cells = [cell.strip() for cell in line.split(",")]
    if len(cells) != _COLUMNS or not cells[_RECORDS_COLUMN].isdecimal() or int(cells[_RECORDS_COLUMN]) < records:
        return None
    return float(cells[_RATE_COLUMN])
