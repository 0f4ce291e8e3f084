"""Runs Kafka's own command-line tools from the jars in the cache."""

import subprocess
from collections.abc import Sequence

from runners.clusters.brokers.first_start import quick_flags
from runners.java_runtime.java import KafkaJava, run_java

_TIMEOUT_S = 60.0
# The tools run so briefly that Java's optimising compiler would only slow them down.
_FLAGS = ("-Xmx256m", "-XX:TieredStopAtLevel=1")


def run_tool(main_class: str, arguments: Sequence[str]) -> "subprocess.CompletedProcess[str]":
    """Run one of Kafka's classes to its end, with JVM flags for short runs."""
    kafka = KafkaJava.prepare()
    return run_java(kafka.command(main_class, *arguments, flags=(*_FLAGS, *quick_flags(kafka))), _TIMEOUT_S)


def set_producer_quota(bootstrap: str, client_id: str, bytes_per_s: int | None) -> None:
    """Limit the bytes per second that producers of one client id may send to each broker; None removes the limit."""
    set_quota(bootstrap, client_id, "producer_byte_rate", bytes_per_s)


def set_quota(bootstrap: str, client_id: str, quota: str, bytes_per_s: int | None) -> None:
    """Set a quota of one client id for each broker, such as `consumer_byte_rate`; None removes it."""
    change = ["--delete-config", quota] if bytes_per_s is None else ["--add-config", f"{quota}={bytes_per_s}"]
    arguments = ["--bootstrap-server", bootstrap, "--alter", *change]
    ran = run_tool("kafka.admin.ConfigCommand", [*arguments, "--entity-type", "clients", "--entity-name", client_id])
    assert ran.returncode == 0, ran.stderr or ran.stdout
