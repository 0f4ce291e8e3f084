"""Measures trials: their topics and phases, what happens after a lost broker or worker, and the end after Ctrl-C.

The bench has one or more targets (clusters) and a pool of workers, and it runs one trial at a time on each target.

A trial has up to two phases, and both use the same topic. The paced phase (the load at a fixed rate, for latency) comes
first because it writes little: the saturating phase (as fast as the client can send, for throughput) then finds the
broker in the same condition. How the trial ends early (`early_end.py`) gives each phase a rule that may stop the phase.
"""

from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from functools import partial
from math import ceil
from typing import Final

from runners.clock import SystemClock
from runners.clusters.topics.stored_records import once_replicated
from runners.errors import BrokerLost, TargetError, TargetUnreachable
from runners.measurements.measurement import Measurement, Window
from runners.pools.pool import FinishedJob, Job, Pool
from runners.runner import Limits, Runner, Watch, WatchDecision
from runners.workload import Workload
from tuner.execution.trials.stopping import PhaseProgress, Stopping, StopRule
from tuner.execution.trials.trial_job import TrialJob, TrialOutcome
from tuner.execution.trials.trial_target import TrialTarget, TrialTopic
from tuner.model.trial import PACED

_MOST_TRIES: Final = 4
"""The most attempts to begin a trial. Before each further attempt, we wait until the cluster has all its brokers."""


@dataclass(slots=True)
class _RunningTrial:
    """A trial that is being measured.

    Attributes:
        outcome: The outcome of the trial so far.
        stack: Releases the topic when it is closed.
        topic: The topic of the trial, and the runners that measure on it.
        sent_elsewhere: Bytes that the trial had sent to earlier topics before it got this topic.
        stored_before: How many records the topic had before the running phase; None if that is unknown or not needed.
        broker_killed: Whether the trial has killed a broker.
        sending: Whether a phase is running. Its bytes are not counted yet.
    """

    outcome: TrialOutcome
    stack: ExitStack
    topic: TrialTopic
    sent_elsewhere: int
    stored_before: int | None = None
    broker_killed: bool = False
    sending: bool = False

    def runners(self, rule: StopRule) -> tuple[Runner, ...]:
        """Return the runners of the next phase or attempt; together they send at most what the trial may still send."""
        job = self.outcome.job
        runners = self.topic.runners(job.max_bytes - self.outcome.sent_bytes, job.started.proposal.config.client)
        return (Stopping(runners[0], rule),) if len(runners) == 1 else runners

    def count_sent(self, sent_bytes: int | None, workload: Workload) -> None:
        """Add the bytes that a phase has sent.

        Args:
            sent_bytes: The bytes; None if a worker was lost. Then the bytes are computed from the number of records in
                the topic. If we can't read the topic, or others write to it, the largest number of bytes that the trial
                may send is counted.
            workload: The load of the phase.
        """
        outcome, most = self.outcome, self.outcome.job.max_bytes
        if sent_bytes is not None:
            outcome.sent_bytes += sent_bytes
            return
        stored = self.topic.final_stored() if self.topic.owned else None
        each_bytes = workload.record_sizes.mean_bytes + workload.key_bytes
        on_topic = most if stored is None else self.sent_elsewhere + ceil(stored * each_bytes)
        outcome.sent_bytes = min(most, max(outcome.sent_bytes, on_topic))


