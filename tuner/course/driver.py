"""The study's own course: burn in, search and confirm, record size by record size, until the budget ends."""

import itertools
import time
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from runners.workload import RecordSizes
from search_spaces.producer_config import ProducerConfig
from search_spaces.space import SearchSpace
from tuner.confirmation.plan import has_begun
from tuner.course.bench import StartedTrial
from tuner.course.confirm import Stabiliser, confirm
from tuner.course.trial_loop import TrialLoop, utc_now
from tuner.model.progress import Progress, StudyState
from tuner.model.spec import StudySpec
from tuner.model.trial import Kind, Proposal, Trial
from tuner.results.size_record import SizeRecord
from tuner.results.study_results import TOTALS
from tuner.search.schedule import next_kind, space_of, trials_in_all
from tuner.search.seeds import seeds_of
from tuner.search.strategy import Strategy

MakeStrategy = Callable[[SearchSpace, int], Strategy]
"""Makes the strategy of one record size, given its space and its seed."""


@dataclass(slots=True)
class Driver:
    """Takes one study to its end, from wherever its record stands.

    Attributes:
        loop: What every trial goes through.
        make_strategy: Of each record size.
        topic_max_message_bytes: What topics of the target take.
        confirmation_id: Of the confirmation that it comes to; see `tuner.confirmation.plan`.
        searching: Whether to search; else only what was found is confirmed.
    """

    loop: TrialLoop
    make_strategy: MakeStrategy
    topic_max_message_bytes: int
    confirmation_id: str
    searching: bool = True
    _spec: StudySpec = field(init=False)
    _stabiliser: Stabiliser = field(init=False)

    def __post_init__(self) -> None:
        """The study is the loop's."""
        self._spec, self._stabiliser = self.loop.spec, Stabiliser(self.loop)

    def run(self) -> None:
        """Search and confirm every record size; returns when the study is finished.

        Raises:
            RunnerError: The target can't be used, or we stopped to protect it.
            TooManyFailures: Trial after trial gave no measurement.
        """
        sizes = self._spec.workload.record_sizes
        if self.searching:
            self._count(sizes)
        for place, size in enumerate(sizes):
            if self.searching and not has_begun(self.loop.store, str(size), self.confirmation_id):
                self._search(size, sizes_left=len(sizes) - place)
            confirm(self.loop, size, self.confirmation_id, self._stabiliser)
        if self.searching:
            self.loop.store.set_fact("finished_at", utc_now().isoformat(timespec="seconds"))
        self.loop.tell_progress(Progress(StudyState.FINISHED))

    def _count(self, sizes: Sequence[RecordSizes]) -> None:
        """Say how many trials there are to be."""
        loop, search, baseline = self.loop, self._spec.search, self._spec.baseline
        loop.totals = {size: trials_in_all(search, self.space_of(size), baseline) for size in sizes}
        known = loop.store.facts().get(TOTALS, {})
        loop.store.set_fact(TOTALS, {**known, **{str(size): total for size, total in loop.totals.items()}})

    def space_of(self, size: RecordSizes) -> SearchSpace:
        """The search space of one record size."""
        return space_of(self._spec, size, self.topic_max_message_bytes)

    def _search(self, size: RecordSizes, sizes_left: int) -> None:
        loop, record = self.loop, self.loop.records[size]
        if next_kind(record.counted, self._spec.search) is None:
            return
        left_s = loop.budget.left_s()
        ends_s = None if left_s is None else time.monotonic() + left_s / sizes_left - loop.confirm_s()
        left_bytes = loop.budget.left_bytes() or 0.0
        of_others = left_bytes - left_bytes / sizes_left
        if not loop.may_start(ends_s, of_others + loop.confirm_bytes(), others=self._spec.stabilising_trials):
            loop.reporter.say(f"{size} B: no time or bytes are left to search")
            return
        space = self.space_of(size)
        rate = self._stabiliser.of_baseline(size)
        strategy = self.make_strategy(space, zlib.crc32(str(size).encode()) ^ self._spec.search.seed)
        for trial in record.trials:
            _tell(strategy, record, trial)
        seeds = seeds_of(self._spec, size, space, loop.records)
        under_way: list[StartedTrial] = []
        while True:
            while loop.bench.free and loop.may_start(ends_s, of_others + loop.confirm_bytes(), len(under_way)):
                started = self._next(size, strategy, seeds, under_way)
                if started is None:
                    break
                loop.start(started, rate)
                under_way.append(started)
            if not under_way:
                return
            started, trial = loop.finish()
            under_way.remove(started)
            _tell(strategy, record, trial, started.proposal.index if started.from_strategy else None)

    def _next(
        self, size: RecordSizes, strategy: Strategy, seeds: list[ProducerConfig], under_way: list[StartedTrial]
    ) -> StartedTrial | None:
        """The next trial to start; None when there is none, or none before those under way have ended."""
        loop, record, since_s = self.loop, self.loop.records[size], time.monotonic()
        kind = next_kind(record.counted + len(under_way), self._spec.search)
        if kind is Kind.SEARCH and not record.baselines:
            # Nothing can be judged without a baseline: it goes first, alone, and again if it failed.
            kind = None if under_way else Kind.BASELINE
        if kind is None:
            return None
        from_strategy = False
        index = _next_index(record, under_way)
        proposal: Proposal | None
        if kind is Kind.BASELINE:
            proposal = Proposal(index, self._spec.baseline, {})
        else:
            proposal, from_strategy = strategy.ask(index, seeds.pop(0) if seeds else None), True
        if proposal is None:
            return None
        return loop.started_trial(
            size, kind, proposal, under_way=under_way, from_strategy=from_strategy, since_s=since_s
        )


def _tell(strategy: Strategy, record: SizeRecord, trial: Trial, index: int | None = None) -> None:
    """Tell of a trial of the search; with the first baseline, of the burn-ins that count as such."""
    if trial.kind not in (Kind.SEARCH, Kind.BASELINE):
        return
    if record.baselines and trial.number == record.baselines[0].number:
        for warm in record.settled:
            strategy.tell(warm)
    strategy.tell(record.of_its_time(trial), index)


def _next_index(record: SizeRecord, under_way: list[StartedTrial]) -> int:
    """The first proposal that was not made, or that was lost under way with an earlier run."""
    made = {trial.proposal for trial in record.trials}
    made |= {each.proposal.index for each in under_way if each.kind is Kind.SEARCH}
    return next(index for index in itertools.count() if index not in made)
