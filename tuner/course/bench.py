"""Where trials are measured: targets, each with one trial at a time, and the pool of workers that they share.

A trial has up to two phases on one topic. The paced one comes first: it writes little, so that the saturating one finds
the broker as the paced one did. Each has a rule (`tuner.course.racing`) that may end it before its time.
"""

import datetime
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final

from objectives.outcome import OUTCOME_METRICS, metrics_of
from objectives.racing import Race, Range, Stop
from runners.errors import BrokerLost, RunnerError, TargetError, TargetUnreachable
from runners.librdkafka.librdkafka_runner import Limits
from runners.measurement import Measurement, Window
from runners.pool import Done, Job, Pool
from runners.runner import Runner, Watch, WatchDecision
from runners.workload import Workload
from search_spaces.errors import ConfigError
from tuner.course.open_target import TrialLease, TrialTarget
from tuner.course.racing import HOPELESS_RATIO, PhaseProgress, PhaseRule, Stopping, ranges_of
from tuner.model.trial import Kind, Proposal

PACED: Final = "paced"
SATURATED: Final = "saturated"


@dataclass(frozen=True, slots=True)
class StartedTrial:
    """A trial that was started.

    Attributes:
        record_bytes: Its record size or mix.
        number: Its number.
        kind: Why it is run.
        proposal: What is measured.
        started_at: UTC.
        started_s: On the driver's clock.
        round: Of the confirmation; None elsewhere.
    """

    record_bytes: str
    number: int
    kind: Kind
    proposal: Proposal
    started_at: datetime.datetime
    started_s: float
    round: int | None = None


@dataclass(frozen=True, slots=True)
class TrialJob:
    """How a trial is measured.

    Attributes:
        started: The trial.
        phases: Name and load of each phase, in order: `paced`, `saturated`.
        limits: What each phase may take.
        on_window: Told each window with its phase's name.
        metrics: What is followed window by window.
        race: What it has to beat; None lets it run to its end.
    """

    started: StartedTrial
    phases: tuple[tuple[str, Workload], ...]
    limits: Limits
    on_window: Callable[[str, Window], None]
    metrics: tuple[str, ...]
    race: Race | None

    @property
    def run_to_end(self) -> bool:
        """Whether it is measured to its end even where it can't hold the fixed rate.

        What others are compared with must have all its numbers: a busy moment is no reason to leave some out.
        """
        return self.started.kind is not Kind.SEARCH


@dataclass(slots=True)
class TrialDone:
    """What came of a trial; filled while it is measured.

    Attributes:
        job: The trial.
        attempts: Above 1 when a lost worker was replaced or a lost broker came back.
        measurements: By phase; those that gave one.
        error: Why a phase gave none; None if all asked for did, or one showed that the rest is hopeless.
        worker: Who measured.
        stops: Why phases were ended before their time, by phase.
        progress: What the windows of each phase have shown.
        replaced: Short phases that were run again at their full length.
    """

    job: TrialJob
    attempts: int = 1
    measurements: dict[str, Measurement] = field(default_factory=dict)
    error: RunnerError | ConfigError | None = None
    worker: str = ""
    stops: dict[str, Stop] = field(default_factory=dict)
    progress: dict[str, PhaseProgress] = field(default_factory=dict)
    replaced: list[Measurement] = field(default_factory=list)

    def next_phase(self) -> tuple[str, Workload] | None:
        """Name and load of the first phase that was not measured; None if all were."""
        return next(((name, load) for name, load in self.job.phases if name not in self.measurements), None)


@dataclass(slots=True)
class _UnderWay:
    done: TrialDone
    stack: ExitStack
    lease: TrialLease
    stored_before: int | None = None


