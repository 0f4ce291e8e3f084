"""Translates connection properties of librdkafka to those of Kafka's Java client."""

from collections.abc import Mapping


def to_java(connection: Mapping[str, str]) -> dict[str, str]:
    """Return the connection properties under the Java client's names."""
    return dict(connection)
