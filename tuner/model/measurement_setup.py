"""The conditions of a measurement besides its load: producers, zones, stored records, and a broker that is killed."""

from dataclasses import dataclass
from typing import Final

from runners.pools.placement import ANYWHERE, Placement

_AT_ONCE_S: Final = 1e-3
"""Two moments that are at most this far apart count as the same moment."""


@dataclass(frozen=True, slots=True)
class Setup:
    """The conditions of a measurement besides its load.

    Attributes:
        producers: How many producers share the load. With 0, there are only consumers, which read stored records.
        same_zone: Whether the clients are in the brokers' zone, although the target has a link to another zone.
        stored_bytes: Bytes of values that are written to the topic before the measurement.
        min_insync_replicas: The topic's `min.insync.replicas`; None for the brokers' default.
        broker_killed_s: Seconds from the start of the measured phase to the moment when the broker that leads
            partition 0 is to be killed. It is killed at the end of the window that contains this moment. None if no
            broker is killed.
        placement: The zones of a Ray cluster in which the producers and the consumers run.
    """

    producers: int = 1
    same_zone: bool = False
    stored_bytes: int = 0
    min_insync_replicas: int | None = None
    broker_killed_s: float | None = None
    placement: Placement = ANYWHERE

    def kills_broker_by(self, at_s: float, warmup_s: float) -> bool:
        """Return whether the broker is to be killed at the end of a window, or was to be killed before.

        Args:
            at_s: Seconds from the start of the load to the end of the window.
            warmup_s: Seconds of the load before the measured phase.
        """
        return self.broker_killed_s is not None and at_s >= warmup_s + self.broker_killed_s - _AT_ONCE_S


ONE_PRODUCER: Final = Setup()
"""One producer, and nothing else."""
