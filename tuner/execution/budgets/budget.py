"""The budget of a study: the study ends after a number of hours, at a time of day, or after a number of bytes."""

import datetime
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from tuner.model.errors import DeadlinePassed
from tuner.model.facts import DEADLINE, FINISHED_AT
from tuner.model.spec import SearchSpec, StudySpec
from tuner.model.trial import Trial
from tuner.storage.protocols import ResultsStore

_USUAL_MARGIN: Final = 10.0
"""A trial may send this many times the bytes of the largest recent trial. Few configs are that much faster."""
_LEAST_MARGIN: Final = 4.0
"""The same as `_USUAL_MARGIN` if few bytes are left."""
_SHARE_OF_LEFT: Final = 0.25
"""The share of the remaining bytes that one trial may send, unless `_LEAST_MARGIN` or `_ALWAYS_BYTES` allows more."""
_ALWAYS_BYTES: Final = 10**9
"""A trial may always send this many bytes, if they are left: a second or two of a fast load."""


@dataclass(frozen=True, slots=True)
class WallClock:
    """The time of day, and a wait; a parameter, so that tests need not wait.

    Attributes:
        now: Returns the current local time.
        sleep: Waits the given number of seconds.
    """

    now: Callable[[], datetime.datetime] = datetime.datetime.now
    sleep: Callable[[float], None] = time.sleep


HOST_CLOCK: Final = WallClock()
"""The clock of this host."""


class KeptForOthers(NamedTuple):
    """The time and the bytes that one record size must leave for the record sizes that follow.

    Attributes:
        seconds: Seconds of the study's time; 0 if its time is not limited.
        load_bytes: Bytes of values and keys; 0 if the study's bytes are not limited.
    """

    seconds: float
    load_bytes: float


class Budget:
    """The time and the bytes that a study has left, counted over all its runs.

    Bytes are reserved before a trial and counted after it. A trial never sends more than was reserved for it. A trial
    whose process was killed counts with all of its reservation, because nobody knows how many bytes it sent. So one
    trial reserves no more than it will probably send, with a wide margin.

    Attributes:
        clock: Shows the time of day, with which the deadline is compared.

    Args:
        search: The limits that the study file sets.
        spent: The trials of earlier runs.
        deadline: The moment of `search.until`; None if there is none.
        clock: See above.
        reserved: The result of `reserved` that was stored last; empty if none was stored.
    """

    def __init__(
        self,
        search: SearchSpec,
        spent: Sequence[Trial],
        deadline: datetime.datetime | None = None,
        clock: WallClock = HOST_CLOCK,
        reserved: Mapping[str, Any] = MappingProxyType({}),
    ) -> None:
        hours = search.hours
        self._ends_s = None if hours is None else time.monotonic() + hours * 3600 - spent_s(spent)
        self._deadline, self.clock = deadline, clock
        self._max_bytes = search.max_bytes
        stored, open_before = {trial.key for trial in spent}, reserved.get("running", {})
        self._interrupted_bytes: int = reserved.get("interrupted", 0)
        self._interrupted_bytes += sum(most for key, most in open_before.items() if key not in stored)
        self._spent_bytes = sum(trial.spent_bytes for trial in spent) + self._interrupted_bytes
        self._running: dict[str, int] = {}
        self._cut: set[str] = set()

    def reserve(self, key: str, most_bytes: int, free: int, largest_bytes: float) -> int:
        """Reserve bytes for a trial that starts now, and return how many bytes it may send.

        Args:
            key: The trial's key.
            most_bytes: The largest number of bytes that any trial may send.
            free: Number of targets on which no trial is running, including that of this trial. They share the
                remaining bytes, if these are enough for a trial on each target.
            largest_bytes: The most bytes that a recent trial has sent; 0 before the first trial has ended.
        """
        left = self.left_bytes()
        if left is not None:
            unreserved = max(0.0, left - sum(self._running.values()))
            sharing = min(free, int(unreserved / largest_bytes)) if largest_bytes else free
            most_bytes = min(most_bytes, int(unreserved / max(1, sharing)))
            expected = _SHARE_OF_LEFT * left
            if largest_bytes:
                expected = max(_LEAST_MARGIN * largest_bytes, min(_USUAL_MARGIN * largest_bytes, expected))
            probable = max(_ALWAYS_BYTES, int(expected))
            if probable < most_bytes:
                most_bytes = probable
                self._cut.add(key)
        self._running[key] = most_bytes
        return most_bytes

    def was_cut(self, key: str) -> bool:
        """Return whether fewer bytes were reserved for a trial than the study's limits would have allowed."""
        return key in self._cut

    def interrupt(self, key: str, sent_bytes: int) -> None:
        """Count the bytes that a trial had sent when it was interrupted, in place of its reservation."""
        counted = min(sent_bytes, self._running.pop(key, 0))
        self._interrupted_bytes += counted
        self._spent_bytes += counted

    def reserved(self) -> dict[str, Any]:
        """Return the bytes reserved for running trials and the bytes counted for interrupted trials, as JSON values."""
        return {"running": dict(self._running), "interrupted": self._interrupted_bytes}

    def spend(self, trial: Trial) -> None:
        """Count the bytes that a trial of this run has sent, in place of the bytes that were reserved for the trial."""
        self._running.pop(trial.key, None)
        self._spent_bytes += trial.spent_bytes

    def left_s(self) -> float | None:
        """Return the seconds that the study has left; None if its time is not limited."""
        left_s = [] if self._ends_s is None else [self._ends_s - time.monotonic()]
        if self._deadline is not None:
            left_s.append(-self.late_s())
        return max(0.0, min(left_s)) if left_s else None

    def now_s(self) -> float:
        """Return the current time by the wall clock, as seconds since 1970."""
        return self.clock.now().timestamp()

    def late_s(self) -> float:
        """Return the seconds since the moment of `search.until`; negative before that moment, or if there is none."""
        # The difference is taken in UTC, so that a night in which the clocks are put back is an hour longer.
        return -inf if self._deadline is None else self.now_s() - self._deadline.timestamp()

    def check_deadline(self, allowed_s: float = 0.0) -> None:
        """Check by the wall clock that a trial may still start.

        Args:
            allowed_s: For how many seconds after the moment of `search.until` a trial may still start.

        Raises:
            DeadlinePassed: The moment of `search.until` has passed.
        """
        if self._deadline is None or self.late_s() < allowed_s:
            return
        now = self.clock.now()
        next_time = next_occurrence(f"{self._deadline:%H:%M}", now)
        raise DeadlinePassed(
            f"no trial may start after {self._deadline:%Y-%m-%d %H:%M} (search.until), but now it is "
            f"{now:%Y-%m-%d %H:%M}; to continue, give another time, such as --until '{next_time:%Y-%m-%d %H:%M}'"
        )

    def kept_for_others(self, sizes_left: int) -> KeptForOthers:
        """Return what must be left for the record sizes after the current one.

        All record sizes that are not finished get equal shares.

        Args:
            sizes_left: How many record sizes are not finished, including the current one.
        """
        share = 1 - 1 / sizes_left
        return KeptForOthers(share * (self.left_s() or 0.0), share * (self.left_bytes() or 0.0))

    def left_bytes(self) -> float | None:
        """Return the bytes that the study may still send; None if its bytes are not limited.

        Bytes that are reserved for running trials are still left.
        """
        return None if self._max_bytes is None else self._max_bytes - self._spent_bytes


