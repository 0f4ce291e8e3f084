"""What every trial goes through, whoever asked for it: measured, judged, kept durably, shown; and when to stop."""

import datetime
import os
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import Final, Protocol

from objectives.racing import followed
from runners.errors import SafetyStop, TargetRefused, WorkloadRefused
from runners.librdkafka.librdkafka_runner import Limits
from runners.measurement import Window
from runners.workload import RecordSizes, Workload
from tuner.confirmation.plan import least_steps
from tuner.course.bench import PACED, SATURATED, Bench, TrialJob
from tuner.course.budget import Budget
from tuner.course.racing import race_of
from tuner.course.scoring import Ask, trial_of
from tuner.model.errors import TooManyFailures
from tuner.model.spec import StudySpec
from tuner.model.trial import CONFIRMING_KINDS, Kind, State, Trial
from tuner.results.size_record import SizeRecord
from tuner.search.strategy import Proposal
from tuner.storage.protocols import ResultsStore

_OVERHEAD_S: Final = 1.0
_RECENT: Final = 20


@dataclass(frozen=True, slots=True)
class Standing:
    """How far a record size is.

    Attributes:
        kind: What is being measured.
        number: Of the trial that is under way, or ended last.
        total: Trials that there are to be; None where only time or bytes end it.
        left_s: Seconds until the whole study ends, as far as can be told.
        record: The record size's trials.
    """

    kind: Kind
    number: int
    total: int | None
    left_s: float | None
    record: SizeRecord


class Show(Protocol):
    """What a study tells its user while it runs."""

    def say(self, sentence: str) -> None:
        """Something worth a line."""

    def window(self, standing: Standing, phase: str, window: Window) -> None:
        """A window of the trial under way has ended."""

    def trial(self, standing: Standing, trial: Trial) -> None:
        """A trial has ended and is on record."""