class Bench:
    """Measures trials, one at a time on each target.

    If another process may have taken over the study, all trials are stopped. They begin again once it is certain that
    this process still runs the study.

    Attributes:
        targets: The clusters.
        on_interrupted: Called by `close` with the trials that did not end, if there are any. Their sent bytes are
            counted already. None to call nothing.
        on_recovered: Called after a lost broker has come back, perhaps as another cluster. None to call nothing.

    Args:
        targets: See above.
        pool: The workers.
        lost_leases: Returns `ResultsStore.lost_leases`.
        await_lease: Waits as `ResultsStore.await_lease` does.
    """

    def __init__(
        self,
        targets: list[TrialTarget],
        pool: Pool,
        lost_leases: Callable[[], int | None] = lambda: 0,
        await_lease: Callable[[], None] = lambda: None,
    ) -> None:
        self.targets, self._pool, self._lost_leases, self._await_lease = targets, pool, lost_leases, await_lease
        self.on_interrupted: Callable[[Sequence[TrialOutcome]], None] | None = None
        self.on_recovered: Callable[[], None] | None = None
        self._stopped: list[int] = []
        self._beginning: dict[int, TrialOutcome] = {}
        self._under_way: dict[int, _RunningTrial] = {}
        self._ended: dict[int, ExitStack] = {}

    @property
    def free(self) -> int:
        """The number of trials that could be started now."""
        return len(self.targets) - len(self._under_way)

    def submit(self, job: TrialJob) -> None:
        """Start a trial on a target on which no trial is running."""
        index = next(number for number in range(len(self.targets)) if number not in self._under_way)
        self._begin(index, TrialOutcome(job))

    def next_done(self) -> TrialOutcome:
        """Wait for the next trial to end, and return its outcome.

        Raises:
            TargetError: A lost broker did not come back.
        """
        while True:
            if len(self._stopped) == len(self._under_way):
                self._begin_stopped_again()
            ended = self._pool.next_done()
            assert ended is not None, "a trial is under way"
            finished = self._advance(int(ended.job.key), ended)
            if finished is not None:
                return finished

    def restart_brokers(self) -> None:
        """Stop the brokers that the next trial will use, and start new ones. No trial may be running."""
        self._release_topic(0)
        self.targets[0].restart_brokers()

    def close(self) -> None:
        """Release the topics of all trials, also of trials that did not end. Their loads must have ended.

        Topics that we created are deleted.
        """
        interrupted = list(self._beginning.values())
        for index, trial in list(self._under_way.items()):
            if self.on_interrupted is not None and (phase := trial.outcome.next_phase()) is not None:
                if trial.sending:
                    trial.count_sent(None, phase[1])
                interrupted.append(trial.outcome)
            self._end_trial(index)
        for index in list(self._ended):
            self._release_topic(index)
        if self.on_interrupted is not None and interrupted:
            self.on_interrupted(interrupted)

    def _begin_stopped_again(self) -> None:
        if self._stopped:
            self._await_lease()
        while self._stopped:
            index = self._stopped.pop()
            stopped = self._under_way[index].outcome
            self._end_trial(index)
            self._begin(index, stopped.without_measurements(stopped.attempts))

    def _begin(self, index: int, outcome: TrialOutcome, tries: int = 1) -> None:
        stack, job = ExitStack(), outcome.job
        self._beginning[index] = outcome
        if not outcome.measurements:
            outcome.lost_leases = self._lost_leases()
        try:
            limits = Limits(job.max_bytes, job.min_free_disk_bytes)
            topic = stack.enter_context(
                self.targets[index].topic_for(job.phases[0][1], limits, job.started.number, job.setup)
            )
        except (BrokerLost, TargetUnreachable):
            # While the brokers of a cluster are restarted in turn, one is lost after the other.
            if tries >= _MOST_TRIES:
                raise
            self._recover(index)
            self._begin(index, outcome.without_measurements(outcome.attempts), tries + 1)
            return
        # Deleting the previous topic keeps the disk busy. It is deleted only now, so that neither storing the previous
        # trial nor creating this topic had to wait for the disk.
        self._release_topic(index)
        self._under_way[index] = _RunningTrial(outcome, stack, topic, outcome.sent_bytes)
        del self._beginning[index]
        outcome.sent_bytes += topic.filled_bytes
        self._run_phase(index)

    def _recover(self, index: int) -> None:
        self.targets[index].recover()
        if self.on_recovered is not None:
            self.on_recovered()

    def _run_phase(self, index: int) -> None:
        trial = self._under_way[index]
        phase = trial.outcome.next_phase()
        assert phase is not None
        name, workload = phase
        rule = trial.outcome.job.ends.rule_for(trial.outcome, name, workload)
        config = trial.outcome.job.started.proposal.config
        on_attempt = partial(_begin_attempt, trial, rule, workload)
        setup = trial.outcome.job.setup
        job = Job(str(index), trial.runners(rule), config, workload, on_attempt, trial.topic.consumers, setup.placement)
        watch = _killing_a_broker(trial, workload, _watch(trial.outcome, name, rule))
        trial.sending = True
        self._pool.submit(job, self._stopping_if_taken_over(trial.outcome, watch))

    def _stopping_if_taken_over(self, outcome: TrialOutcome, watch: Watch) -> Watch:
        """Return a watch that also stops the phase as soon as another process may have taken over the study."""

        def stopping(window: Window) -> WatchDecision:
            decision = watch(window)
            return decision if self._runs_study_alone(outcome) else WatchDecision.STOP

        return stopping

    def _runs_study_alone(self, outcome: TrialOutcome) -> bool:
        """Return whether it is certain that only this process has run the study since a trial began."""
        lost_leases = self._lost_leases()
        return lost_leases is not None and lost_leases == outcome.lost_leases

    def _advance(self, index: int, ended: FinishedJob) -> TrialOutcome | None:
        trial = self._under_way[index]
        outcome = trial.outcome
        phase = outcome.next_phase()
        assert phase is not None
        outcome.attempts, outcome.worker = max(outcome.attempts, ended.attempts), ended.worker
        trial.count_sent(ended.sent_bytes, phase[1])
        trial.sending = False
        if not self._runs_study_alone(outcome):
            self._stopped.append(index)
            return None
        match ended.outcome:
            case Measurement() as seen:
                outcome.measurements[phase[0]] = _with_stored(seen, trial)
                if not outcome.job.ends.ends_trial(outcome, phase[0]) and outcome.next_phase() is not None:
                    self._run_phase(index)
                    return None
                if outcome.job.ends.repeats_paced(outcome):
                    # The repeat gets a new topic, as every paced phase does: after a saturating phase the broker stays
                    # busy with the old topic for a while.
                    outcome.replaced.append(outcome.measurements.pop(PACED))
                    del outcome.stops[PACED]
                    self._end_trial(index)
                    self._begin(index, outcome)
                    return None
            case BrokerLost() | TargetUnreachable() if outcome.attempts < 2:
                # A second loss fails the trial, because its config may be what makes the broker fail.
                # Wait for the broker first: while it is away, an attempt to delete the topic takes long and fails.
                self._recover(index)
                self._end_trial(index)
                self._begin(index, outcome.without_measurements(attempts=2))
                return None
            case other:
                outcome.error = other
        self._end_trial(index)
        return outcome

    def _end_trial(self, index: int) -> None:
        left = self._under_way.pop(index)
        self._ended[index] = left.stack
        if left.broker_killed:  # the next trial needs a whole cluster
            self._release_topic(index)
            self.targets[index].restart_brokers()

    def _release_topic(self, index: int) -> None:
        ended = self._ended.pop(index, None)
        # If the topic can't be deleted now, it is deleted when the target is closed, or by the next run.
        with suppress(TargetError):
            if ended is not None:
                ended.close()


