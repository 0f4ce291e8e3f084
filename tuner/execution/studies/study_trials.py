"""Runs the trials of a study: starts, measures, judges, stores and shows each trial."""

import datetime
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import Final

from objectives.forecasts import metrics_in_windows
from runners.errors import ByteBudgetExceeded
from runners.measurements.measurement import Window
from runners.workload import RecordSizes, Workload
from search_spaces.configs.producer_config import ProducerConfig
from tuner.execution.budgets.outlook import Outlook
from tuner.execution.studies.study_progress import Reporter, size_progress, trial_progress
from tuner.execution.trial_keeper import TrialKeeper
from tuner.execution.trials.bench import Bench
from tuner.execution.trials.early_end import IfHopeless, Raced, ToTheEnd, WhenSteady
from tuner.execution.trials.stopping import race_of
from tuner.execution.trials.trial_from_measurements import trial_of
from tuner.execution.trials.trial_job import EarlyEnd, StartedTrial, TrialJob, TrialOutcome
from tuner.model.errors import StudyError
from tuner.model.facts import RESERVED_BYTES
from tuner.model.measurement_setup import Setup
from tuner.model.spec import StudySpec
from tuner.model.study_time import UNBROKEN_S
from tuner.model.trial import PACED, SATURATED, Proposal, Trial, TrialKind
from tuner.results.search_state import SearchState
from tuner.storage.protocols import ResultsStore

_FIRST_BURN_IN_OF_STUDY_RATIO: Final = 0.02
"""The largest share of the study's bytes that the first burn-in run of a record size may send."""


