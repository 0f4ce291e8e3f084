"""Configs that are worth a try wherever they fit: what guides and measurements found good, ahead of any search."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from search_spaces.errors import ConfigError
from search_spaces.producer_config import ProducerConfig
from search_spaces.space import SearchSpace


@dataclass(frozen=True, slots=True)
class StartingPoint:
    """Changes to the baseline.

    Attributes:
        source: why we think so.
        changes: properties by the names users write.
    """

    source: str
    changes: Mapping[str, str]


STARTING_POINTS: Final = (
    StartingPoint(
        "measured on 2 cores at 20,000 records of 1 kB a second: p99 2 ms, and 7 to 9 ms with the defaults",
        {"linger.ms": "0.5", "compression.type": "lz4"},
    ),
    StartingPoint(
        "librdkafka's INTRODUCTION.md, High throughput: wait for larger batches; compressing them pays then",
        {"linger.ms": "20", "compression.type": "lz4"},
    ),
    StartingPoint(
        "librdkafka's INTRODUCTION.md, High throughput: a queue that holds more than the default's 100,000 records",
        {"linger.ms": "10", "queue.buffering.max.messages": "500000"},
    ),
    StartingPoint(
        "librdkafka's INTRODUCTION.md, Low latency: do not wait",
        {"linger.ms": "1"},
    ),
)


def starting_points(space: SearchSpace, baseline: ProducerConfig) -> Iterator[ProducerConfig]:
    """Yield the starting points that lie in `space`, as changes to `baseline`."""
    for point in STARTING_POINTS:
        try:
            config = baseline.updated(point.changes)
        except ConfigError:
            continue  # the baseline sets something that does not go with it
        if space.params_of(config) is not None:
            yield config
