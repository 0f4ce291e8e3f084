"""The protocol of a client from which one consumer of a load takes its records."""

import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from runners.consumers.consumption import Arrivals, ReadCounts
from runners.consumers.fetch_account import FetchReport


@dataclass(frozen=True, slots=True)
class ReadSnapshot:
    """The counters of a consumer at the end of a window. They begin with the load.

    Attributes:
        at_ns: Time on the clock of the load.
        records: Number of records taken.
        value_bytes: Size of their values.
        waited_ns: Time for which there was no record to take.
        ended: Whether everything was read.
    """

    at_ns: int
    records: int = 0
    value_bytes: int = 0
    waited_ns: int = 0
    ended: bool = False


class RecordSource(Protocol):
    """An open client that takes and counts the records of some partitions, from the call of `begin` on."""

    @property
    def taken(self) -> int:
        """Number of records taken so far, including repeated ones."""

    @property
    def failed(self) -> Mapping[str, int]:
        """Number of errors that came in place of records, by the client's name for the error."""

    @property
    def fatal(self) -> str | None:
        """The error after which the client can't continue; None if there was none."""

    @property
    def threads(self) -> Mapping[str, threading.Thread]:
        """The threads of this process that take records, by their role for `HostProbe`."""

    def begin(self, start_ns: int) -> None:
        """Take records from the time `start_ns` of the clock of the load on."""

    def next_snapshot(self, timeout_s: float) -> ReadSnapshot | None:
        """Return the counters at the end of the next window; None if no window has ended in time.

        Raises:
            RunnerError: The client can't continue.
        """

    def reports(self) -> list[FetchReport]:
        """Return what the client has reported since the last call."""

    def complaints(self) -> list[str]:
        """Return the client's error messages since the last call."""

    def stop(self) -> None:
        """Take no more records. This may be called more than once."""

    def close(self) -> None:
        """Stop, and wait until no thread takes records."""

    def counts(self, received: int | None) -> ReadCounts:
        """Return the counts of the whole load, once it has stopped.

        Args:
            received: Number of records that the client has received, by its own statistics; None if unknown.
        """

    def arrivals(self) -> Arrivals | None:
        """Return when the records were taken, once the load has stopped; None if this was not noted."""
