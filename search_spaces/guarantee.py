"""What a producer config promises about its records: durability, order and repeats."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Self

from search_spaces.errors import InvalidValue
from search_spaces.producer_config import ProducerConfig

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
