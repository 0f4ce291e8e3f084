"""The protocol of one consumer of a load, which reads its share of a topic's partitions."""

from collections.abc import Callable
from typing import Protocol

from runners.consumers.consumption import Consumption, ReadWindow
from runners.runner import WatchDecision

ReadWatch = Callable[[ReadWindow], WatchDecision]
"""A function that is called with each window of a load when the window ends, and decides whether the load continues."""


def read_on(_: ReadWindow) -> WatchDecision:
    """Let the load continue after every window. This is the default if a caller passes no `watch`."""
    return WatchDecision.GO_ON


class Reader(Protocol):
    """One consumer of a load. It can be pickled, and reads in the process that calls `read`."""

    def read(self, ready: Callable[[], int], watch: ReadWatch) -> Consumption:
        """Open a client, wait for the common start, read, and return what was measured.

        Nothing of the client is left behind, even if an error is raised.

        Args:
            ready: Called when the client can begin. It returns when to begin, in nanoseconds of this host's monotonic
                clock.
            watch: Called with each window, in the calling thread. If it returns `STOP`, the load ends soon.

        Raises:
            RunnerError: There is no measurement.
        """
