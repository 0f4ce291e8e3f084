"""Where trials are measured: targets, each with one trial at a time, and the pool of workers that they share.

A trial has up to two phases on one topic. The paced one comes first: it writes little, so that the saturating one finds
the broker as the paced one did.
"""

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from typing import Final

from runners.errors import BrokerLost, RunnerError, TargetError, TargetUnreachable
from runners.librdkafka.bench import Limits
from runners.measurement import Measurement, Phase, Window
from runners.pool import Done, Job, Pool
from runners.runner import Answer, Watch
from runners.workload import Workload
from search_spaces.errors import ConfigError
from search_spaces.producer_config import ProducerConfig
from tuner.study.seats import Place, Seat

PACED: Final = "paced"
SATURATED: Final = "saturated"

_HOPELESS_RATIO: Final = 0.8
"""Delivering less than this of the fixed rate, a config will not hold it any more."""
_PATIENCE_S: Final = 1.0


@dataclass(frozen=True, slots=True)
class TrialJob:
    """A trial to measure.

    Attributes:
        config: What to measure.
        phases: Name and load of each phase, in order: `paced`, `saturated`.
        limits: What each phase may take.
        number: Of the trial.
        on_window: Told each window with its phase's name.
        tag: Given back with the outcome.
    """

    config: ProducerConfig
    phases: tuple[tuple[str, Workload], ...]
    limits: Limits
    number: int
    on_window: Callable[[str, Window], None]
    tag: object = None


@dataclass(frozen=True, slots=True)
class TrialDone:
    """What came of it.

    Attributes:
        job: The trial.
        measurements: By phase; those that gave one.
        error: Why a phase gave none; None if all asked for did, or one showed that the rest is hopeless.
        attempts: Above 1 when a lost worker was replaced or a lost broker came back.
        worker: Who measured.
    """

    job: TrialJob
    measurements: dict[str, Measurement]
    error: RunnerError | ConfigError | None
    attempts: int
    worker: str


@dataclass(slots=True)
class _UnderWay:
    job: TrialJob
    lease: ExitStack
    seat: Seat
    stored_before: int | None = None
    done: dict[str, Measurement] = field(default_factory=dict)
    attempts: int = 1

    def next_phase(self) -> tuple[str, Workload] | None:
        return next(((name, load) for name, load in self.job.phases if name not in self.done), None)


class Bench:
    """Measures trials, one at a time per place."""

    def __init__(self, places: list[Place], pool: Pool) -> None:
        self._places, self._pool = places, pool
        self._under_way: dict[int, _UnderWay] = {}

    @property
    def free(self) -> int:
        """How many trials could be started now."""
        return len(self._places) - len(self._under_way)

    def submit(self, job: TrialJob) -> None:
        """Start a trial at a free place."""
        place = next(number for number in range(len(self._places)) if number not in self._under_way)
        self._begin(place, job, attempts=1)

    def next_done(self) -> TrialDone:
        """Wait for a trial to end.

        Raises:
            TargetError: A lost broker did not come back.
        """
        while True:
            done = self._pool.next_done()
            assert done is not None, "a trial is under way"
            place = int(done.job.key)
            finished = self._advance(place, done)
            if finished is not None:
                return finished

    def close(self) -> None:
        """Give the topics of trials under way back."""
        for place in list(self._under_way):
            self._leave(place)

    def _begin(self, place: int, job: TrialJob, attempts: int) -> None:
        stack = ExitStack()
        try:
            seat = stack.enter_context(self._places[place].lease(job.phases[0][1], job.limits, job.number))
        except (BrokerLost, TargetUnreachable):
            if attempts > 1:
                raise
            self._places[place].mend()
            self._begin(place, job, attempts + 1)
            return
        self._under_way[place] = _UnderWay(job, stack, seat, attempts=attempts)
        self._run_phase(place)

    def _run_phase(self, place: int) -> None:
        trial = self._under_way[place]
        phase = trial.next_phase()
        assert phase is not None
        name, workload = phase
        watch = _watch(trial.job, name, workload)
        trial.stored_before = trial.seat.stored() if len(trial.seat.runners) > 1 else None
        self._pool.submit(Job(str(place), trial.seat.runners, trial.job.config, workload), watch)

    def _advance(self, place: int, done: Done) -> TrialDone | None:
        trial = self._under_way[place]
        phase = trial.next_phase()
        assert phase is not None
        trial.attempts = max(trial.attempts, done.attempts)
        match done.outcome:
            case Measurement() as seen:
                trial.done[phase[0]] = _with_stored(seen, trial)
                if not _hopeless(phase[0], seen) and trial.next_phase() is not None:
                    self._run_phase(place)
                    return None
                error = None
            case BrokerLost() | TargetUnreachable() if trial.attempts < 2:
                # Mended first: while the broker is away, giving back would wait long and in vain.
                self._places[place].mend()
                self._leave(place)
                self._begin(place, trial.job, attempts=2)
                return None
            case other:
                error = other
        self._leave(place)
        return TrialDone(trial.job, trial.done, error, trial.attempts, done.worker)

    def _leave(self, place: int) -> None:
        trial = self._under_way.pop(place)
        try:
            trial.lease.close()
        except TargetError:
            # Its broker is gone: the session deletes what is left when it ends, or the next run does.
            return


def _with_stored(seen: Measurement, trial: _UnderWay) -> Measurement:
    """The measurement of several producers with what their topic holds, which none of them could count alone."""
    after = trial.seat.stored() if trial.stored_before is not None else None
    if after is None or trial.stored_before is None:
        return seen
    counts = replace(seen.counts, stored=after - trial.stored_before, sole_writer=trial.seat.owned)
    return replace(seen, counts=counts)


def _hopeless(phase: str, seen: Measurement) -> bool:
    """Whether a paced phase fell so far behind that its config's capacity is of no interest."""
    offered = seen.workload.rate_records_per_s
    behind = offered is not None and seen.records_per_s < _HOPELESS_RATIO * offered
    return phase == PACED and (seen.stopped_early or behind)


def _watch(job: TrialJob, phase: str, workload: Workload) -> Watch:
    """Passes windows on, and stops a paced phase whose config has fallen too far behind to hold the rate."""
    records, seconds = 0, 0.0

    def watch(window: Window) -> Answer:
        nonlocal records, seconds
        job.on_window(phase, window)
        offered = workload.rate_records_per_s
        if offered is None or window.phase is not Phase.MEASURED:
            return Answer.GO_ON
        records += window.records
        seconds += window.duration_s
        hopeless = seconds >= _PATIENCE_S and records < _HOPELESS_RATIO * offered * seconds
        return Answer.STOP if hopeless else Answer.GO_ON

    return watch