@dataclass(slots=True)
class StudyTrials:
    """Starts the trials of one study, waits for their ends, and stores and shows the results.

    Attributes:
        spec: The specification of the study.
        store: The results store.
        keeper: Stores the trials in the results store.
        bench: Measures the trials.
        reporter: Shows the user the progress of the study.
        searches: The trials so far, by record size.
        outlook: Estimates what the next trials take, and knows the budget.
    """

    spec: StudySpec
    store: ResultsStore
    keeper: TrialKeeper
    bench: Bench
    reporter: Reporter
    searches: Mapping[RecordSizes, SearchState]
    outlook: Outlook

    def start(self, started: StartedTrial, rate_records_per_s: float | None, *, until_steady: bool = False) -> None:
        """Start to measure a trial on a cluster on which no trial is running.

        Args:
            started: The trial.
            rate_records_per_s: The rate of the paced phase; None to leave this phase out.
            until_steady: Whether the saturating phase continues without a pause until its throughput shows no trend.
        """
        size, load = started.size, self.spec.workload
        saturating = load.saturating(size)
        if until_steady:
            saturating = replace(saturating, warmup_s=0.0, measured_s=UNBROKEN_S)
        phases: tuple[tuple[str, Workload], ...] = ((SATURATED, saturating),)
        if rate_records_per_s is not None:
            phases = ((PACED, load.paced_at(size, rate_records_per_s)), *phases)
        progress = size_progress(self.outlook, started)
        self.keeper.tell(trial_progress(self.outlook, started, progress))

        def on_window(phase: str, window: Window) -> None:
            self.reporter.window(progress, phase, window)
            self.keeper.tell(trial_progress(self.outlook, started, progress, phase))

        safety, budget = self.spec.safety, self.outlook.budget
        # The first burn-in of a record size lasts until the target is warm, so the bytes that the trials of other sizes
        # have sent do not limit it.
        largest_bytes = 0.0 if until_steady else self.outlook.most_bytes()
        max_bytes = budget.reserve(started.key, safety.max_bytes_per_trial, self.bench.free, largest_bytes)
        self.store.set_fact(RESERVED_BYTES, budget.reserved())
        if until_steady:
            of_study = _FIRST_BURN_IN_OF_STUDY_RATIO * (self.spec.search.max_bytes or inf)
            ends: EarlyEnd = WhenSteady(min(max_bytes / 2, of_study))
        else:
            ends = self._early_end(started)
        self.bench.submit(
            TrialJob(
                started,
                phases,
                max_bytes=max_bytes,
                min_free_disk_bytes=safety.min_free_disk_bytes,
                on_window=on_window,
                ends=ends,
                setup=Setup(load.producers, placement=self.spec.placement),
            )
        )

    def _early_end(self, started: StartedTrial) -> EarlyEnd:
        """Return the rule by which a trial may end early."""
        spec, search = self.spec, self.spec.search
        metrics = metrics_in_windows(spec.objectives, spec.constraints) if search.stops_early else ()
        if started.kind is not TrialKind.SEARCH:
            return ToTheEnd(metrics)
        if search.stops_early:
            known = self.searches[started.size]
            return Raced(race_of(spec, known, started.proposal.config, started.number), metrics)
        # The trials of a grid fill tables of all metrics, so they run to the end even if they can't hold the rate.
        return ToTheEnd() if search.searches_grid else IfHopeless()

    def finish(self) -> tuple[StartedTrial, Trial]:
        """Wait for the next trial to end, and store it.

        Raises:
            SafetyStop: We stopped to protect the cluster.
            TargetError: The cluster can't be used.
            WorkloadRefused: The baseline, or another config that the user chose, can't be measured.
            TooManyFailures: Too many trials in a row gave no measurement.
        """
        outcome = self.bench.next_done()
        started = outcome.job.started
        search = self.searches[started.size]
        trial, attachments = trial_of(
            outcome, self.spec.objectives, self.spec.constraints, search.baseline_metrics or None, time.monotonic()
        )
        try:
            self.keeper.keep(trial, attachments)
        except BaseException as error:
            if not isinstance(error, Exception):  # Ctrl-C, while the storage did not answer
                spent = "; all bytes that were reserved for it count against search.max_bytes"
                self.reporter.say(
                    f"trial {trial.number} of {trial.record_bytes} B was measured, but could not be stored before the "
                    f"interruption, so it is lost{spent if self.spec.search.max_bytes is not None else ''}"
                )
            raise
        search.add(trial)
        self.outlook.count(trial)
        self.reporter.trial(size_progress(self.outlook, started), trial)
        # A trial that has sent much more than expected has failed. The study continues if its limits allow more bytes.
        goes_on = isinstance(outcome.error, ByteBudgetExceeded) and self.outlook.budget.was_cut(trial.key)
        self.keeper.check(trial, None if goes_on else outcome.error)
        return started, trial

    def count_interrupted(self, interrupted: Sequence[TrialOutcome]) -> None:
        """Count the bytes that trials had sent when the study was interrupted. Their loads must have ended."""
        for outcome in interrupted:
            self.outlook.budget.interrupt(outcome.job.started.key, outcome.sent_bytes)
        self.store.hurry()
        try:
            self.store.set_fact(RESERVED_BYTES, self.outlook.budget.reserved())
        except StudyError as error:
            self.reporter.say(
                "the bytes that were sent before the interruption could not be stored, so all bytes that were reserved "
                f"for what was running count against search.max_bytes: {error}"
            )

    def run_confirm_trial(
        self,
        size: RecordSizes,
        kind: TrialKind,
        config: ProducerConfig,
        rate_records_per_s: float | None,
        confirm_round: int,
    ) -> None:
        """Measure one config for a confirmation. No other trial may be running.

        Raises:
            DeadlinePassed: The time of `search.until` passed so long ago that even a confirmation may not continue.
        """
        started = self.started_trial(size, kind, Proposal(config), confirm_round=confirm_round)
        self._run(started, rate_records_per_s)

    def run_burn_in(
        self, size: RecordSizes, config: ProducerConfig, rate_records_per_s: float | None, *, until_steady: bool = False
    ) -> Trial:
        """Make a burn-in run and return its trial. Conditions and errors are those of `run_confirm_trial`."""
        started = self.started_trial(size, TrialKind.BURN_IN, Proposal(config))
        return self._run(started, rate_records_per_s, until_steady=until_steady)

    def _run(self, started: StartedTrial, rate_records_per_s: float | None, *, until_steady: bool = False) -> Trial:
        # Time is reserved for the confirmation, so it continues if it takes a little longer than planned. But if the
        # host was asleep until after the deadline, nothing more is measured.
        self.outlook.budget.check_deadline(self.outlook.confirm_s())
        self.start(started, rate_records_per_s, until_steady=until_steady)
        return self.finish()[1]

    def started_trial(
        self,
        size: RecordSizes,
        kind: TrialKind,
        proposal: Proposal,
        *,
        under_way: Sequence[StartedTrial] = (),
        confirm_round: int | None = None,
        since_s: float | None = None,
    ) -> StartedTrial:
        """Return a new trial, with the next number that is free among the trials of its record size.

        Args:
            size: The record size.
            kind: Why the trial is run.
            proposal: The config to measure, and where it came from.
            under_way: Trials of this record size that are running and not stored yet.
            confirm_round: The round of the confirmation; None for a trial that is not part of a confirmation.
            since_s: When work on the trial began, on the clock `time.monotonic`; by default now.
        """
        # Trials end in any order, so a running trial may have a higher number than all stored ones.
        number = max([self.searches[size].next_number, *(each.number + 1 for each in under_way)])
        started_s = time.monotonic() if since_s is None else since_s
        now = datetime.datetime.fromtimestamp(self.outlook.budget.now_s(), datetime.UTC)
        return StartedTrial(size, number, kind, proposal, now, started_s, confirm_round)
