"""Versions of what takes part in a measurement."""

import importlib.metadata


def version() -> str:
    """`kafka-tuner X (confluent-kafka Y)`."""
    ours, client = (importlib.metadata.version(name) for name in ("kafka-tuner", "confluent-kafka"))
    return f"kafka-tuner {ours} (confluent-kafka {client})"