def spent_s(trials: Sequence[Trial]) -> float:
    """Return the seconds during which trials were running; trials that ran at the same time count once."""
    total, busy_until = 0.0, -inf
    known = [(datetime.datetime.fromisoformat(t.started_at).timestamp(), t.duration_s) for t in trials if t.started_at]
    for began, duration in sorted(known):
        total += max(0.0, began + duration - max(began, busy_until))
        busy_until = max(busy_until, began + duration)
    return total + sum(trial.duration_s for trial in trials if not trial.started_at)


def next_occurrence(until: str, now: datetime.datetime) -> datetime.datetime:
    """Return when the clock next shows a time of day: today, or tomorrow if that time has passed.

    Args:
        until: The time of day as `HH:MM`. With a date, such as `2026-11-25 07:00`, the result is this moment, even if
            it has passed.
        now: The current local time.
    """
    if " " in until:
        return datetime.datetime.fromisoformat(until)
    hour, minute = (int(part) for part in until.split(":"))
    today = now.replace(hour=hour, minute=minute, second=0, microsecond=0)
    return today if today > now else today + datetime.timedelta(days=1)


def deadline_of(spec: StudySpec, store: ResultsStore, now: datetime.datetime) -> datetime.datetime | None:
    """Return the moment of `search.until`; None if there is none.

    The moment is chosen and stored when the study begins. So a study that is to end at 7:00, and that is continued at
    8:00, does not run until the next morning. A new moment is chosen if `until` has changed, or if a finished search is
    continued.
    """
    until, facts = spec.search.until, store.facts()
    if until is None:
        return None
    kept = facts.get(DEADLINE, {})
    if kept.get("until") != until or facts.get(FINISHED_AT):
        kept = {"until": until, "ends_at": next_occurrence(until, now).astimezone().isoformat()}
        store.set_fact(DEADLINE, kept)
    return datetime.datetime.fromisoformat(kept["ends_at"]).astimezone()


def refuse_passed_deadline(spec: StudySpec, is_new: Callable[[], bool], clock: WallClock) -> None:
    """Refuse a new study whose deadline has passed, before anything of it is stored.

    Args:
        spec: The specification of the study.
        is_new: Returns whether nothing is stored about the study yet.
        clock: Shows the time of day.

    Raises:
        DeadlinePassed: The study is new, and the moment of `search.until` has passed.
    """
    until = spec.search.until
    if until is not None and (moment := next_occurrence(until, clock.now())) <= clock.now() and is_new():
        Budget(spec.search, (), deadline=moment, clock=clock).check_deadline()
