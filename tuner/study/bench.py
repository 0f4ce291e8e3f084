"""Where trials are measured: targets, each with one trial at a time, and the pool of workers that they share.

A trial has up to two phases on one topic. The paced one comes first: it writes little, so that the saturating one finds
the broker as the paced one did.
"""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from typing import Final, Protocol

from runners.clusters.cluster import Progress
from runners.errors import BrokerLost, RunnerError, TargetError, TargetUnreachable
from runners.librdkafka.bench import Limits
from runners.measurement import Measurement, Phase, Window
from runners.pool import Done, Job, Pool
from runners.runner import Answer, Runner, Watch
from runners.workload import Workload
from search_spaces.errors import ConfigError
from search_spaces.producer_config import ProducerConfig
from tuner.session import Session

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
        on_window: Told each window with its phase's name.
        tag: Given back with the outcome.
    """

    config: ProducerConfig
    phases: tuple[tuple[str, Workload], ...]
    limits: Limits
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


class Place(Protocol):
    """A target as a bench sees it."""

    def lease(self, workload: Workload, limits: Limits) -> AbstractContextManager[tuple[Runner, ...]]:
        """Runners, one per producer, on a topic that is theirs until the context is left."""

    def mend(self) -> None:
        """Make the target usable again after a broker was lost.

        Raises:
            TargetError: It did not come back in time.
        """


@dataclass(slots=True)
class _UnderWay:
    job: TrialJob
    lease: ExitStack
    runners: tuple[Runner, ...]
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
        for trial in self._under_way.values():
            trial.lease.close()
        self._under_way.clear()

    def _begin(self, place: int, job: TrialJob, attempts: int) -> None:
        stack = ExitStack()
        try:
            runners = stack.enter_context(self._places[place].lease(job.phases[0][1], job.limits))
        except (BrokerLost, TargetUnreachable):
            if attempts > 1:
                raise
            self._places[place].mend()
            self._begin(place, job, attempts + 1)
            return
        self._under_way[place] = _UnderWay(job, stack, runners, attempts=attempts)
        self._run_phase(place)

    def _run_phase(self, place: int) -> None:
        trial = self._under_way[place]
        phase = trial.next_phase()
        assert phase is not None
        name, workload = phase
        watch = _watch(trial.job, name, workload)
        self._pool.submit(Job(str(place), trial.runners, trial.job.config, workload), watch)

    def _advance(self, place: int, done: Done) -> TrialDone | None:
        trial = self._under_way[place]
        phase = trial.next_phase()
        assert phase is not None
        trial.attempts = max(trial.attempts, done.attempts)
        match done.outcome:
            case Measurement() as seen:
                trial.done[phase[0]] = seen
                if not _hopeless(phase[0], seen) and trial.next_phase() is not None:
                    self._run_phase(place)
                    return None
                error = None
            case BrokerLost() | TargetUnreachable() if trial.attempts < 2:
                self._leave(place)
                self._places[place].mend()
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


class ClusterPlace:
    """A Kafka cluster, reopened when its broker was lost.

    Args:
        open_session: Starts or contacts the cluster.
        producers: Of one trial.
        broker_wait_s: How long a lost broker is waited for.
        tell: Told what is being done.
        sleep: Waits so many seconds; given so that tests need not.
    """

    def __init__(
        self,
        open_session: Callable[[], AbstractContextManager[Session]],
        producers: int,
        broker_wait_s: float,
        tell: Progress,
        sleep: Callable[[float], None],
    ) -> None:
        self._open, self._producers, self._wait_s = open_session, producers, broker_wait_s
        self._tell, self._sleep = tell, sleep
        self._stack = ExitStack()
        self.session = self._stack.enter_context(open_session())

    @contextmanager
    def lease(self, workload: Workload, limits: Limits) -> Iterator[tuple[Runner, ...]]:
        """See `Place.lease`."""
        with self.session.lease()(workload) as topic:
            # Several producers share the topic: none of them can count what is stored by its own end offsets.
            ours = topic if self._producers == 1 else replace(topic, owned=False)
            share_of = replace(limits, max_bytes=limits.max_bytes and limits.max_bytes // self._producers)
            yield tuple(self.session.on_topic(ours, limits=share_of) for _ in range(self._producers))

    def mend(self) -> None:
        """See `Place.mend`."""
        self._tell("the broker was lost; waiting for it to come back")
        self._close_quietly()
        waited_s, pause_s = 0.0, 1.0
        while True:
            self._stack = ExitStack()
            try:
                self.session = self._stack.enter_context(self._open())
            except TargetError:
                if waited_s >= self._wait_s:
                    raise
            else:
                self._tell("the broker is back")
                return
            self._sleep(pause_s)
            waited_s, pause_s = waited_s + pause_s, min(2 * pause_s, 15.0)

    def close(self) -> None:
        """Delete our topics and stop what we started."""
        self._stack.close()

    def _close_quietly(self) -> None:
        try:
            self._stack.close()
        except RunnerError:
            return  # it is gone; what is left there is found by the next start


@dataclass(frozen=True, slots=True)
class SimulatedPlace:
    """No cluster: runners that compute."""

    runners: tuple[Runner, ...]

    @contextmanager
    def lease(self, workload: Workload, limits: Limits) -> Iterator[tuple[Runner, ...]]:
        """See `Place.lease`."""
        yield self.runners

    def mend(self) -> None:
        """Nothing can be lost."""
