"""The clock that measurements are taken with, as a seam: code that waits is given one, and tests move it by hand."""

import time
from typing import Final, Protocol

NS_PER_S: Final = 1_000_000_000
NS_PER_US: Final = 1_000
US_PER_S: Final = 1_000_000


class Clock(Protocol):
    """A monotonic clock that can be waited on."""

    def now_ns(self) -> int:
        """Nanoseconds since some fixed moment."""

    def sleep_until(self, moment_ns: int) -> None:
        """Return at the moment given or soon after; at once if it has passed."""


class SystemClock:
    """The host's monotonic clock; the one that librdkafka stamps messages with on Linux."""

    def now_ns(self) -> int:
        """Nanoseconds of the host's monotonic clock."""
        return time.monotonic_ns()

    def sleep_until(self, moment_ns: int) -> None:
        """Sleep with the accuracy of the host's timer (tens of microseconds on Linux)."""
        left_ns = moment_ns - time.monotonic_ns()
        if left_ns > 0:
            time.sleep(left_ns / NS_PER_S)
