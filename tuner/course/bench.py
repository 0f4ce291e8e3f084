"""Where trials are measured: targets, each with one trial at a time, and the pool of workers that they share.

A trial has up to two phases on one topic. The paced one comes first: it writes little, so that the saturating one finds
the broker as the paced one did. Each has a rule (`tuner.course.racing`) that may end it before its time.
"""

from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final

from objectives.forecast import Range
from objectives.outcome import OUTCOME_METRICS, metrics_of
from objectives.racing import Race, Stop
from runners.errors import BrokerLost, RunnerError, TargetError, TargetUnreachable
from runners.librdkafka.librdkafka_runner import Limits
from runners.measurement import Measurement, Window
from runners.pool import Done, Job, Pool
from runners.runner import Runner, Watch, WatchDecision
from runners.workload import Workload
from search_spaces.errors import ConfigError
from search_spaces.producer_config import ProducerConfig
from tuner.course.racing import HOPELESS_RATIO, Course, PhaseRule, Stopping, ranges_of
from tuner.course.targets import Place, Seat

PACED: Final = "paced"
SATURATED: Final = "saturated"


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
        metrics: What is followed window by window.
        race: What it has to beat; None lets it run to its end.
        whole: Whether it is measured to its end even where it can't hold the fixed rate.
    """

    config: ProducerConfig
    phases: tuple[tuple[str, Workload], ...]
    limits: Limits
    number: int
    on_window: Callable[[str, Window], None]
    tag: object = None
    metrics: tuple[str, ...] = ()
    race: Race | None = None
    whole: bool = False


@dataclass(frozen=True, slots=True)
class TrialDone:
    """What came of it.

    Attributes:
        job: The trial.
        measurements: By phase; those that gave one.
        error: Why a phase gave none; None if all asked for did, or one showed that the rest is hopeless.
        attempts: Above 1 when a lost worker was replaced or a lost broker came back.
        worker: Who measured.
        stops: Why phases were ended before their time, by phase.
        courses: What the windows of each phase have shown.
        replaced: Short phases that were run again at their full length.
    """

    job: TrialJob
    measurements: dict[str, Measurement]
    error: RunnerError | ConfigError | None
    attempts: int
    worker: str
    stops: dict[str, Stop] = field(default_factory=dict)
    courses: dict[str, Course] = field(default_factory=dict)
    replaced: tuple[Measurement, ...] = ()


@dataclass(slots=True)
class _UnderWay:
    job: TrialJob
    lease: ExitStack
    seat: Seat
    stored_before: int | None = None
    done: dict[str, Measurement] = field(default_factory=dict)
    attempts: int = 1
    rules: dict[str, PhaseRule] = field(default_factory=dict)
    stops: dict[str, Stop] = field(default_factory=dict)
    courses: dict[str, Course] = field(default_factory=dict)
    replaced: list[Measurement] = field(default_factory=list)

    def next_phase(self) -> tuple[str, Workload] | None:
        return next(((name, load) for name, load in self.job.phases if name not in self.done), None)


class Bench:
    """Measures trials, one at a time per place."""

    def __init__(self, places: list[Place], pool: Pool) -> None:
        self._places, self._pool = places, pool
        self._under_way: dict[int, _UnderWay] = {}
        self._ended: dict[int, ExitStack] = {}

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
        """Give the topics of trials back, those under way too."""
        for place in list(self._under_way):
            self._leave(place)
        for place in list(self._ended):
            self._give_back(place)

    def _begin(self, place: int, job: TrialJob, attempts: int, so_far: _UnderWay | None = None) -> None:
        stack = ExitStack()
        try:
            seat = stack.enter_context(self._places[place].lease(job.phases[0][1], job.limits, job.number))
        except (BrokerLost, TargetUnreachable):
            if attempts > 1:
                raise
            self._places[place].mend()
            self._begin(place, job, attempts + 1)
            return
        # Only now: deleting the last topic keeps the disk busy, which its trial's record and this topic waited for.
        self._give_back(place)
        if so_far is None:
            self._under_way[place] = _UnderWay(job, stack, seat, attempts=attempts)
        else:
            self._under_way[place] = replace(so_far, lease=stack, seat=seat)
        self._run_phase(place)

    def _run_phase(self, place: int) -> None:
        trial = self._under_way[place]
        phase = trial.next_phase()
        assert phase is not None
        name, workload = phase
        rule = trial.rules[name] = _rule(trial, name, workload)
        runners: tuple[Runner, ...] = trial.seat.runners
        if len(runners) == 1:
            runners = (Stopping(runners[0], rule),)
        job = Job(str(place), runners, trial.job.config, workload, partial(_note_stored, trial))
        self._pool.submit(job, _watch(trial, name, rule))

    def _advance(self, place: int, done: Done) -> TrialDone | None:
        trial = self._under_way[place]
        phase = trial.next_phase()
        assert phase is not None
        trial.attempts = max(trial.attempts, done.attempts)
        match done.outcome:
            case Measurement() as seen:
                trial.done[phase[0]] = _with_stored(seen, trial)
                if not _is_over(trial, phase[0], seen) and trial.next_phase() is not None:
                    self._run_phase(place)
                    return None
                if _was_too_short(trial):
                    # On a topic of its own, as every paced phase: the saturating one keeps the broker busy for a while.
                    trial.replaced.append(trial.done.pop(PACED))
                    del trial.stops[PACED]
                    self._leave(place)
                    self._begin(place, trial.job, trial.attempts, trial)
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
        return TrialDone(
            trial.job,
            trial.done,
            error,
            trial.attempts,
            done.worker,
            trial.stops,
            trial.courses,
            tuple(trial.replaced),
        )

    def _leave(self, place: int) -> None:
        self._ended[place] = self._under_way.pop(place).lease

    def _give_back(self, place: int) -> None:
        lease = self._ended.pop(place, None)
        # Where its broker is gone, the session deletes what is left when it ends, or the next run does.
        with suppress(TargetError):
            if lease is not None:
                lease.close()


def _note_stored(trial: _UnderWay, attempt: int) -> None:
    """What the topic holds before an attempt: records of an earlier one, whose worker was lost, are there already."""
    seat = trial.seat
    trial.stored_before = (seat.stored() if attempt == 1 else seat.settled()) if len(seat.runners) > 1 else None


def _with_stored(seen: Measurement, trial: _UnderWay) -> Measurement:
    """The measurement of several producers with what their topic holds, which none of them could count alone."""
    after = trial.seat.stored() if trial.stored_before is not None else None
    if after is None or trial.stored_before is None:
        return seen
    counts = replace(seen.counts, stored=after - trial.stored_before, sole_writer=trial.seat.owned)
    return replace(seen, counts=counts)


def _is_over(trial: _UnderWay, phase: str, seen: Measurement) -> bool:
    """Whether what a phase gave makes the next one needless: a config that can't hold the rate, or a race that is lost.

    A paced phase that was ended by anything but its own rule did not hold its rate either.
    """
    stop, offered = trial.stops.get(phase), seen.workload.rate_records_per_s
    if trial.job.whole:
        return False
    behind = offered is not None and seen.records_per_s < HOPELESS_RATIO * offered
    return behind or (stop.ends_trial if stop else phase == PACED and seen.stopped_early)


def _was_too_short(trial: _UnderWay) -> bool:
    """Whether the paced phase was cut short, as its trial was not expected on the front, on which it now stands."""
    race = trial.job.race
    if race is None or trial.replaced or PACED not in trial.stops or SATURATED in trial.stops:
        return False
    return race.may_lead(metrics_of(trial.done.get(SATURATED), trial.done.get(PACED)))


def _rule(trial: _UnderWay, phase: str, workload: Workload) -> PhaseRule:
    job, before = trial.job, dict[str, Range]()
    if trial.replaced:
        return PhaseRule(workload, _metrics(job, phase), whole=job.whole)
    for name, seen in trial.done.items():
        cut_short = trial.courses[name] if name in trial.stops else None
        before |= ranges_of(trial.rules[name], seen, cut_short, paced=name == PACED)
    last = phase == job.phases[-1][0]
    return PhaseRule(workload, _metrics(job, phase), job.race, before, last=last, whole=job.whole)


def _metrics(job: TrialJob, phase: str) -> tuple[str, ...]:
    return tuple(name for name in job.metrics if OUTCOME_METRICS[name].paced is (phase == PACED))


def _watch(trial: _UnderWay, phase: str, rule: PhaseRule) -> Watch:
    """Passes windows on, and asks the phase's rule about them."""

    def watch(window: Window) -> WatchDecision:
        if window.number == 0:  # also where the job is repeated
            trial.courses[phase] = rule.course()
            trial.stops.pop(phase, None)
        trial.job.on_window(phase, window)
        trial.courses[phase].add(window)
        stop = rule.judge(trial.courses[phase])
        if stop is None:
            return WatchDecision.GO_ON
        trial.stops[phase] = stop
        return WatchDecision.STOP

    return watch
