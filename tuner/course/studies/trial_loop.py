"""The loop of a study: each trial is measured, judged, stored and shown, until the study has to stop."""

import datetime
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import inf
from statistics import fmean
from typing import Final

from objectives.racing import metrics_in_windows
from runners.errors import ByteBudgetExceeded
from runners.measurement import Window
from runners.workload import RecordSizes, Workload
from tuner.course.budgets.budget import Budget
from tuner.course.budgets.estimate import least_confirmations
from tuner.course.studies.reporter import Reporter, Standing
from tuner.course.trial_keeper import TrialKeeper, utc_now
from tuner.course.trials.bench import Bench
from tuner.course.trials.early_end import IfHopeless, Raced, ToTheEnd, WhenSteady
from tuner.course.trials.racing import race_of
from tuner.course.trials.scoring import trial_of
from tuner.course.trials.trial_job import EarlyEnd, StartedTrial, TrialDone, TrialJob
from tuner.model.errors import StudyError
from tuner.model.facts import RESERVED_BYTES
from tuner.model.progress import Progress, StudyState
from tuner.model.setup import Setup
from tuner.model.spec import StudySpec
from tuner.model.study_time import OVERHEAD_S, UNBROKEN_S, starting_s, trial_s
from tuner.model.trial import CONFIRMING_KINDS, PACED, SATURATED, SEARCHING_KINDS, Kind, Proposal, Trial
from tuner.results.search_state import SearchState
from tuner.storage.protocols import ResultsStore

_FIRST_BURN_IN_OF_STUDY_RATIO: Final = 0.02
"""The largest share of the study's bytes that the first burn-in run of a record size may send."""
_MEASURED_CONFIG: Final = {
    Kind.BURN_IN: "a config that will be compared with the baseline",
    Kind.REPEAT: "one of the best configs",
    Kind.CONFIRM: "a winner",
    Kind.UNDO: "a winner, with all its changes or with one undone",
}
"""For each kind of trial, what it measures if it does not measure the baseline."""


