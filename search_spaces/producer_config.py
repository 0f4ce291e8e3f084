"""A checked producer config: the type that runners measure and that the results store keeps.

What a config promises about lost, reordered and duplicate records is its `Guarantee`.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import InitVar, dataclass
from functools import lru_cache
from types import MappingProxyType
from typing import Final, Self

from search_spaces.catalogue import Value, canonical_value, load_catalogue
from search_spaces.effective import Effective
from search_spaces.errors import ConflictingSpellings, InvalidValue, MisplacedProperty
from search_spaces.roles import Role
from search_spaces.rules import NO_LEVEL, RULES

_FINGERPRINT_DIGITS: Final = 16
_CHECKED: Final = object()
# The level that a codec uses when compression.level is -1. Source: RD_KAFKA_COMPLEVEL_*_DEFAULT of librdkafka, and
# zlib's own default for gzip. The tests compare the number of bytes that the client sends.
DEFAULT_LEVELS: Final = {"gzip": 6, "lz4": 0, "zstd": 3}


@dataclass(frozen=True, slots=True)
class ProducerConfig:
    """A checked set of producer properties: the client accepts all of them, and obeys them.

    Only `parse` and `updated` build a config, and both check it. Configs are hashable and can be pickled. Two configs
    are equal if the same properties are given with the same values. A config that states a default value differs from a
    config that leaves the property out, because the client derives some defaults only for properties left out.

    Attributes:
        client: The client that the property names belong to, "librdkafka".
        pairs: Canonical name and canonical value of each given property, sorted by name.
    """

    client: str
    pairs: tuple[tuple[str, str], ...]
    checked: InitVar[object] = None

    def __post_init__(self, checked: object) -> None:
        if checked is not _CHECKED:
            raise TypeError("a ProducerConfig must be built by ProducerConfig.parse, which checks it")

    @classmethod
    def parse(cls, mapping: Mapping[str, Value]) -> Self:
        """Check the properties of `mapping` and return them as a config.

        A config is refused if the client would refuse it, and also if the client would accept a value but silently
        ignore or change it.

        Args:
            mapping: Property names (aliases are allowed) and values, as text or plain YAML values. Properties that are
                left out have the client's default.

        Raises:
            UnknownProperty: The client has no property of this name.
            InvalidValue: A property does not accept its value.
            ConflictingSpellings: A property is given under two names with different values.
            MisplacedProperty: A property belongs to the connection, or the load generator sets it.
            RuleBroken: Values that are valid alone break a rule together.
        """
        values = canonical_values(mapping, Role.PRODUCER)
        effective = Effective(values)
        for rule in RULES:
            rule.check(effective)
        return cls(load_catalogue().client, tuple(sorted(values.items())), _CHECKED)

    def updated(self, changes: Mapping[str, Value]) -> Self:
        """Return a copy of this config with the properties of `changes` set, and check it.

        Raises:
            ConfigError: As for `parse`.
        """
        return self.parse({**self.values, **canonical_values(changes, Role.PRODUCER)})

    @property
    def values(self) -> dict[str, str]:
        """The given properties as the client's constructor accepts them; a new dict on every access."""
        return dict(self.pairs)

    @property
    def fingerprint(self) -> str:
        """Sixteen hex digits that identify the config; the order and spelling of its properties do not matter."""
        lines = [self.client, *(f"{name}={value}" for name, value in self.pairs)]
        return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:_FINGERPRINT_DIGITS]

    @property
    def in_force(self) -> Effective:
        """The values in force: the given ones, and the client's defaults for all other properties."""
        return Effective(self.values)

    def effective(self, name: str) -> str:
        """Return the value in force for the property `name`; "" if it is not given and has no default.

        Raises:
            UnknownProperty: The client has no such property.
        """
        return self.in_force.text(name)

    @property
    def acks(self) -> int:
        """Which brokers must acknowledge a record: 0 none, 1 the leader, -1 all in-sync replicas."""
        return self.in_force.integer("acks")

    @property
    def idempotent(self) -> bool:
        """Whether the producer is idempotent: the broker then discards batches that it receives twice."""
        return self.in_force.flag("enable.idempotence")

    @property
    def linger_ms(self) -> float:
        """How long a record waits for its batch to fill, in milliseconds; a multiple of 0.001."""
        return self.in_force.number("linger.ms")

    @property
    def compression(self) -> str:
        """The codec: none, gzip, snappy, lz4 or zstd."""
        return self.in_force.text("compression.type")

    @property
    def max_batch_bytes(self) -> int:
        """Size of a full batch in bytes, with framing: the smaller of `batch.size` and `message.max.bytes`."""
        return min(self.in_force.integer("batch.size"), self.in_force.integer("message.max.bytes"))

    @property
    def queue_bytes(self) -> int:
        """How many bytes of record values fit into the client's queue; keys do not count."""
        return self.in_force.integer("queue.buffering.max.kbytes") * 1024


