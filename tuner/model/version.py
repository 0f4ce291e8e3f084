"""Versions of this program and of the client library."""

import importlib.metadata


def version() -> str:
    """Return `kafka-tuner X (confluent-kafka Y)`."""
    ours, client = (importlib.metadata.version(name) for name in ("kafka-tuner", "confluent-kafka"))
    return f"kafka-tuner {ours} (confluent-kafka {client})"
