"""What a measurement needs in addition to its load: producers, zones, stored records, and a broker that is lost."""

from dataclasses import dataclass
from typing import Final

from runners.pools.placement import ANYWHERE, Placement


@dataclass(frozen=True, slots=True)
class Setup:
    """What a measurement needs in addition to its load.

    Attributes:
        producers: How many producers share the load. 0: only consumers, which read what was stored before.
        same_zone: Whether the clients are in the brokers' zone, although the target has a link to another zone.
        stored_bytes: Bytes of values that are written to the topic before the measurement.
        min_insync_replicas: The topic's `min.insync.replicas`; None for the brokers' default.
        broker_killed_s: Seconds after the start of the measured phase at which the broker that leads partition 0 is
            killed; None if no broker is killed.
        placement: The zones of a Ray cluster in which the producers and the consumers run.
    """

    producers: int = 1
    same_zone: bool = False
    stored_bytes: int = 0
    min_insync_replicas: int | None = None
    broker_killed_s: float | None = None
    placement: Placement = ANYWHERE


ONE_PRODUCER: Final = Setup()
"""One producer, and nothing else."""
