"""The types for a running trial: what it will measure (`TrialJob`), and what it has measured (`TrialOutcome`)."""

import datetime
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import ClassVar, Protocol

from objectives.bottlenecks import Verdict
from objectives.racing import Stop
from runners.errors import RunnerError
from runners.measurements.measurement import Measurement, Window
from runners.workload import RecordSizes, Workload
from search_spaces.configs.guarantee import Guarantee
from search_spaces.errors import ConfigError
from tuner.execution.trials.stopping import PhaseProgress, StopRule
from tuner.model.measurement_setup import ONE_PRODUCER, Setup
from tuner.model.trial import Proposal, State, Trial, TrialKind, trial_key


@dataclass(frozen=True, slots=True)
class StartedTrial:
    """A trial that was started.

    Attributes:
        size: The record size, or the mix of record sizes, that the trial sends.
        number: The trial's number; the trials of each record size are numbered from 0.
        kind: Why the trial is run.
        proposal: The config to measure, and where it came from.
        started_at: When the trial started, in UTC.
        started_s: When the trial started, on the clock `time.monotonic` of the process that runs the study.
        round: The round of the confirmation or of the experiment; None for a trial that is not part of a round.
        row: The row of the experiment that is measured; empty for the trial of a study.
    """

    size: RecordSizes
    number: int
    kind: TrialKind
    proposal: Proposal
    started_at: datetime.datetime
    started_s: float
    round: int | None = None
    row: str = ""

    @property
    def key(self) -> str:
        """The name of the trial within its study: `1000/0007`."""
        return trial_key(str(self.size), self.number)

    def ended(self, state: State, verdict: Verdict | None, ended_s: float) -> Trial:
        """Return the `Trial` to store, without its measured values. The caller adds these values.

        Args:
            state: How the trial ended.
            verdict: What limited the load; None if there is no measurement.
            ended_s: When the trial ended, on the clock of `started_s`.
        """
        config = self.proposal.config
        return Trial(
            record_bytes=str(self.size),
            number=self.number,
            kind=self.kind,
            state=state,
            values=config.values,
            fingerprint=config.fingerprint,
            guarantee=str(Guarantee.of(config)),
            client=config.client.identity,
            params=dict(self.proposal.params),
            verdict=str(verdict.bound) if verdict else "",
            because=verdict.because if verdict else "",
            flagged=bool(verdict and verdict.says_nothing_of_config),
            started_at=self.started_at.isoformat(timespec="milliseconds"),
            duration_s=ended_s - self.started_s,
            round=self.round,
            row=self.row,
        )


class EarlyEnd(Protocol):
    """Decides whether a trial ends before its planned end. The classes in `early_end.py` implement it.

    Attributes:
        counts_only_the_end: Whether only the last windows count, because the windows before them bring the target to
            its normal speed.
    """

    counts_only_the_end: ClassVar[bool] = False

    def rule_for(self, outcome: "TrialOutcome", phase: str, workload: Workload) -> StopRule:
        """Return the rule that decides after each window whether a phase ends early.

        Args:
            outcome: What the trial has measured before the phase.
            phase: The name of the phase.
            workload: The load of the phase, of all producers together.
        """

    def ends_trial(self, outcome: "TrialOutcome", phase: str) -> bool:
        """Return whether a trial ends after the given phase, because its next phase is not worth running."""
        return False

    def repeats_paced(self, outcome: "TrialOutcome") -> bool:
        """Return whether the paced phase of a trial, which was stopped early, must be run again at its full length."""
        return False


@dataclass(frozen=True, slots=True)
class TrialJob:
    """How a trial is measured.

    Attributes:
        started: The trial.
        phases: The name and the load of each phase, in the order in which they run: `paced`, then `saturated`.
        max_bytes: How many bytes of values and keys the trial may send, in all its phases and attempts.
        min_free_disk_bytes: How much disk space the trial must leave free.
        on_window: Called at the end of each window (at most a second of the load), with the name of the phase.
        ends: The rule by which the trial may end early.
        setup: What the trial needs in addition to its load.
    """

    started: StartedTrial
    phases: tuple[tuple[str, Workload], ...]
    max_bytes: int
    min_free_disk_bytes: int
    on_window: Callable[[str, Window], None]
    ends: EarlyEnd
    setup: Setup = ONE_PRODUCER


@dataclass(slots=True)
class TrialOutcome:
    """The outcome of a trial, which is filled in while the trial is measured.

    Attributes:
        job: The trial, and how it is measured.
        attempts: How often the trial was begun; above 1 after a lost worker was replaced or a lost broker came back.
        measurements: The measurements by phase. Phases that failed or were left out are missing.
        error: Why a phase failed; None if no phase failed. A phase that was skipped because it was not worth running
            has not failed.
        worker: The worker that measured the trial.
        stops: Why a phase was stopped early, by phase.
        progress: What the windows of each phase have shown so far, by phase.
        replaced: Measurements of phases that were stopped early and then run again at their full length.
        lost_leases: What `ResultsStore.lost_leases` returned when the trial began.
        sent_bytes: Bytes of values and keys that were sent in all phases and attempts. If a producer could not report
            its bytes, the largest number of bytes that it may have sent is counted.
    """

    job: TrialJob
    attempts: int = 1
    measurements: dict[str, Measurement] = field(default_factory=dict)
    error: RunnerError | ConfigError | None = None
    worker: str = ""
    stops: dict[str, Stop] = field(default_factory=dict)
    progress: dict[str, PhaseProgress] = field(default_factory=dict)
    replaced: list[Measurement] = field(default_factory=list)
    lost_leases: int | None = None
    sent_bytes: int = 0

    def without_measurements(self, attempts: int) -> "TrialOutcome":
        """Return the same trial without measurements, to begin it again. The bytes sent so far still count."""
        return TrialOutcome(self.job, attempts=attempts, sent_bytes=self.sent_bytes)

    def next_phase(self) -> tuple[str, Workload] | None:
        """Return the name and the load of the next phase to measure; None if all phases were measured."""
        return next(((name, load) for name, load in self.job.phases if name not in self.measurements), None)
