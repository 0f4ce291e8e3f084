"""Kafka's own command-line tools, run from the jars that we have."""

import subprocess
from collections.abc import Sequence

from runners.clusters.first_start import quick_flags
from runners.clusters.java import KafkaJava, run_java

_TIMEOUT_S = 60.0
# They end before the optimising compiler would pay.
_FLAGS = ("-Xmx256m", "-XX:TieredStopAtLevel=1")


def run_tool(main_class: str, arguments: Sequence[str]) -> "subprocess.CompletedProcess[str]":
    """Run one of Kafka's classes to its end, with the flags of the JVM that end soonest."""
    kafka = KafkaJava.prepare()
    return run_java(kafka.command(main_class, *arguments, flags=(*_FLAGS, *quick_flags(kafka))), _TIMEOUT_S)


def set_producer_quota(bootstrap: str, client_id: str, bytes_per_s: int | None) -> None:
    """Limit what the producers of one client id may send to each broker, or lift the limit (None)."""
    change = (
        ["--delete-config", "producer_byte_rate"]
        if bytes_per_s is None
        else ["--add-config", f"producer_byte_rate={bytes_per_s}"]
    )
    arguments = ["--bootstrap-server", bootstrap, "--alter", *change]
    ran = run_tool("kafka.admin.ConfigCommand", [*arguments, "--entity-type", "clients", "--entity-name", client_id])
    assert ran.returncode == 0, ran.stderr or ran.stdout