class Bench:
    """Measures trials, one at a time per target."""

    def __init__(self, targets: list[TrialTarget], pool: Pool) -> None:
        self._targets, self._pool = targets, pool
        self._under_way: dict[int, _UnderWay] = {}
        self._ended: dict[int, ExitStack] = {}

    @property
    def free(self) -> int:
        """How many trials could be started now."""
        return len(self._targets) - len(self._under_way)

    def submit(self, job: TrialJob) -> None:
        """Start a trial at a free target."""
        index = next(number for number in range(len(self._targets)) if number not in self._under_way)
        self._begin(index, TrialDone(job))

    def next_done(self) -> TrialDone:
        """Wait for a trial to end.

        Raises:
            TargetError: A lost broker did not come back.
        """
        while True:
            ended = self._pool.next_done()
            assert ended is not None, "a trial is under way"
            finished = self._advance(int(ended.job.key), ended)
            if finished is not None:
                return finished

    def close(self) -> None:
        """Give the topics of trials back, those under way too."""
        for index in list(self._under_way):
            self._leave(index)
        for index in list(self._ended):
            self._give_back(index)

    def _begin(self, index: int, done: TrialDone) -> None:
        stack, job = ExitStack(), done.job
        try:
            lease = stack.enter_context(self._targets[index].lease(job.phases[0][1], job.limits, job.started.number))
        except (BrokerLost, TargetUnreachable):
            if done.attempts > 1:
                raise
            self._targets[index].mend()
            self._begin(index, TrialDone(job, attempts=2))
            return
        # Only now: deleting the last topic keeps the disk busy, which its trial's record and this topic waited for.
        self._give_back(index)
        self._under_way[index] = _UnderWay(done, stack, lease)
        self._run_phase(index)

    def _run_phase(self, index: int) -> None:
        trial = self._under_way[index]
        phase = trial.done.next_phase()
        assert phase is not None
        name, workload = phase
        rule = _rule(trial.done, name, workload)
        runners: tuple[Runner, ...] = trial.lease.runners
        if len(runners) == 1:
            runners = (Stopping(runners[0], rule),)
        config = trial.done.job.started.proposal.config
        job = Job(str(index), runners, config, workload, partial(_note_stored, trial))
        self._pool.submit(job, _watch(trial.done, name, rule))

    def _advance(self, index: int, ended: Done) -> TrialDone | None:
        trial = self._under_way[index]
        done = trial.done
        phase = done.next_phase()
        assert phase is not None
        done.attempts, done.worker = max(done.attempts, ended.attempts), ended.worker
        match ended.outcome:
            case Measurement() as seen:
                done.measurements[phase[0]] = _with_stored(seen, trial)
                if not _is_over(done, phase[0], seen) and done.next_phase() is not None:
                    self._run_phase(index)
                    return None
                if _was_too_short(done):
                    # On a topic of its own, as every paced phase: the saturating one keeps the broker busy for a while.
                    done.replaced.append(done.measurements.pop(PACED))
                    del done.stops[PACED]
                    self._leave(index)
                    self._begin(index, done)
                    return None
            case BrokerLost() | TargetUnreachable() if done.attempts < 2:
                # Mended first: while the broker is away, giving back would wait long and in vain.
                self._targets[index].mend()
                self._leave(index)
                self._begin(index, TrialDone(done.job, attempts=2))
                return None
            case other:
                done.error = other
        self._leave(index)
        return done

    def _leave(self, index: int) -> None:
        self._ended[index] = self._under_way.pop(index).stack

    def _give_back(self, index: int) -> None:
        lease = self._ended.pop(index, None)
        # Where its broker is gone, the target deletes what is left when it is closed, or the next run does.
        with suppress(TargetError):
            if lease is not None:
                lease.close()


def _note_stored(trial: _UnderWay, attempt: int) -> None:
    """What the topic holds before an attempt: records of an earlier one, whose worker was lost, are there already."""
    lease = trial.lease
    trial.stored_before = (lease.stored() if attempt == 1 else lease.settled()) if len(lease.runners) > 1 else None


def _with_stored(seen: Measurement, trial: _UnderWay) -> Measurement:
    """The measurement of several producers with what their topic holds, which none of them could count alone."""
    after = trial.lease.stored() if trial.stored_before is not None else None
    if after is None or trial.stored_before is None:
        return seen
    counts = replace(seen.counts, stored=after - trial.stored_before, sole_writer=trial.lease.owned)
    return replace(seen, counts=counts)


def _is_over(done: TrialDone, phase: str, seen: Measurement) -> bool:
    """Whether what a phase gave makes the next one needless: a config that can't hold the rate, or a race that is lost.

    A paced phase that was ended by anything but its own rule did not hold its rate either.
    """
    stop, offered = done.stops.get(phase), seen.workload.rate_records_per_s
    if done.job.run_to_end:
        return False
    behind = offered is not None and seen.records_per_s < HOPELESS_RATIO * offered
    return behind or (stop.ends_trial if stop else phase == PACED and seen.stopped_early)


def _was_too_short(done: TrialDone) -> bool:
    """Whether the paced phase was cut short, as its trial was not expected on the front, on which it now stands."""
    race = done.job.race
    if race is None or done.replaced or PACED not in done.stops or SATURATED in done.stops:
        return False
    return race.may_lead(metrics_of(done.measurements.get(SATURATED), done.measurements.get(PACED)))


def _rule(done: TrialDone, phase: str, workload: Workload) -> PhaseRule:
    job, before = done.job, dict[str, Range]()
    metrics = tuple(name for name in job.metrics if OUTCOME_METRICS[name].paced is (phase == PACED))
    if done.replaced or job.race is None:
        return PhaseRule(workload, metrics, run_to_end=job.run_to_end)
    for name, seen in done.measurements.items():
        cut_short = done.progress[name] if name in done.stops else None
        before |= ranges_of(job.race, seen, cut_short, paced=name == PACED)
    last = phase == job.phases[-1][0]
    return PhaseRule(workload, metrics, job.race, before, last=last, run_to_end=job.run_to_end)


def _watch(done: TrialDone, phase: str, rule: PhaseRule) -> Watch:
    """Passes windows on, and asks the phase's rule about them."""

    def watch(window: Window) -> WatchDecision:
        if window.number == 0:  # also where the job is repeated
            done.progress[phase] = PhaseProgress(rule.metrics)
            done.stops.pop(phase, None)
        done.job.on_window(phase, window)
        done.progress[phase].add(window)
        stop = rule.judge(done.progress[phase])
        if stop is None:
            return WatchDecision.GO_ON
        done.stops[phase] = stop
        return WatchDecision.STOP

    return watch