def _killing_a_broker(trial: _RunningTrial, workload: Workload, watch: Watch) -> Watch:
    """Return a watch that also kills a broker at the time that the trial's setup names, if it names a time."""
    setup = trial.outcome.job.setup
    if setup.broker_killed_s is None:
        return watch

    def killing(window: Window) -> WatchDecision:
        if not trial.broker_killed and setup.kills_broker_by(window.at_s, workload.warmup_s):
            trial.broker_killed = True
            trial.topic.kill_broker()
        return watch(window)

    return killing


def _begin_attempt(trial: _RunningTrial, rule: StopRule, workload: Workload, attempt: int) -> tuple[Runner, ...]:
    """Return the runners of an attempt to measure a phase, and note how many records the topic holds before it.

    If the worker of the first attempt was lost, the topic holds the records that this worker has written. They must not
    be counted as records of the second attempt, but they count as bytes of the trial.
    """
    if attempt > 1:
        trial.count_sent(None, workload)
    topic, runners = trial.topic, trial.runners(rule)
    trial.stored_before = (topic.stored() if attempt == 1 else topic.final_stored()) if len(runners) > 1 else None
    return runners


def _with_stored(measurement: Measurement, trial: _RunningTrial) -> Measurement:
    """Add the number of records that the topic has stored to a measurement that several producers made.

    One of several producers can't count its own stored records, because all producers write to the same topic. The
    measurement of a single producer is returned unchanged.
    """
    if trial.stored_before is None or trial.topic.stored() is None:
        return measurement
    due = trial.stored_before + measurement.counts.acknowledged
    once_replicated(lambda: trial.topic.stored() or 0, due, SystemClock())
    after = trial.topic.stored()
    if after is None:
        return measurement  # nobody knows whether records are missing
    counts = replace(measurement.counts, stored=after - trial.stored_before, sole_writer=trial.topic.owned)
    return replace(measurement, counts=counts)


def _watch(outcome: TrialOutcome, phase: str, rule: StopRule) -> Watch:
    """Return a function that reports each window of a phase, and stops the phase when the rule says so."""

    def watch(window: Window) -> WatchDecision:
        if window.number == 0:  # a new phase, or a phase that is repeated after its worker was lost
            outcome.progress[phase] = PhaseProgress(rule.metrics)
            outcome.stops.pop(phase, None)
        outcome.job.on_window(phase, window)
        outcome.progress[phase].add(window)
        stop = rule.judge(outcome.progress[phase])
        if stop is None:
            return WatchDecision.GO_ON
        outcome.stops[phase] = stop
        return WatchDecision.STOP

    return watch
