"""The protocol of the producers that send a load with librdkafka."""

from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

CALL_RECORDS: Final = 1_000
"""The largest number of records that one call hands to the client.

The number is large enough to make the cost of a call negligible, and small enough that all records of a call leave at
nearly the same moment.
"""


class LoadClient(Protocol):
    """A producer that sends the records of a payload pool again and again.

    Attributes:
        notes_arrivals: Whether the client notes when a delivery arrives. Then `drain` may be called late without an
            effect on the latencies.
    """

    notes_arrivals: bool

    def send(self, intended_ns: NDArray[np.int64] | int, count: int) -> int:
        """Hand the next `count` records of the pool to the client library.

        Args:
            intended_ns: Intended send time of each record, shape (count,), or one time for all records. The time
                travels with the record and comes back with its delivery.
            count: Number of records, at least 1.

        Returns:
            Number of records that the client accepted. If it is below `count`, the client's queue is full or the end of
            the pool was reached, and the caller sends the rest with another call.

        Raises:
            WorkloadRefused: The client will never accept such a record.
            DeliveryFailed: The client can't send any more (a fatal error).
        """

    def drain(self, timeout_ms: int) -> None:
        """Take all events (deliveries, statistics, errors) that the client has, and count what they report.

        Args:
            timeout_ms: Longest wait for the first event, in milliseconds.
        """

    def waiting(self) -> int:
        """Return the number of records that the client accepted and whose delivery report was not handled yet."""

    def purge(self) -> None:
        """Make the client give up all records that it still holds. These records then count as failed deliveries."""

    def close(self) -> None:
        """Close the client immediately, and drop the records that it still holds."""