@dataclass(slots=True)
class TrialLoop:
    """Starts and finishes trials of one study.

    Attributes:
        spec: The study's.
        store: Where trials are kept.
        bench: Where they are measured.
        show: Told what happens.
        poke: Called after each change of the record.
        records: By record size.
        budget: What is left.
        totals: By record size, how many trials there are to be; None where only time or bytes end the search.
    """

    spec: StudySpec
    store: ResultsStore
    bench: Bench
    show: Show
    poke: Callable[[], None]
    records: Mapping[RecordSizes, SizeRecord]
    budget: Budget
    totals: dict[RecordSizes, int | None] = field(default_factory=dict)
    _recent_s: deque[float] = field(default_factory=lambda: deque(maxlen=_RECENT))
    _recent_whole_s: deque[float] = field(default_factory=lambda: deque(maxlen=_RECENT))
    _recent_bytes: deque[float] = field(default_factory=lambda: deque(maxlen=_RECENT))
    _failures: int = 0
    _started_at: str = field(default_factory=lambda: utc_now().isoformat(timespec="seconds"))

    def __post_init__(self) -> None:
        """What trials of earlier runs took is known."""
        for record in self.records.values():
            for trial in record.trials:
                self._note(trial)

    def start(self, ask: Ask, rate_records_per_s: float | None) -> None:
        """Start measuring at a free place; without a rate there is no paced phase."""
        size, load = RecordSizes.parse(ask.record_bytes), self.spec.workload
        phases: tuple[tuple[str, Workload], ...] = ((SATURATED, load.saturating(size)),)
        if rate_records_per_s is not None:
            phases = ((PACED, load.paced_at(size, rate_records_per_s)), *phases)
        standing = self.standing(ask)
        self.tell_progress(standing, "")

        def on_window(phase: str, window: Window) -> None:
            self.show.window(standing, phase, window)
            self.tell_progress(standing, phase)

        limits = Limits(self._trial_bytes(), self.spec.safety.min_free_disk_bytes)
        config, racing = ask.proposal.config, self.spec.search.racing
        metrics = followed(self.spec.objectives, self.spec.constraints) if racing else ()
        race = race_of(self.spec, standing.record, config, ask.number) if racing and ask.kind is Kind.SEARCH else None
        # What others are compared with must have all its numbers: a busy moment is no reason to leave some out.
        whole = ask.kind is not Kind.SEARCH
        self.bench.submit(TrialJob(config, phases, limits, ask.number, on_window, ask, metrics, race, whole))

    def finish(self) -> tuple[Ask, Trial]:
        """Wait for a trial to end, and keep it.

        Raises:
            SafetyStop: We stopped to protect the target.
            TargetError: The target can't be used.
            TooManyFailures: Trial after trial gave no measurement.
        """
        done = self.bench.next_done()
        ask = done.job.tag
        assert isinstance(ask, Ask)
        record = self.records[RecordSizes.parse(ask.record_bytes)]
        trial, attachments = trial_of(ask, done, self.spec, record.baseline_metrics or None, time.monotonic())
        self.store.append(trial, attachments)
        record.add(trial)
        self.budget.spend(trial)
        self._note(trial)
        self.poke()
        self.show.trial(self.standing(ask), trial)
        match done.error:
            case SafetyStop() | TargetRefused() | WorkloadRefused():
                raise done.error
        self._failures = self._failures + 1 if trial.state is State.FAILED else 0
        if self._failures >= self.spec.safety.max_failures_in_a_row:
            raise TooManyFailures(
                f"fewer than {self._failures} trials in a row may end without a measurement; "
                f"the last one: {trial.error}"
            )
        return ask, trial

    def run_one(
        self,
        size: RecordSizes,
        kind: Kind,
        proposal: Proposal,
        rate_records_per_s: float | None,
        confirm_round: int | None = None,
    ) -> Trial:
        """Measure one config now, with nothing else under way."""
        ask = self.ask(size, kind, proposal, confirm_round=confirm_round)
        self.start(ask, rate_records_per_s)
        return self.finish()[1]

    def ask(
        self,
        size: RecordSizes,
        kind: Kind,
        proposal: Proposal,
        *,
        under_way: Sequence[Ask] = (),
        asked: bool = False,
        confirm_round: int | None = None,
        since_s: float | None = None,
    ) -> Ask:
        """Number a trial.

        Args:
            size: Its record size.
            kind: Why it is run.
            proposal: What is measured.
            under_way: Trials of this size that are not on record yet.
            asked: Whether the strategy proposed it.
            confirm_round: Of the confirmation.
            since_s: When work on it began, on `time.monotonic`; now by default.
        """
        # Trials end in any order: one under way may have a higher number than all on record.
        number = max([self.records[size].next_number, *(each.number + 1 for each in under_way)])
        started_s = time.monotonic() if since_s is None else since_s
        return Ask(str(size), number, kind, proposal, utc_now(), started_s, confirm_round, asked)

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
        return fmean(self._recent_s) if self._recent_s else self.spec.trial_s + _OVERHEAD_S

    def confirm_s(self) -> float:
        """Seconds that are kept for confirming one record size: for what there is in any case."""
        whole_s = fmean(self._recent_whole_s) if self._recent_whole_s else self.mean_s()
        return self._least_confirming * whole_s

    def confirm_bytes(self) -> float:
        """Bytes that are kept for confirming one record size."""
        return self._least_confirming * self._most_bytes()

    @property
    def _least_confirming(self) -> int:
        return least_steps(self.spec.confirm) + self.spec.least_winner_burn_ins

    def ends_s(self) -> float | None:
        """When the study is to end, on `time.monotonic`; None is no limit."""
        left_s = self.budget.left_s()
        return None if left_s is None else time.monotonic() + left_s

    def standing(self, ask: Ask) -> Standing:
        """How far the record size of a trial is."""
        size = RecordSizes.parse(ask.record_bytes)
        return Standing(ask.kind, ask.number, self._total(size), self._left_s(size), self.records[size])

    def tell_progress(self, standing: Standing | None, phase: str, state: str = "running") -> None:
        """Tell other terminals."""
        now = utc_now()
        left_s = standing.left_s if standing else None
        ends_at = None if left_s is None else (now + datetime.timedelta(seconds=left_s)).isoformat(timespec="seconds")
        if standing is not None and standing.kind in CONFIRMING_KINDS:
            state = "confirming"
        self.store.set_progress(
            {
                "pid": os.getpid(),
                "state": state,
                "record_bytes": standing.record.record_bytes if standing else "",
                "trial": standing.number if standing else None,
                "kind": str(standing.kind) if standing else "",
                "trials": standing.total if standing else self.spec.search.trials,
                "phase": phase,
                "started_at": self._started_at,
                "updated_at": now.isoformat(timespec="seconds"),
                "ends_at": ends_at,
            },
        )

    def _note(self, trial: Trial) -> None:
        self._recent_bytes.append(trial.value_bytes)
        if trial.kind is not Kind.BURN_IN:
            self._recent_s.append(trial.duration_s)
            # What racing spares a trial it does not spare one that confirms.
            self._recent_whole_s.append(trial.duration_s + trial.saved_s)

    def _most_bytes(self) -> float:
        return max(self._recent_bytes, default=0.0)

    def _trial_bytes(self) -> int:
        left, cap = self.budget.left_bytes(), self.spec.safety.max_bytes_per_trial
        return cap if left is None else max(1, min(cap, int(left)))

    def _total(self, size: RecordSizes) -> int | None:
        return self.totals.get(size, self.spec.search.trials)

    def _left_s(self, size: RecordSizes) -> float | None:
        sizes = self.spec.workload.record_sizes
        later = sizes[sizes.index(size) + 1 :]
        total, by_time = self._total(size), self.budget.left_s()
        if total is None:
            return by_time
        record = self.records[size]
        to_come = max(0, total - record.counted) + sum(self._total(other) or 0 for other in later)
        steps = to_come - sum(record.kinds[kind] for kind in CONFIRMING_KINDS)
        left_s = max(0.0, steps * self.mean_s() + (len(later) + 1) * self.confirm_s())
        return left_s if by_time is None else min(left_s, by_time)


def utc_now() -> datetime.datetime:
    """Now, with its zone."""
    return datetime.datetime.now(datetime.UTC)
