"""What every trial goes through, whoever asked for it: measured, judged, kept durably, shown; and when to stop."""

import datetime
import os
import time
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean
from typing import Final

from objectives.racing import followed
from runners.errors import SafetyStop, TargetRefused, WorkloadRefused
from runners.librdkafka.librdkafka_runner import Limits
from runners.measurement import Window
from runners.workload import RecordSizes, Workload
from tuner.confirmation.rounds import least_steps
from tuner.course.bench import PACED, SATURATED, Bench, StartedTrial, TrialJob
from tuner.course.budget import Budget
from tuner.course.racing import race_of
from tuner.course.reporter import Mirror, Reporter, Standing
from tuner.course.scoring import trial_of
from tuner.model.errors import TooManyFailures
from tuner.model.spec import StudySpec
from tuner.model.trial import CONFIRMING_KINDS, Kind, Progress, Proposal, State, StudyState, Trial
from tuner.results.size_record import SizeRecord
from tuner.storage.protocols import ResultsStore

_OVERHEAD_S: Final = 1.0
_COMPARED: Final = {
    Kind.STABILISE: "a config to be compared with it",
    Kind.SECOND_LOOK: "one of the best configs",
    Kind.CONFIRM: "a winner",
    Kind.ABLATION: "a winner, whole or with changes undone",
}
"""What is measured beside the baseline in trials of a kind."""


