"""A quota for producers, set with Kafka's own tool."""

from runners.clusters.kafka_tools import run_tool

_TIMEOUT_S = 60.0


def set_producer_quota(bootstrap: str, client_id: str, bytes_per_s: int | None) -> None:
    """Limit what the producers of one client id may send to each broker, or lift the limit (None)."""
    change = (
        ["--delete-config", "producer_byte_rate"]
        if bytes_per_s is None
        else ["--add-config", f"producer_byte_rate={bytes_per_s}"]
    )
    arguments = ["--bootstrap-server", bootstrap, "--alter", *change]
    arguments += ["--entity-type", "clients", "--entity-name", client_id]
    ran = run_tool("kafka.admin.ConfigCommand", arguments, timeout_s=_TIMEOUT_S)
    assert ran.status == 0, ran.complaints or ran.output
