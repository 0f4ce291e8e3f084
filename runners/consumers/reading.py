"""The settings of a load of consumers: its start, its length, the number of consumers, and their properties."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from runners.errors import WorkloadRefused
from runners.number_range import NumberRange
from runners.quantities import SECONDS_PER_DAY
from runners.reporting import counted
from runners.runner import DEFAULT_LIMITS
from runners.workload import MOST_CONSUMERS

_RANGES: Final = {
    "consumers": NumberRange(1, MOST_CONSUMERS, whole=True),
    "warmup_s": NumberRange(0, SECONDS_PER_DAY, unit="seconds"),
    "measured_s": NumberRange(0, SECONDS_PER_DAY, above=True, unit="seconds"),
}
"""The range of each number of a load."""


class Start(StrEnum):
    """Where the consumers begin to read: at the first record of each partition, or after its last one."""

    BEGINNING = "beginning"
    TAIL = "tail"


@dataclass(frozen=True, slots=True)
class Reading:
    """A load of consumers on one topic.

    Attributes:
        start: Where the consumers begin. From the beginning, they read at most the records that were stored when the
            load began, so that the load may end early.
        consumers: Number of consumers. Each has a process and a client of its own, and its share of the partitions.
        warmup_s: Seconds of reading before the measured phase.
        measured_s: Seconds of reading that are measured.
        properties: Consumer properties of the client, from `search_spaces.configs.consumer_config.consumer_values`.
        keep_arrivals: Whether the result holds the `Arrivals`: when each record was taken.
        outage_s: How many seconds may pass without an answer while brokers are down, before the load ends.
    """

    start: Start = Start.BEGINNING
    consumers: int = 1
    warmup_s: float = 1.0
    measured_s: float = 10.0
    properties: Mapping[str, str] = field(default_factory=dict)
    keep_arrivals: bool = False
    outage_s: float = DEFAULT_LIMITS.outage_s

    def __post_init__(self) -> None:
        for name, allowed in _RANGES.items():
            if (value := getattr(self, name)) not in allowed:
                raise WorkloadRefused(f"{name} {allowed.broken_by(value)}")


@dataclass(frozen=True, slots=True)
class OffsetRange:
    """The offsets of one partition that a consumer reads.

    Attributes:
        partition: Number of the partition.
        first: The offset to begin with.
        end: The offset before which the consumer stops; None if it never stops.
    """

    partition: int
    first: int
    end: int | None

    @property
    def offsets(self) -> int | None:
        """Number of offsets; None if there is no end."""
        return None if self.end is None else self.end - self.first


def share_out(ranges: Sequence[OffsetRange], consumers: int) -> list[tuple[OffsetRange, ...]]:
    """Divide partitions among consumers in turn, so that the shares differ by at most one partition.

    Raises:
        WorkloadRefused: There are fewer partitions than consumers.
    """
    if len(ranges) < consumers:
        raise WorkloadRefused(
            f"each consumer needs a partition of its own, but the topic has {counted(len(ranges), 'partition')} for "
            f"{counted(consumers, 'consumer')}; use fewer consumers, or a topic with more partitions"
        )
    return [tuple(ranges[number::consumers]) for number in range(consumers)]
