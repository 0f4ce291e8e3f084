"""What must hold after every failure: trials are stored once, pauses don't count, budgets are kept, nothing is left."""

import contextlib
import fcntl
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Final

import psutil

from tuner.model.trial import PACED, SATURATED, State, Trial, TrialKind

RUN_VARIABLE: Final = "KAFKA_TUNER_CAMPAIGN_RUN"
"""An environment variable by which a campaign recognises the processes that its drivers have started."""
STANDSTILL_S: Final = 3.0
"""A measurement in which nothing is delivered for so long spans a pause. No config makes a broker that silent."""
_WINDOW_S: Final = 1.0
_OVERHEAD_RATIO: Final = 1.1
"""Bytes on the wire for each byte of a value, if records have 1,000 bytes and are not compressed."""


class Invariants:
    """Compares what is there after each failure with what must be there, and keeps a sentence for each violation.

    Attributes:
        broken: The violations.
        checks: How often trials were checked.
    """

    def __init__(self) -> None:
        self.broken: list[str] = []
        self.checks = 0
        self._known: dict[str, dict[str, Any]] = {}
        self._looked_at: set[str] = set()

    @property
    def trials(self) -> int:
        """How many finished trials were checked."""
        return sum(map(len, self._known.values()))

    def say(self, after: str, sentence: str) -> None:
        """Note a violation once.

        Args:
            after: The failure after which it was seen.
            sentence: What is wrong.
        """
        if (told := f"after {after}: {sentence}") not in self.broken:
            self.broken.append(told)

    def nothing_lost_or_doubled(
        self, study: str, stored: Iterable[Trial], told: Iterable[Mapping[str, Any]], after: str
    ) -> None:
        """Check that each trial that was stored or told to the user before is stored once, and as it was.

        Args:
            study: The study's name.
            stored: Its trials.
            told: The trials that its drivers have reported, as JSON.
            after: The last failure.
        """
        self.checks += 1
        trials, known = list(stored), self._known.setdefault(study, {})
        keys = Counter(trial.key for trial in trials)
        measured = Counter(
            (trial.record_bytes, trial.proposal)
            for trial in trials
            if trial.kind is TrialKind.SEARCH and trial.proposal is not None
        )
        for twice, times in (*keys.items(), *measured.items()):
            if times > 1:
                self.say(after, f"trial {twice} of {study} is stored {times} times")
        there = {trial.key: trial.as_json() for trial in trials}
        expected = known | {f"{each['record_bytes']}/{each['number']:04d}": dict(each) for each in told}
        for key, trial in expected.items():
            if key not in there:
                self.say(after, f"trial {key} of {study} is lost")
            elif there[key] != trial:
                self.say(after, f"trial {key} of {study} has changed")
        known.update(expected | there)

    def no_pause_believed(
        self, study: str, stored: Iterable[Trial], attachment: Callable[[Trial, str], Any], after: str
    ) -> None:
        """Check that a measurement in which nothing was delivered for seconds does not count.

        Args:
            study: The study's name.
            stored: Its trials.
            attachment: Returns the measurement of a trial's phase.
            after: The last failure.
        """
        for trial in stored:
            name = f"{study} {trial.key}"
            if name in self._looked_at or trial.state is not State.COMPLETE or trial.flagged:
                continue
            self._looked_at.add(name)
            for phase in (PACED, SATURATED):
                still_s = standstill_s((attachment(trial, phase) or {}).get("series", ()))
                if still_s > STANDSTILL_S:
                    self.say(
                        after,
                        f"trial {trial.key} of {study} is believed, although its load stood still {still_s:.1f} s",
                    )

    def budget_kept(self, study: str, sent_bytes: float, max_bytes: float, after: str) -> None:
        """Check that a study has not sent more bytes than it may, as counted on the wire."""
        if sent_bytes > _OVERHEAD_RATIO * max_bytes:
            self.say(after, f"{study} sent {sent_bytes / 1e6:.0f} MB, and may send {max_bytes / 1e6:.0f} MB")

    def nothing_left(self, study: str, left: Iterable[str], after: str) -> None:
        """Check that nothing is left of a study that has ended."""
        for each in left:
            self.say(after, f"{study} left {each}")


def standstill_s(series: Iterable[Mapping[str, Any]]) -> float:
    """Return the longest time, in seconds, in which a measurement shows no delivery.

    Args:
        series: The windows of the measurement. If the process that cuts them stands still, one of them is longer than a
            second.
    """
    longest = still = before = 0.0
    for point in series:
        length, before = point["at_s"] - before, point["at_s"]
        still = still + length if not point["records_per_s"] else 0.0
        longest = max(longest, still, length - _WINDOW_S)
    return longest


def processes_of(run: str) -> list[psutil.Process]:
    """Return the processes of a campaign's drivers, with their children, without those that have ended."""
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            if process.environ().get(RUN_VARIABLE) == run and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
    return found


def left_by(run: str, temporary: Path, home: Path) -> list[str]:
    """Return what the drivers of a campaign have left on this host.

    Args:
        run: The value of `RUN_VARIABLE` in their environment.
        temporary: Their folder for temporary files.
        home: The folder that holds their state, with locks and records of what must be removed.
    """
    left = []
    for process in processes_of(run):
        with contextlib.suppress(psutil.Error):
            left.append(f"process {process.pid}: {' '.join(process.cmdline())[:100]}")
    left += [f"the temporary file {path.name}" for path in temporary.iterdir()]
    left += [f"the record {path.parent.name}/{path.name}" for path in (home / "state" / "live").rglob("*.json")]
    return left + [f"the lock {path.name}" for path in home.rglob("*.lock") if _is_held(path)]


def _is_held(path: Path) -> bool:
    with path.open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False
