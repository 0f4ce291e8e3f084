"""A clock that tests move by hand."""

from dataclasses import dataclass, field


@dataclass(slots=True)
class MovedClock:
    """A `Clock` whose time passes only when it is used, so that nothing waits and every moment is exact.

    Attributes:
        at_ns: The current time.
        step_ns: Time that passes whenever the time is read.
        oversleep_ns: How much later than requested each sleep ends.
        pauses: Ascending pairs of a time and the later time to which the clock then jumps, as if the process got no
            CPU.
    """

    at_ns: int = 0
    step_ns: int = 1_000
    oversleep_ns: int = 0
    pauses: list[tuple[int, int]] = field(default_factory=list)

    def now_ns(self) -> int:
        """Let one step pass and return the time."""
        self._move(self.at_ns + self.step_ns)
        return self.at_ns

    def sleep_until(self, moment_ns: int) -> None:
        """Move the time to `moment_ns` and past it by `oversleep_ns`."""
        if moment_ns > self.at_ns:
            self._move(moment_ns + self.oversleep_ns)

    def _move(self, to_ns: int) -> None:
        self.at_ns = to_ns
        while self.pauses and self.pauses[0][0] <= self.at_ns:
            _, end_ns = self.pauses.pop(0)
            self.at_ns = max(self.at_ns, end_ns)
