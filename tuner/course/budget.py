"""The budget of a study: the study ends after a number of hours, at a time of day, or after a number of bytes."""

import datetime
import time
from collections.abc import Mapping, Sequence
from math import inf
from types import MappingProxyType
from typing import Any

from tuner.model.spec import SearchSpec
from tuner.model.trial import Trial


class Budget:
    """The time and the bytes that a study has left, counted over all its runs.

    Bytes are reserved before a trial and counted after it. A trial that was interrupted counts with all the bytes that
    were reserved for it, because nobody knows how many it sent.

    Args:
        search: The limits that the study file sets.
        spent: The trials of earlier runs.
        now: The current local time.
        reserved: What `reserved` returned when it was stored last; empty if it was never stored.
    """

    def __init__(
        self,
        search: SearchSpec,
        spent: Sequence[Trial],
        now: datetime.datetime,
        reserved: Mapping[str, Any] = MappingProxyType({}),
    ) -> None:
        ends_s = []
        if search.hours is not None:
            ends_s.append(search.hours * 3600 - spent_s(spent))
        if search.until is not None:
            # The difference is taken in UTC, so that a night in which the clocks are put back is an hour longer.
            ends_s.append(next_occurrence(search.until, now).timestamp() - now.timestamp())
        self._deadline_s = time.monotonic() + min(ends_s) if ends_s else None
        self._max_bytes = search.max_bytes
        stored, open_before = {trial.key for trial in spent}, reserved.get("running", {})
        self._interrupted_bytes: int = reserved.get("interrupted", 0)
        self._interrupted_bytes += sum(most for key, most in open_before.items() if key not in stored)
        self._spent_bytes = sum(trial.spent_bytes for trial in spent) + self._interrupted_bytes
        self._running: dict[str, int] = {}

    def reserve(self, key: str, most_bytes: int, free: int, largest_bytes: float) -> int:
        """Reserve bytes for a trial that starts now, and return how many bytes it may send.

        Args:
            key: The trial's key.
            most_bytes: The most bytes that any trial may send.
            free: Number of targets on which no trial is running, with the target of this trial. They share what is
                left, if it is enough for a trial on each of them.
            largest_bytes: Number of bytes that a trial sends, by experience; 0 if there is none.
        """
        left = self.left_bytes()
        if left is not None:
            unreserved = max(0.0, left - sum(self._running.values()))
            sharing = min(free, int(unreserved / largest_bytes)) if largest_bytes else free
            most_bytes = min(most_bytes, int(unreserved / max(1, sharing)))
        self._running[key] = most_bytes
        return most_bytes

    def reserved(self) -> dict[str, Any]:
        """Return the bytes that are reserved for running trials, and those of interrupted trials, as a JSON object."""
        return {"running": dict(self._running), "interrupted": self._interrupted_bytes}

    def spend(self, trial: Trial) -> None:
        """Count the bytes that a trial of this run has sent, in place of those that were reserved for it."""
        self._running.pop(trial.key, None)
        self._spent_bytes += trial.spent_bytes

    def left_s(self) -> float | None:
        """Return the seconds that the study has left; None if its time is not limited."""
        return None if self._deadline_s is None else max(0.0, self._deadline_s - time.monotonic())

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


def next_occurrence(time_of_day: str, now: datetime.datetime) -> datetime.datetime:
    """Return when the clock next shows a time of day: today, or tomorrow if that time has passed.

    Args:
        time_of_day: The time of day as `HH:MM`.
        now: The current local time.
    """
    hour, minute = (int(part) for part in time_of_day.split(":"))
    today = now.replace(hour=hour, minute=minute, second=0, microsecond=0)
    return today if today > now else today + datetime.timedelta(days=1)