def canonical_values(mapping: Mapping[str, Value], role: Role) -> dict[str, str]:
    """Return canonical values by canonical name, after checking that every property has the role `role`.

    Args:
        mapping: Property names (aliases are allowed) and values, as text or plain YAML values.
        role: The role that every property must have, such as `Role.CONNECTION`.

    Raises:
        UnknownProperty: The client has no property of this name.
        MisplacedProperty: A property has another role.
        InvalidValue: A property does not accept its value.
        ConflictingSpellings: A property is given under two names with different values.
    """
    values: dict[str, str] = {}
    spellings: dict[str, str] = {}
    for spelling, value in mapping.items():
        entry = load_catalogue().find(spelling)
        if entry.role is not role:
            raise MisplacedProperty(spelling, entry.role, entry.reason)
        canonical = canonical_value(entry, value)
        if values.get(entry.name, canonical) != canonical:
            raise ConflictingSpellings(
                entry.name,
                (spellings[entry.name], spelling),
                (values[entry.name], canonical),
                secret=entry.secret,
            )
        values[entry.name] = canonical
        spellings.setdefault(entry.name, spelling)
    return values


def same_effect(one: Effective, other: Effective) -> bool:
    """Return whether every producer property has the same value in both configs, with defaults considered."""
    return all(spelt_out(one, name) == spelt_out(other, name) for name in _names())


def spelt_out(config: Effective, name: str) -> str:
    """Return a property's value in force, as text; `compression.level=-1` is replaced by the codec's default level."""
    if name == "compression.level" and config.integer(name) == NO_LEVEL:
        return str(DEFAULT_LEVELS.get(config.text("compression.type"), NO_LEVEL))
    return config.text(name)


@lru_cache
def _names() -> tuple[str, ...]:
    return tuple(entry.name for entry in load_catalogue() if entry.role is Role.PRODUCER)


# The values of acks from the weakest to the strongest. Source: "acks" in Kafka's producer configs.
_ACKS: Final = (0, 1, -1)
_ACKS_TEXT: Final = {0: "0", 1: "1", -1: "all"}


@dataclass(frozen=True, slots=True)
class Guarantee:
    """What a config promises about lost, reordered and duplicate records.

    Attributes:
        acks: Which brokers must acknowledge a record: 0 none, 1 the leader, -1 all in-sync replicas.
        ordered: Whether the records of a partition keep their order when a request is retried.
        idempotent: Whether the broker discards batches that it receives twice, so that retries make no duplicates.

    Raises:
        InvalidValue: `acks` is not 0, 1 or -1.

    Source: "Reordering" and "Idempotent Producer" in librdkafka's INTRODUCTION.md.
    """

    acks: int
    ordered: bool
    idempotent: bool

    def __post_init__(self) -> None:
        if self.acks not in _ACKS:
            raise InvalidValue("acks", "0, 1 or all", self.acks)

    @classmethod
    def of(cls, config: ProducerConfig) -> Self:
        """Return the guarantee of `config`, with the client's defaults considered."""
        one_at_a_time = config.in_force.integer("max.in.flight.requests.per.connection") == 1
        never_retried = config.in_force.integer("retries") == 0
        return cls(config.acks, config.idempotent or one_at_a_time or never_retried, config.idempotent)

    def at_least(self, floor: "Guarantee") -> bool:
        """Return whether this guarantee promises at least as much as the guarantee `floor`."""
        return (
            _ACKS.index(self.acks) >= _ACKS.index(floor.acks)
            and self.ordered >= floor.ordered
            and self.idempotent >= floor.idempotent
        )

    def __str__(self) -> str:
        order = "ordered" if self.ordered else "may reorder on retry"
        return f"acks={_ACKS_TEXT[self.acks]}, {order}" + (", no duplicates" if self.idempotent else "")


# The weakest guarantees that a study file may ask for, by name; None stands for the baseline's own guarantee.
DURABILITY: Final[Mapping[str, Guarantee | None]] = MappingProxyType(
    {
        "baseline": None,
        "any": Guarantee(acks=0, ordered=False, idempotent=False),
        "leader": Guarantee(acks=1, ordered=False, idempotent=False),
        "all": Guarantee(acks=-1, ordered=False, idempotent=False),
        "ordered": Guarantee(acks=-1, ordered=True, idempotent=False),
        "idempotent": Guarantee(acks=-1, ordered=True, idempotent=True),
    }
)
