"""A clock that tests move by hand."""

from dataclasses import dataclass, field


@dataclass(slots=True)
class MovedClock:
    """A `Clock` whose time passes only where it is used: nothing waits, and every moment is exact.

    Attributes:
        at_ns: Now.
        step_ns: What each look at the clock takes.
        oversleep_ns: How late each sleep ends.
        pauses: Moments at which the time jumps, and where to: a process that did not get the CPU. Ascending.
    """

    at_ns: int = 0
    step_ns: int = 1_000
    oversleep_ns: int = 0
    pauses: list[tuple[int, int]] = field(default_factory=list)

    def now_ns(self) -> int:
        """See `Clock.now_ns`."""
        self._move(self.at_ns + self.step_ns)
        return self.at_ns

    def sleep_until(self, moment_ns: int) -> None:
        """See `Clock.sleep_until`."""
        if moment_ns > self.at_ns:
            self._move(moment_ns + self.oversleep_ns)

    def _move(self, to_ns: int) -> None:
        self.at_ns = to_ns
        while self.pauses and self.pauses[0][0] <= self.at_ns:
            _, end_ns = self.pauses.pop(0)
            self.at_ns = max(self.at_ns, end_ns)
