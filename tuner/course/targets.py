"""Targets as a bench sees them: each gives a lease to one trial at a time."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from typing import Final, Protocol

from runners.clusters.topics import Topic
from runners.errors import RunnerError, TargetError
from runners.librdkafka.librdkafka_runner import Limits
from runners.measurement import Measurement
from runners.reporting import Say
from runners.runner import Runner, Watch, go_on
from runners.workload import Workload
from runners.wrappers import Isolated
from search_spaces.producer_config import ProducerConfig
from tuner.course.open_target import OpenTarget

_SETTLING_S: Final = 1.5
"""A load whose worker is gone ends when it has a window to show, within a second."""
_SETTLING_LOOKS: Final = 20


@dataclass(frozen=True, slots=True)
class TrialLease:
    """What a trial has while it is measured.

    Attributes:
        runners: One per producer, on one topic.
        stored: Records in that topic; None where that can't be known.
        owned: Whether nobody else writes to it.
        settled: As `stored`, once nobody writes any more: a worker that was lost may have left a load behind.
    """

    runners: tuple[Runner, ...]
    stored: Callable[[], int | None]
    owned: bool
    settled: Callable[[], int | None] = lambda: None


class TrialTarget(Protocol):
    """A target as a bench sees it."""

    def lease(self, workload: Workload, limits: Limits, trial: int) -> AbstractContextManager[TrialLease]:
        """Runners on a topic that is theirs until the context is left.

        Args:
            workload: Of the first phase.
            limits: What each phase may take.
            trial: Its number.
        """

    def mend(self) -> None:
        """Make the target usable again after a broker was lost.

        Raises:
            TargetError: It did not come back in time.
        """


class ClusterTarget:
    """A Kafka cluster, reopened when its broker was lost.

    Args:
        open_target: Starts or contacts the cluster.
        producers: Of one trial.
        broker_wait_s: How long a lost broker is waited for.
        tell: Told what is being done.
        sleep: Waits so many seconds; given so that tests need not.
        overlapping: Whether a topic may still be being deleted while the next trial warms up.
    """

    def __init__(
        self,
        open_target: Callable[[], AbstractContextManager[OpenTarget]],
        producers: int,
        broker_wait_s: float,
        tell: Say,
        sleep: Callable[[float], None],
        overlapping: bool = False,
    ) -> None:
        self._open, self._producers, self._wait_s = open_target, producers, broker_wait_s
        self._tell, self._sleep, self._overlapping = tell, sleep, overlapping
        self._stack = ExitStack()
        self.opened = self._stack.enter_context(open_target())

    @contextmanager
    def lease(self, workload: Workload, limits: Limits, trial: int) -> Iterator[TrialLease]:
        """See `TrialTarget.lease`."""
        with self.opened.lease(overlapping=self._overlapping)(workload) as topic:
            # Several producers share the topic: none of them can count what is stored by its own end offsets.
            ours = topic if self._producers == 1 else replace(topic, owned=False)
            share_of = replace(limits, max_bytes=limits.max_bytes and limits.max_bytes // self._producers)
            runners = tuple(
                Isolated(self.opened.on_topic(ours, limits=share_of), kept=True) for _ in range(self._producers)
            )
            yield TrialLease(runners, lambda: self._stored(topic), topic.owned, lambda: self._settled(topic))

    def mend(self) -> None:
        """See `TrialTarget.mend`."""
        self._tell("the broker was lost; waiting for it to come back")
        waited_s, pause_s = 0.0, 1.0
        while True:
            stack = ExitStack()
            try:
                opened = stack.enter_context(self._open())
            except TargetError:
                if waited_s >= self._wait_s:
                    raise
            else:
                self._tell("the broker is back")
                lost, self._stack, self.opened = self._stack, stack, opened
                # Only now is there somebody who can delete our topics.
                with suppress(RunnerError):  # what is left there is found by the next start
                    lost.close()
                return
            self._sleep(pause_s)
            waited_s, pause_s = waited_s + pause_s, min(2 * pause_s, 15.0)

    def _stored(self, topic: Topic) -> int | None:
        try:
            return sum(self.opened.topics.end_offsets(topic))
        except RunnerError:
            return None  # we may not read there

    def _settled(self, topic: Topic) -> int | None:
        before, stored = None, self._stored(topic)
        for _ in range(_SETTLING_LOOKS):
            if stored == before or not topic.owned:
                break
            self._sleep(_SETTLING_S)
            before, stored = stored, self._stored(topic)
        return stored

    def close(self) -> None:
        """Delete our topics and stop what we started."""
        self._stack.close()


@dataclass(frozen=True, slots=True)
class SimulatedTarget:
    """No cluster: runners that compute."""

    runners: tuple[Runner, ...]

    @contextmanager
    def lease(self, workload: Workload, limits: Limits, trial: int) -> Iterator[TrialLease]:
        """See `TrialTarget.lease`."""
        yield TrialLease(tuple(_Drawn(runner, trial) for runner in self.runners), lambda: None, owned=True)

    def mend(self) -> None:
        """Nothing can be lost."""


@dataclass(frozen=True, slots=True)
class _Drawn:
    """A runner that computes, with noise of its own in each trial: the same again when a study is repeated."""

    runner: Runner
    trial: int

    def run(self, config: ProducerConfig, workload: Workload, watch: Watch = go_on) -> Measurement:
        return self.runner.run(config, replace(workload, seed=workload.seed + self.trial), watch)