@dataclass(slots=True)
class TrialLoop:
    """Starts and finishes trials of one study.

    Attributes:
        spec: The study's.
        store: Where trials are kept.
        bench: Where they are measured.
        reporter: Told what happens.
        mirror: Shows the record elsewhere; None where nobody wants that.
        records: By record size.
        budget: What is left.
        recent: The last trials of all record sizes.
        on_record: How many trials there are, of all record sizes.
        totals: By record size, how many trials there are to be; None where only time or bytes end the search.
    """

    spec: StudySpec
    store: ResultsStore
    bench: Bench
    reporter: Reporter
    mirror: Mirror | None
    records: Mapping[RecordSizes, SizeRecord]
    budget: Budget
    recent: deque[Trial]
    on_record: int
    totals: dict[RecordSizes, int | None]
    _failures: int = 0
    _started_at: str = field(default_factory=lambda: utc_now().isoformat(timespec="seconds"))

    def start(self, started: StartedTrial, rate_records_per_s: float | None) -> None:
        """Start measuring at a free target; without a rate there is no paced phase."""
        size, load = RecordSizes.parse(started.record_bytes), self.spec.workload
        phases: tuple[tuple[str, Workload], ...] = ((SATURATED, load.saturating(size)),)
        if rate_records_per_s is not None:
            phases = ((PACED, load.paced_at(size, rate_records_per_s)), *phases)
        standing, what = self.standing(started), self._in_words(started)
        self._tell_trial(standing, "", what)

        def on_window(phase: str, window: Window) -> None:
            self.reporter.window(standing, phase, window)
            self._tell_trial(standing, phase, f"{what}: {phase} phase")

        left_bytes, most_bytes = self.budget.left_bytes(), self.spec.safety.max_bytes_per_trial
        bytes_now = most_bytes if left_bytes is None else max(1, min(most_bytes, int(left_bytes)))
        limits = Limits(bytes_now, self.spec.safety.min_free_disk_bytes)
        metrics, race = tuple[str, ...](), None
        if self.spec.search.racing:
            metrics = followed(self.spec.objectives, self.spec.constraints)
            if started.kind is Kind.SEARCH:
                race = race_of(self.spec, standing.record, started.proposal.config, started.number)
        self.bench.submit(TrialJob(started, phases, limits, on_window, metrics, race))

    def finish(self) -> tuple[StartedTrial, Trial]:
        """Wait for a trial to end, and keep it.

        Raises:
            SafetyStop: We stopped to protect the target.
            TargetError: The target can't be used.
            TooManyFailures: Trial after trial gave no measurement.
        """
        done = self.bench.next_done()
        started = done.job.started
        record = self.records[RecordSizes.parse(started.record_bytes)]
        trial, attachments = trial_of(done, self.spec, record.baseline_metrics or None, time.monotonic())
        self.store.append(trial, attachments)
        self.on_record += 1
        record.add(trial)
        self.budget.spend(trial)
        self.recent.append(trial)
        if self.mirror is not None:
            self.mirror.poke()
        self.reporter.trial(self.standing(started), trial)
        match done.error:
            case SafetyStop() | TargetRefused() | WorkloadRefused():
                raise done.error
        self._failures = self._failures + 1 if trial.state is State.FAILED else 0
        if self._failures >= self.spec.safety.max_failures_in_a_row:
            raise TooManyFailures(
                f"fewer than {self._failures} trials in a row may end without a measurement; "
                f"the last one: {trial.error}"
            )
        return started, trial

    def run_one(
        self,
        size: RecordSizes,
        kind: Kind,
        proposal: Proposal,
        rate_records_per_s: float | None,
        confirm_round: int | None = None,
    ) -> Trial:
        """Measure one config now, with nothing else under way."""
        started = self.started_trial(size, kind, proposal, confirm_round=confirm_round)
        self.start(started, rate_records_per_s)
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
        """Number a trial.

        Args:
            size: Its record size.
            kind: Why it is run.
            proposal: What is measured.
            under_way: Trials of this size that are not on record yet.
            confirm_round: Of the confirmation.
            since_s: When work on it began, on `time.monotonic`; now by default.
        """
        # Trials end in any order: one under way may have a higher number than all on record.
        number = max([self.records[size].next_number, *(each.number + 1 for each in under_way)])
        started_s = time.monotonic() if since_s is None else since_s
        return StartedTrial(str(size), number, kind, proposal, utc_now(), started_s, confirm_round)

    def may_start(self, ends_s: float | None, kept_bytes: float = 0.0, others: int = 0) -> bool:
        """Whether another trial fits before `ends_s` and into the bytes that are left.

        Args:
            ends_s: On `time.monotonic`; None is no limit.
            kept_bytes: Not to be touched.
            others: Trials whose bytes are to be spent too: under way, or sure to follow.
        """
        if ends_s is not None and time.monotonic() + self.mean_s() > ends_s:
            return False
        left = self.budget.left_bytes()
        return left is None or left - kept_bytes > (1 + others) * self._most_bytes()

    def mean_s(self) -> float:
        """Seconds that a trial takes, overhead included."""
        recent_s = [trial.duration_s for trial in self.recent if trial.kind is not Kind.STABILISE]
        return fmean(recent_s) if recent_s else self.spec.trial_s + _OVERHEAD_S

    def confirm_s(self) -> float:
        """Seconds that are kept for confirming one record size: for what there is in any case."""
        # What racing spares a trial of the search it does not spare one that confirms.
        spared_s = [trial.saved_s for trial in self.recent if trial.kind is not Kind.STABILISE]
        return self._least_confirming * (self.mean_s() + (fmean(spared_s) if spared_s else 0.0))

    def confirm_bytes(self) -> float:
        """Bytes that are kept for confirming one record size."""
        return self._least_confirming * self._most_bytes()

    @property
    def _least_confirming(self) -> int:
        return least_steps(self.spec.confirm) + self.spec.least_winner_stabilising_trials

    def ends_s(self) -> float | None:
        """When the study is to end, on `time.monotonic`; None is no limit."""
        left_s = self.budget.left_s()
        return None if left_s is None else time.monotonic() + left_s

    def standing(self, started: StartedTrial) -> Standing:
        """How far the record size of a trial is."""
        size = RecordSizes.parse(started.record_bytes)
        return Standing(started.kind, started.number, self.totals[size], self._left_s(size), self.records[size])

    def tell_progress(self, progress: Progress) -> None:
        """Tell whoever looks on; who tells it, when, and how far the mirror is, is filled in here."""
        now = replace(
            progress,
            behind_mlflow=self.mirror.behind(self.on_record) if self.mirror is not None else 0,
            pid=os.getpid(),
            started_at=self._started_at,
            updated_at=utc_now().isoformat(timespec="seconds"),
        )
        self.store.set_progress(now)

    def _tell_trial(self, standing: Standing, phase: str, message: str) -> None:
        ends_at = None
        if standing.left_s is not None:
            ends_at = (utc_now() + datetime.timedelta(seconds=standing.left_s)).isoformat(timespec="seconds")
        self.tell_progress(
            Progress(
                StudyState.CONFIRMING if standing.kind in CONFIRMING_KINDS else StudyState.RUNNING,
                record_bytes=standing.record.record_bytes,
                trial=standing.number,
                kind=standing.kind,
                trials=standing.total,
                phase=phase,
                message=message,
                ends_at=ends_at,
            )
        )

    def _in_words(self, started: StartedTrial) -> str:
        """What a trial is for, such as `1000 B, confirm trial 64, round 3, the baseline`."""
        said = [f"{started.record_bytes} B, {started.kind} trial {started.number}"]
        if started.round is not None:
            said.append(f"round {started.round + 1}")
        if started.kind not in (Kind.BASELINE, Kind.SEARCH):
            is_baseline = started.proposal.config.fingerprint == self.spec.baseline.fingerprint
            compared = "the config given" if self.spec.confirm.configs else _COMPARED[started.kind]
            said.append("the baseline" if is_baseline else compared)
        return ", ".join(said)

    def _most_bytes(self) -> float:
        return max((trial.value_bytes for trial in self.recent), default=0.0)

    def _left_s(self, size: RecordSizes) -> float | None:
        sizes = self.spec.workload.record_sizes
        later = sizes[sizes.index(size) + 1 :]
        total, by_time = self.totals[size], self.budget.left_s()
        if total is None:
            return by_time
        record = self.records[size]
        to_come = max(0, total - record.counted) + sum(self.totals[other] or 0 for other in later)
        steps = to_come - sum(record.kinds[kind] for kind in CONFIRMING_KINDS)
        left_s = max(0.0, steps * self.mean_s() + (len(later) + 1) * self.confirm_s())
        return left_s if by_time is None else min(left_s, by_time)


def utc_now() -> datetime.datetime:
    """Now, with its zone."""
    return datetime.datetime.now(datetime.UTC)
