"""The seam between the benchmark loop and a librdkafka producer.

One thread calls `send`, another calls `drain`; a third may call `purge`. What `drain` sees goes into the `Tally` that
the client was opened with.
"""

from typing import Protocol

import numpy as np
from numpy.typing import NDArray


class LoadClient(Protocol):
    """A producer that sends records of a payload pool, round and round."""

    def send(self, intended_ns: NDArray[np.int64] | int, count: int) -> int:
        """Hand over the next `count` records.

        Args:
            intended_ns: When each record was meant to leave, shape (count,), or one moment for all; it travels with
                the record and comes back with its delivery.
            count: How many records, at least 1.

        Returns:
            How many were taken; fewer than asked means that the client's queue is full (or the pool's end was reached):
            ask again with the rest.

        Raises:
            WorkloadRefused: The client will never take such a record.
            DeliveryFailed: The client is past sending anything (a fatal error).
        """

    def drain(self, timeout_ms: int) -> None:
        """Serve what the client has to say (deliveries, statistics, errors), waiting up to `timeout_ms` for it."""

    def waiting(self) -> int:
        """Records handed over whose delivery was not served yet."""

    def purge(self) -> None:
        """Make the client give up every record it still holds; their deliveries then arrive as failed."""

    def close(self) -> None:
        """Free everything at once; records still held are dropped."""
