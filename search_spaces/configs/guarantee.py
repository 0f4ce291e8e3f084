"""What a config guarantees about lost, reordered and duplicate records."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Self

from search_spaces.client_facts.effective_values import EffectiveValues
from search_spaces.client_facts.knobs import IDEMPOTENCE, IN_FLIGHT, QUEUING_STRATEGY
from search_spaces.configs.producer_config import ProducerConfig
from search_spaces.errors import InvalidValue

# The values of acks from the weakest to the strongest. Source: "acks" in Kafka's producer configs.
_ACKS: Final = (0, 1, -1)
_ACKS_TEXT: Final = {0: "0", 1: "1", -1: "all"}
GUARANTEE_PROPERTIES: Final = ("acks", IDEMPOTENCE, IN_FLIGHT, "retries", QUEUING_STRATEGY)
"""The properties that decide the guarantee."""


@dataclass(frozen=True, slots=True)
class Guarantee:
    """What a config guarantees about lost, reordered and duplicate records.

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
        return cls.read(config.effective_values)

    @classmethod
    def read(cls, effective_values: EffectiveValues) -> Self:
        """Return the guarantee of the effective values of a producer, for either client."""
        idempotent = effective_values.flag("enable.idempotence")
        one_at_a_time = effective_values.integer("max.in.flight.requests.per.connection") == 1
        never_retried = effective_values.integer("retries") == 0
        # Only librdkafka has the property; with lifo, the newest record leaves first.
        first_in_first_out = (
            QUEUING_STRATEGY not in effective_values.catalogue or effective_values.text(QUEUING_STRATEGY) == "fifo"
        )
        ordered = idempotent or (first_in_first_out and (one_at_a_time or never_retried))
        return cls(effective_values.integer("acks"), ordered, idempotent)

    def at_least(self, floor: "Guarantee") -> bool:
        """Return whether this guarantee is at least as strong as `floor`."""
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
