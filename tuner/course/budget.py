"""The budget of a study: the study ends after a number of hours, at a time of day, or after a number of bytes."""

import datetime
import time
from collections.abc import Sequence
from math import inf

from tuner.model.spec import SearchSpec
from tuner.model.trial import Trial


class Budget:
    """The time and the bytes that a study has left, counted over all its runs.

    Args:
        search: The limits that the study file sets.
        spent: The trials of earlier runs.
        now: The current local time.
    """

    def __init__(self, search: SearchSpec, spent: Sequence[Trial], now: datetime.datetime) -> None:
        ends_s = []
        if search.hours is not None:
            ends_s.append(search.hours * 3600 - spent_s(spent))
        if search.until is not None:
            # The difference is taken in UTC, so that a night in which the clocks are put back is an hour longer.
            ends_s.append(next_occurrence(search.until, now).timestamp() - now.timestamp())
        self._deadline_s = time.monotonic() + min(ends_s) if ends_s else None
        self._max_bytes = search.max_bytes
        self._spent_bytes = sum(trial.value_bytes for trial in spent)

    def spend(self, trial: Trial) -> None:
        """Subtract the bytes that a trial of this run has written."""
        self._spent_bytes += trial.value_bytes

    def left_s(self) -> float | None:
        """Return the seconds that the study has left; None if its time is not limited."""
        return None if self._deadline_s is None else max(0.0, self._deadline_s - time.monotonic())

    def left_bytes(self) -> float | None:
        """Return the bytes that the study may still write; None if its bytes are not limited."""
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