@dataclass(slots=True)
class TrialLoop:
    """Starts the trials of one study, waits for their ends, and stores and shows the results.

    Attributes:
        spec: The specification of the study.
        store: The results store.
        keeper: Keeps the trials and the progress there.
        bench: Measures the trials.
        reporter: Shows the user the progress of the study.
        searches: The trials so far, by record size.
        budget: The time and the bytes that are left.
        recent: The newest trials, of all record sizes.
        stored: How many trials are stored, of all record sizes.
        totals: By record size, how many trials its search will have; None if only time or bytes end the search.
        sleep: Waits the given number of seconds; a parameter, so that tests need not wait.
    """

    spec: StudySpec
    store: ResultsStore
    keeper: TrialKeeper
    bench: Bench
    reporter: Reporter
    searches: Mapping[RecordSizes, SearchState]
    budget: Budget
    recent: deque[Trial]
    stored: int
    totals: dict[RecordSizes, int | None]
    sleep: Callable[[float], None] = time.sleep
    _started_at: str = field(default_factory=lambda: utc_now().isoformat(timespec="seconds"))

    def start(self, started: StartedTrial, rate_records_per_s: float | None, *, until_ready: bool = False) -> None:
        """Start to measure a trial on a cluster on which no trial is running.

        Args:
            started: The trial.
            rate_records_per_s: The rate of the paced phase (the load at a fixed rate); None to leave this phase out.
            until_ready: Whether the saturating phase goes on without a pause until its throughput shows no trend.
        """
        size, load = started.size, self.spec.workload
        saturating = load.saturating(size)
        if until_ready:
            saturating = replace(saturating, warmup_s=0.0, measured_s=UNBROKEN_S)
        phases: tuple[tuple[str, Workload], ...] = ((SATURATED, saturating),)
        if rate_records_per_s is not None:
            phases = ((PACED, load.paced_at(size, rate_records_per_s)), *phases)
        standing, description = self.standing(started), self._description(started)
        self._tell_trial(standing, "", description)

        def on_window(phase: str, window: Window) -> None:
            self.reporter.window(standing, phase, window)
            self._tell_trial(standing, phase, f"{description}: {'paced' if phase == PACED else 'saturating'} phase")

        safety = self.spec.safety
        # The first burn-in of a record size goes on until the target is warm, whatever other sizes have sent.
        largest_bytes = 0.0 if until_ready else self._most_bytes()
        max_bytes = self.budget.reserve(started.key, safety.max_bytes_per_trial, self.bench.free, largest_bytes)
        self.store.set_fact(RESERVED_BYTES, self.budget.reserved())
        if until_ready:
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
        """Return how a trial of the usual length may end early."""
        spec, search = self.spec, self.spec.search
        metrics = metrics_in_windows(spec.objectives, spec.constraints) if search.stops_early else ()
        if started.kind is not Kind.SEARCH:
            return ToTheEnd(metrics)
        if search.stops_early:
            known = self.searches[started.size]
            return Raced(race_of(spec, known, started.proposal.config, started.number), metrics)
        # A trial of a grid fills cells of tables, so it measures the throughput even if it can't hold the fixed rate.
        return ToTheEnd() if search.searches_grid else IfHopeless()

    def finish(self) -> tuple[StartedTrial, Trial]:
        """Wait for the next trial to end, and store it.

        Raises:
            SafetyStop: We stopped to protect the cluster.
            TargetError: The cluster can't be used.
            WorkloadRefused: The baseline, or another config that the user chose, can't be measured.
            TooManyFailures: Too many trials in a row gave no measurement.
        """
        done = self.bench.next_done()
        started = done.job.started
        search = self.searches[started.size]
        trial, attachments = trial_of(
            done, self.spec.objectives, self.spec.constraints, search.baseline_metrics or None, time.monotonic()
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
        self.stored += 1
        search.add(trial)
        self.budget.spend(trial)
        self.recent.append(trial)
        self.reporter.trial(self.standing(started), trial)
        # A trial that has sent much more than expected has failed. The study goes on if its limits allow more bytes.
        goes_on = isinstance(done.error, ByteBudgetExceeded) and self.budget.was_cut(trial.key)
        self.keeper.check(trial, None if goes_on else done.error)
        return started, trial

    def count_interrupted(self, interrupted: Sequence[TrialDone]) -> None:
        """Count the bytes that trials had sent when the study was interrupted; the loads have ended."""
        for done in interrupted:
            self.budget.interrupt(done.job.started.key, done.sent_bytes)
        self.store.hurry()
        try:
            self.store.set_fact(RESERVED_BYTES, self.budget.reserved())
        except StudyError as error:
            self.reporter.say(
                "the bytes that were sent before the interruption could not be stored, so all bytes that were reserved "
                f"for what was running count against search.max_bytes: {error}"
            )

    def run_one(
        self,
        size: RecordSizes,
        kind: Kind,
        proposal: Proposal,
        rate_records_per_s: float | None,
        confirm_round: int | None = None,
        *,
        until_ready: bool = False,
    ) -> Trial:
        """Measure one config now, while no other trial is running, and return its trial.

        Raises:
            DeadlinePassed: The time of `search.until` is so long ago that even a confirmation may not go on.
        """
        # Time is reserved for the confirmation, so it goes on if it takes a little longer. But if the host slept beyond
        # the deadline, nothing more is measured.
        self.budget.check_deadline(self.confirm_s())
        started = self.started_trial(size, kind, proposal, confirm_round=confirm_round)
        self.start(started, rate_records_per_s, until_ready=until_ready)
        return self.finish()[1]

    def started_trial(
        self,
        size: RecordSizes,
        kind: Kind,
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
        now = datetime.datetime.fromtimestamp(self.budget.now_s(), datetime.UTC)
        return StartedTrial(size, number, kind, proposal, now, started_s, confirm_round)

    def may_start(self, kept_s: float | None, kept_bytes: float = 0.0, others: int = 0) -> bool:
        """Return whether the next trial will probably keep to the study's time and to its byte budget.

        Args:
            kept_s: Seconds that are reserved for later work; None if the trial is started however little time is left.
            kept_bytes: Bytes that are reserved for later trials.
            others: How many other trials will also write bytes, because they are running or are sure to follow.
        """
        left_s = self.budget.left_s()
        if kept_s is not None and left_s is not None and left_s - kept_s < self.mean_s():
            return False
        left = self.budget.left_bytes()
        return left is None or left - kept_bytes > (1 + others) * self._most_bytes()

    def mean_s(self) -> float:
        """Return the mean duration of the newest trials in seconds; before the first trial, the planned duration."""
        recent_s = [trial.duration_s for trial in self.recent if trial.kind is not Kind.BURN_IN]
        return fmean(recent_s) if recent_s else trial_s(self.spec) + OVERHEAD_S

    def confirm_s(self) -> float:
        """Return the seconds to reserve for a confirmation of one record size that takes the fewest possible rounds."""
        # Racing shortens trials of the search but not those of a confirmation, so the saved seconds are added again.
        spared_s = [trial.saved_s for trial in self.recent if trial.kind is not Kind.BURN_IN]
        each_s = self.mean_s() + (fmean(spared_s) if spared_s else 0.0)
        return least_confirmations(self.spec) * each_s + starting_s(self.spec, self.spec.confirm.rounds)

    def confirm_bytes(self) -> float:
        """Return the bytes to reserve for a confirmation of one record size that takes the fewest possible rounds."""
        return least_confirmations(self.spec) * self._most_bytes()

    def standing(self, started: StartedTrial) -> Standing:
        """Return how far the study is with the record size of the given trial."""
        size = started.size
        return Standing(started.kind, started.number, self.totals[size], self._left_s(size), self.searches[size])

    def tell_progress(self, progress: Progress) -> None:
        """Store the progress of the study for `tuner status` and the service.

        Args:
            progress: The progress. This method fills in the process id, the times, and how far the mirror is behind.
        """
        mirror = self.keeper.mirror
        behind = mirror.behind(self.stored) if mirror is not None else 0
        self.keeper.tell(replace(progress, behind_mlflow=behind, started_at=self._started_at))

    def _tell_trial(self, standing: Standing, phase: str, message: str) -> None:
        """Store which trial is running, in which phase, and when the study will end."""
        ends_at = None
        if standing.left_s is not None:
            ends_at = (utc_now() + datetime.timedelta(seconds=standing.left_s)).isoformat(timespec="seconds")
        self.tell_progress(
            Progress(
                StudyState.CONFIRMING if standing.kind in CONFIRMING_KINDS else StudyState.RUNNING,
                record_bytes=standing.search.record_bytes,
                trial=standing.number,
                kind=standing.kind,
                trials=standing.total,
                phase=phase,
                message=message,
                ends_at=ends_at,
            )
        )

    def _description(self, started: StartedTrial) -> str:
        """Return in words what a trial measures, such as `1000 B, confirm trial 64, round 3, the baseline`."""
        said = [f"{started.size} B, {started.kind} trial {started.number}"]
        if started.round is not None:
            first = self.searches[started.size].first_round
            said.append(f"round {started.round - first + 1}")
        if started.kind not in SEARCHING_KINDS:
            is_baseline = started.proposal.config.fingerprint == self.spec.baseline.fingerprint
            client = f" of {started.proposal.config.client.label}" if self.spec.other_clients else ""
            compared = f"the given config{client}" if self.spec.confirm.configs else _MEASURED_CONFIG[started.kind]
            said.append("the baseline" if is_baseline else compared)
        return ", ".join(said)

    def _most_bytes(self) -> float:
        """Return the most bytes that any of the newest trials has sent.

        The first burn-in run takes much longer than a trial. So of a long run, only the bytes count that it has sent in
        the time of a trial.
        """
        usual_s = 1.5 * trial_s(self.spec)
        return max(
            (each.spent_bytes * min(1.0, usual_s / (each.load_s or usual_s)) for each in self.recent), default=0.0
        )

    def _left_s(self, size: RecordSizes) -> float | None:
        """Return the estimated seconds until the study ends; None if the study has no limit to estimate them from."""
        sizes = self.spec.workload.record_sizes
        later = sizes[sizes.index(size) + 1 :]
        total, by_time = self.totals[size], self.budget.left_s()
        if total is None:
            return by_time
        search = self.searches[size]
        to_come = max(0, total - search.counted) + sum(self.totals[other] or 0 for other in later)
        steps = to_come - sum(search.kinds[kind] for kind in CONFIRMING_KINDS)
        left_s = max(0.0, steps * self.mean_s() + (len(later) + 1) * self.confirm_s())
        return left_s if by_time is None else min(left_s, by_time)
