"""The clock that every measurement uses.

Code that waits receives its clock as an argument, so that a test can pass a clock that it moves by hand.
"""

import time
from typing import Final, Protocol

NS_PER_S: Final = 1_000_000_000
NS_PER_MS: Final = 1_000_000
NS_PER_US: Final = 1_000
US_PER_S: Final = 1_000_000


class Clock(Protocol):
    """A monotonic clock that code can also wait on."""

    def now_ns(self) -> int:
        """Return the nanoseconds since some fixed moment in the past."""

    def sleep_until(self, moment_ns: int) -> None:
        """Return at `moment_ns` or shortly after it; return immediately if the moment has passed."""


class SystemClock:
    """The monotonic clock of this host.

    On Linux, librdkafka measures the latency of its messages with the same clock.
    """

    def now_ns(self) -> int:
        """Return the nanoseconds of the host's monotonic clock."""
        return time.monotonic_ns()

    def sleep_until(self, moment_ns: int) -> None:
        """Sleep until `moment_ns`, as exactly as the host's timer can (within tens of microseconds on Linux)."""
        left_ns = moment_ns - time.monotonic_ns()
        if left_ns > 0:
            time.sleep(left_ns / NS_PER_S)
