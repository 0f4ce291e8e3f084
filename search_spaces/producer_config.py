"""A producer config that is known to be good: the one type that runners take and records keep.

What it promises about its records (durability, order and repeats) is its `Guarantee`.
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
# What a codec does at level -1. Source: RD_KAFKA_COMPLEVEL_*_DEFAULT of librdkafka, and zlib's own default for
# gzip; the tests compare the bytes sent.
DEFAULT_LEVELS: Final = {"gzip": 6, "lz4": 0, "zstd": 3}


@dataclass(frozen=True, slots=True)
class ProducerConfig:
    """The properties under test, checked: proof that the client takes them and does what they say.

    Built only by `parse` (and `updated`, which parses again). Hashable and picklable. Equal configs have the
    same given properties: one that spells a default out is another config than one that leaves it out,
    because the client derives defaults only for what is left out.

    Attributes:
        client: the client that the property names belong to, "librdkafka".
        pairs: canonical name and canonical value of each given property, sorted by name.
    """

    client: str
    pairs: tuple[tuple[str, str], ...]
    checked: InitVar[object] = None

    def __post_init__(self, checked: object) -> None:
        if checked is not _CHECKED:
            raise TypeError("a ProducerConfig is built by ProducerConfig.parse, which checks it")

    @classmethod
    def parse(cls, mapping: Mapping[str, Value]) -> Self:
        """Check the properties of `mapping`, written by any of their names, and return them as a config.

        Refused is what the client would refuse, and what it would take without a word and not do.

        Args:
            mapping: property names and values; text, or the plain values of YAML. Left out is the client's
                default.

        Raises:
            UnknownProperty: a name is no property of the client.
            InvalidValue: a property does not take its value.
            ConflictingSpellings: a property stands there under two names with two values.
            MisplacedProperty: a property of the connection, or one that the load generator sets.
            RuleBroken: the values do not go together.
        """
        values = canonical_values(mapping, Role.PRODUCER)
        effective = Effective(values)
        for rule in RULES:
            rule.check(effective)
        return cls(load_catalogue().client, tuple(sorted(values.items())), _CHECKED)

    def updated(self, changes: Mapping[str, Value]) -> Self:
        """Return this config with the properties of `changes` set, checked anew.

        Raises:
            ConfigError: as for `parse`.
        """
        return self.parse({**self.values, **canonical_values(changes, Role.PRODUCER)})

    @property
    def values(self) -> dict[str, str]:
        """The given properties, canonical, as the client's constructor takes them; a new dict each time."""
        return dict(self.pairs)

    @property
    def fingerprint(self) -> str:
        """Sixteen hex digits that name the config, whatever the order or the spelling of its properties."""
        lines = [self.client, *(f"{name}={value}" for name, value in self.pairs)]
        return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:_FINGERPRINT_DIGITS]

    @property
    def in_force(self) -> Effective:
        """The config seen through the client's defaults, with numbers and flags read."""
        return Effective(self.values)

    def effective(self, name: str) -> str:
        """Return the value in force for the property `name`, given or default; "" when it has none.

        Raises:
            UnknownProperty: the client has no such property.
        """
        return self.in_force.text(name)

    @property
    def acks(self) -> int:
        """Whose acknowledgement a record waits for: 0 nobody's, 1 the leader's, -1 all in-sync replicas'."""
        return self.in_force.integer("acks")

    @property
    def idempotent(self) -> bool:
        """Whether the broker discards repeats of this producer's batches."""
        return self.in_force.flag("enable.idempotence")

    @property
    def linger_ms(self) -> float:
        """How long a record waits for others to fill its batch, in milliseconds; whole microseconds."""
        return self.in_force.number("linger.ms")

    @property
    def compression(self) -> str:
        """The codec: none, gzip, snappy, lz4 or zstd."""
        return self.in_force.text("compression.type")

    @property
    def max_batch_bytes(self) -> int:
        """Bytes of a full batch, framing included: `batch.size`, capped by `message.max.bytes`."""
        return min(self.in_force.integer("batch.size"), self.in_force.integer("message.max.bytes"))

    @property
    def queue_bytes(self) -> int:
        """How many bytes of values the client's queue holds; keys do not count."""
        return self.in_force.integer("queue.buffering.max.kbytes") * 1024


def canonical_values(mapping: Mapping[str, Value], role: Role) -> dict[str, str]:
    """Return canonical values by canonical name, for properties that must all have `role`.

    Raises:
        UnknownProperty: a name is no property of the client.
        MisplacedProperty: a property has another role.
        InvalidValue: a property does not take its value.
        ConflictingSpellings: a property stands there under two names with two values.
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
    """Say whether all properties of the producer have the same value in force."""
    return all(spelt_out(one, name) == spelt_out(other, name) for name in _names())


def spelt_out(config: Effective, name: str) -> str:
    """Return the value in force; for a codec without a level, the level that it then has."""
    if name == "compression.level" and config.integer(name) == NO_LEVEL:
        return str(DEFAULT_LEVELS.get(config.text("compression.type"), NO_LEVEL))
    return config.text(name)


@lru_cache
def _names() -> tuple[str, ...]:
    return tuple(entry.name for entry in load_catalogue() if entry.role is Role.PRODUCER)


# From the weakest to the strongest, in the client's numbers. Source: "acks" in Kafka's producer configs.
_ACKS: Final = (0, 1, -1)
_ACKS_TEXT: Final = {0: "0", 1: "1", -1: "all"}


@dataclass(frozen=True, slots=True)
class Guarantee:
    """What a config promises; a search never goes below the one it was given as its floor.

    Attributes:
        acks: whose acknowledgement a record waits for: 0 nobody's, 1 the leader's, -1 all in-sync replicas'.
        ordered: whether the records of a partition keep their order when a request is retried.
        idempotent: whether the broker discards repeats, so that a retry writes nothing twice.

    Raises:
        InvalidValue: `acks` is none of the three.

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
        """Return what `config` promises, defaults included."""
        one_at_a_time = config.in_force.integer("max.in.flight.requests.per.connection") == 1
        never_retried = config.in_force.integer("retries") == 0
        return cls(config.acks, config.idempotent or one_at_a_time or never_retried, config.idempotent)

    def at_least(self, floor: "Guarantee") -> bool:
        """Say whether this promises everything that `floor` does."""
        return (
            _ACKS.index(self.acks) >= _ACKS.index(floor.acks)
            and self.ordered >= floor.ordered
            and self.idempotent >= floor.idempotent
        )

    def __str__(self) -> str:
        order = "ordered" if self.ordered else "may reorder on retry"
        return f"acks={_ACKS_TEXT[self.acks]}, {order}" + (", no duplicates" if self.idempotent else "")


# The floors that a study file may name; None stands for what the baseline itself promises.
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
