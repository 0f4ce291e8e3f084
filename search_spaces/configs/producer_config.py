"""A checked producer config: the type that runners measure and that the results store keeps.

What a config guarantees about lost, reordered and duplicate records is its `search_spaces.configs.guarantee.Guarantee`.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import InitVar, dataclass
from typing import Final, Self

from search_spaces.client import Client, ClientValues, librdkafka
from search_spaces.properties.catalogue import Role, Value
from search_spaces.properties.values import canonical_values

_FINGERPRINT_DIGITS: Final = 16
_CHECKED: Final = object()


@dataclass(frozen=True, slots=True)
class ProducerConfig:
    """A checked set of producer properties: the client accepts all of them, and obeys them.

    Only `parse` and `updated` build a config, and both check it. Configs are hashable and can be pickled. Two configs
    are equal if the same properties are given with the same values. A config that states a default value differs from a
    config that leaves the property out, because the client derives some defaults only for properties left out.

    Attributes:
        client: The client that the properties belong to.
        pairs: Canonical name and canonical value of each given property, sorted by name.
    """

    client: Client
    pairs: tuple[tuple[str, str], ...]
    checked: InitVar[object] = None

    def __post_init__(self, checked: object) -> None:
        if checked is not _CHECKED:
            raise TypeError("a ProducerConfig must be built by ProducerConfig.parse, which checks it")

    @classmethod
    def parse(cls, mapping: Mapping[str, Value], client: Client | None = None) -> Self:
        """Check the properties of `mapping` and return them as a config.

        A config is refused if the client would refuse it, and also if the client would accept a value but silently
        ignore or change it.

        Args:
            mapping: Property names (aliases are allowed) and values, as text or plain YAML values. Properties that are
                left out have the client's default.
            client: The client that the properties belong to; None for librdkafka.

        Raises:
            UnknownProperty: The client has no property of this name.
            InvalidValue: A property does not accept its value.
            ConflictingSpellings: A property is given under two names with different values.
            MisplacedProperty: A property belongs to the connection, or the load generator sets it.
            RuleBroken: Values that are valid alone break a rule together.
        """
        client = client or librdkafka()
        values = canonical_values(client.catalogue, mapping, Role.PRODUCER)
        effective_values = client.effective_values(values)
        for rule in client.rules:
            rule.check(effective_values)
        return cls(client, tuple(sorted(values.items())), _CHECKED)

    def updated(self, changes: Mapping[str, Value]) -> Self:
        """Return a copy of this config with the properties of `changes` set, and check it.

        If `changes` have another codec, the level of the old codec is left out.

        Raises:
            ConfigError: As for `parse`.
        """
        changed, kept = canonical_values(self.client.catalogue, changes, Role.PRODUCER), self.values
        if changed.get("compression.type", self.compression) != self.compression:
            for knob in self.client.level_knobs.values():
                kept.pop(knob.sets, None)
        return self.parse({**kept, **changed}, self.client)

    @property
    def values(self) -> dict[str, str]:
        """The given properties as the client's constructor accepts them; a new dict on every access."""
        return dict(self.pairs)

    @property
    def fingerprint(self) -> str:
        """Sixteen hex digits that identify the config; the order and spelling of its properties do not matter."""
        lines = [self.client.identity, *(f"{name}={value}" for name, value in self.pairs)]
        return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:_FINGERPRINT_DIGITS]

    @property
    def effective_values(self) -> ClientValues:
        """The effective values: the given ones, and the client's defaults for all other properties."""
        return self.client.effective_values(self.values)

    def effective(self, name: str) -> str:
        """Return the effective value for the property `name`; "" if it is not given and has no default.

        Raises:
            UnknownProperty: The client has no such property.
        """
        return self.effective_values.text(name)

    @property
    def acks(self) -> int:
        """Which brokers must acknowledge a record: 0 none, 1 the leader, -1 all in-sync replicas."""
        return self.effective_values.integer("acks")

    @property
    def idempotent(self) -> bool:
        """Whether the producer is idempotent: the broker then discards batches that it receives twice."""
        return self.effective_values.flag("enable.idempotence")

    @property
    def linger_ms(self) -> float:
        """How long a record waits for its batch to fill, in milliseconds; a multiple of 0.001."""
        return self.effective_values.number("linger.ms")

    @property
    def compression(self) -> str:
        """The codec: none, gzip, snappy, lz4 or zstd."""
        return self.effective_values.text("compression.type")

    @property
    def max_batch_bytes(self) -> int:
        """Size of a full batch in bytes, with framing."""
        return self.client.limits.max_batch_bytes(self.effective_values)

    @property
    def queue_bytes(self) -> int:
        """How many bytes fit into the client's queue: of record values in librdkafka, of whole batches in Java."""
        return self.client.limits.queue_bytes(self.effective_values)


def same_effect(one: ClientValues, other: ClientValues) -> bool:
    """Return whether every producer property has the same value in both configs, with defaults considered."""
    names = one.client.producer_names
    return one.client == other.client and all(one.spelt_out(name) == other.spelt_out(name) for name in names)


def check_record(
    config: ProducerConfig,
    record_bytes: int,
    key_bytes: int | None = None,
    topic_max_message_bytes: int | None = None,
) -> None:
    """Check that a config can queue and send records of one size, and that the topic accepts them.

    The topic's limit applies to compressed batches, so it is checked only if the config does not compress.

    Args:
        config: The config to write with.
        record_bytes: Size of a record's value, in bytes.
        key_bytes: Size of a record's key, in bytes; None for no key.
        topic_max_message_bytes: The topic's `max.message.bytes`; None if it is not known.

    Raises:
        RuleBroken: The record exceeds one of the limits, or full batches exceed the topic's limit.
    """
    config.client.limits.check(config.effective_values, record_bytes, key_bytes, topic_max_message_bytes)
