"""Refuses a new study whose limits leave too little time or too few bytes."""

import datetime
import math
from typing import Final

from search_spaces.amounts import size_text
from tuner.execution.budgets import estimate
from tuner.execution.budgets.budget import next_occurrence
from tuner.model.errors import LimitTooLow
from tuner.model.spec import Executor, StudySpec

_RULE: Final = "a study must be able to search and confirm each of its record sizes"
_SLOW_MB_PER_S: Final = 1.0
"""A throughput that nearly every cluster reaches, so that a limit on bytes is refused only if it is surely too low."""

_TYPING_S: Final = 300.0
"""Seconds added to the earliest possible end, so that the user has time to type the command with `--until`."""


def check_limits(spec: StudySpec, now: datetime.datetime | None = None) -> None:
    """Refuse a new study that has too little time or too few bytes to search and confirm all of its record sizes.

    A simulated study is not refused, because it takes no time.

    Raises:
        LimitTooLow: A limit is too low. The message names the lowest value that is allowed.
    """
    if spec.executor is Executor.SIMULATED:
        return
    search, least_s, now = spec.search, estimate.least_s(spec), now or datetime.datetime.now()
    needs = f"{_RULE}: this one takes at least {clock_text(least_s)}"
    if search.hours is not None and search.hours * 3600 < least_s:
        allowed = f"may take only {clock_text(search.hours * 3600)} ({search.hours:g} h)"
        raise LimitTooLow("search.hours", f"{needs}, but {allowed}", f"{math.ceil(least_s / 36) / 100:g}")
    if search.until is not None:
        left_s = next_occurrence(search.until, now).timestamp() - now.timestamp()
        # `refuse_passed_deadline` of `tuner.execution.budgets.budget` refuses a moment in the past.
        if 0 < left_s < least_s:
            least = now + datetime.timedelta(seconds=least_s + _TYPING_S)
            allowed = f"should end at {search.until}, which is in {clock_text(left_s)}"
            raise LimitTooLow("search.until", f"{needs}, but {allowed}", f"'{least:%Y-%m-%d %H:%M}'")
    least_bytes = estimate.least_bytes(spec, _SLOW_MB_PER_S)
    if search.max_bytes is not None and search.max_bytes < least_bytes:
        needs = f"{_RULE}: at {_SLOW_MB_PER_S:g} MB/s, this one sends at least {least_bytes / 1e9:.3g} GB"
        allowed = f"and more on a faster cluster, but may send {size_text(search.max_bytes)}"
        raise LimitTooLow("search.max_bytes", f"{needs}, {allowed}", f"{math.ceil(least_bytes / 1e7) / 100:g}GB")


def clock_text(seconds: float) -> str:
    """Return a duration as hours, minutes and whole seconds, such as `0:46:00`, rounded up."""
    return str(datetime.timedelta(seconds=math.ceil(seconds)))
