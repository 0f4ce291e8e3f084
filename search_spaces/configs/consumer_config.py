"""The properties of a consumer, as a user gives them for a load that reads a topic."""

from collections.abc import Mapping
from typing import Final

from search_spaces.client import Client, ClientKind, librdkafka
from search_spaces.errors import MisplacedProperty
from search_spaces.properties.catalogue import Property, Role, Value
from search_spaces.properties.values import CanonicalValues

_GROUP: Final = "the load assigns the partitions itself, so that no group is left on the cluster; leave it out"
_OFFSETS: Final = "the load chooses the offset at which it begins, and commits none; leave it out"
_RESERVED: Final = {
    **dict.fromkeys(
        (
            *("group.id", "group.instance.id", "group.protocol", "group.protocol.type", "group.remote.assignor"),
            *("partition.assignment.strategy", "session.timeout.ms", "heartbeat.interval.ms", "max.poll.interval.ms"),
            "coordinator.query.interval.ms",
        ),
        _GROUP,
    ),
    **dict.fromkeys(
        (
            *("auto.offset.reset", "enable.auto.commit", "auto.commit.enable", "auto.commit.interval.ms"),
            *("enable.auto.offset.store", "offset.store.method", "offset.store.path", "offset.store.sync.interval.ms"),
        ),
        _OFFSETS,
    ),
    "enable.partition.eof": "the load needs to know where a partition ends; leave it out",
}
_CONNECTION: Final = "it is about the connection to the cluster; put it in the file given as --command-config"
_JAVA_RESERVED: Final = {
    **_RESERVED,
    **dict.fromkeys(
        ("key.deserializer", "value.deserializer", "interceptor.classes"), "the load counts bytes only; leave it out"
    ),
    **dict.fromkeys(
        ("metrics.sample.window.ms", "metrics.num.samples", "metrics.recording.level", "metric.reporters"),
        "the load reads the client's metrics; leave it out",
    ),
}
_JAVA_CONNECTION: Final = ("bootstrap.", "security.", "ssl.", "sasl.")


def consumer_values(mapping: Mapping[str, Value], client: Client | None = None) -> dict[str, str]:
    """Return canonical values by canonical name, after checking that the user may set each property.

    Not all mistakes are found here. For librdkafka, a property that only a producer uses is accepted. For the Java
    client, unknown names and wrong values are accepted. The client itself refuses these.

    Args:
        mapping: Property names (aliases are allowed) and values.
        client: The client of the consumer; None for librdkafka.

    Raises:
        UnknownProperty: librdkafka has no property of this name.
        MisplacedProperty: The property is about the connection, or the load sets it.
        InvalidValue: A property does not accept its value.
        ConflictingSpellings: A property is given under two names with different values.
    """
    match (client or librdkafka()).kind:
        case ClientKind.LIBRDKAFKA:
            return _librdkafka_values(mapping)
        case ClientKind.JAVA:
            return _java_values(mapping)


def _librdkafka_values(mapping: Mapping[str, Value]) -> dict[str, str]:
    catalogue = librdkafka().catalogue
    given = CanonicalValues()
    for spelling, value in mapping.items():
        entry = catalogue.find(spelling)
        if (reason := _forbidden(entry)) is not None:
            raise MisplacedProperty(spelling, Role.RESERVED, reason)
        given.add(entry, spelling, value)
    return given.values


def _java_values(mapping: Mapping[str, Value]) -> dict[str, str]:
    for name in mapping:
        if name.startswith(_JAVA_CONNECTION):
            raise MisplacedProperty(name, Role.CONNECTION, _CONNECTION)
        if name in _JAVA_RESERVED:
            raise MisplacedProperty(name, Role.RESERVED, _JAVA_RESERVED[name])
    return {name: str(value).lower() if isinstance(value, bool) else str(value) for name, value in mapping.items()}


def _forbidden(entry: Property) -> str | None:
    """Return why a user must not set this property of a consumer; None if it may be set."""
    if entry.name in _RESERVED:
        return _RESERVED[entry.name]
    if entry.role is Role.CONNECTION:
        return _CONNECTION
    # All consumer properties are reserved for a producer, but not for a consumer.
    if entry.role is Role.RESERVED and (entry.producer or entry.kind == "pointer"):
        return entry.reason
    return None
