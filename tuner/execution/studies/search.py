"""The search of one record size: configs are proposed and measured until the size has all its trials."""

import itertools
import time
import zlib
from collections.abc import Callable

from runners.workload import RecordSizes
from search_spaces.configs.producer_config import ProducerConfig
from search_spaces.space.search_space import SearchSpace
from tuner.execution.budgets.budget import KeptForOthers
from tuner.execution.budgets.estimate import spread_s
from tuner.execution.studies.burn_in import BurnIn
from tuner.execution.studies.study_trials import StudyTrials
from tuner.execution.trials.trial_job import StartedTrial
from tuner.model.facts import KEPT_FOR_ROUNDS, TOPIC_SHAPE
from tuner.model.study_time import burn_in_trials, spreads_rounds
from tuner.model.trial import SEARCHING_KINDS, Proposal, Trial, TrialKind
from tuner.results.search_state import SearchState
from tuner.search.expectation import ModelExpectation, expectation_of
from tuner.search.schedule import next_kind
from tuner.search.starting_points import starting_points_of
from tuner.search.strategy import Strategy

MakeStrategy = Callable[[SearchSpace, int, ModelExpectation | None], Strategy]
"""A function that creates the strategy, which proposes configs, from a record size's search space, a seed, and the
predictions of the performance model.
"""


def search_size(
    trials: StudyTrials,
    burn_in: BurnIn,
    make_strategy: MakeStrategy,
    size: RecordSizes,
    space: SearchSpace,
    for_others: KeptForOthers,
) -> None:
    """Search one record size until it has all its trials, or has used up its share of the study's time or bytes.

    Raises:
        RunnerError: The cluster can't be used, or we stopped to protect it.
        TooManyFailures: Too many trials in a row gave no measurement.
    """
    spec, search, outlook = trials.spec, trials.searches[size], trials.outlook
    if next_kind(search.counted, spec.search) is None:
        return
    kept_s = for_others.seconds + max(outlook.confirm_s(), _kept_for_rounds_s(trials, size, for_others.seconds))
    if not outlook.may_start(kept_s, for_others.load_bytes + outlook.confirm_bytes(), others=burn_in_trials(spec)):
        trials.reporter.say(
            f"{size} B: not searched, as too little time or too little of the byte budget is left for a trial"
        )
        return
    rate = burn_in.rate_after_burn_in(size)
    seed = zlib.crc32(str(size).encode()) ^ spec.search.seed
    strategy = make_strategy(
        space, seed, expectation_of(spec, size, space, rate, trials.store.facts().get(TOPIC_SHAPE, {}))
    )
    for trial in search.trials:
        _tell(strategy, search, trial)
    starting_points = starting_points_of(spec, size, space, trials.searches)
    under_way: list[StartedTrial] = []
    while True:
        while trials.bench.free and outlook.may_start(
            kept_s, for_others.load_bytes + outlook.confirm_bytes(), len(under_way)
        ):
            started = _next(trials, size, strategy, starting_points, under_way)
            if started is None:
                break
            trials.start(started, rate)
            under_way.append(started)
        if not under_way:
            return
        started, trial = trials.finish()
        under_way.remove(started)
        _tell(strategy, search, trial, started.proposal.index if started.kind is TrialKind.SEARCH else None)


def _kept_for_rounds_s(trials: StudyTrials, size: RecordSizes, others_s: float) -> float:
    """Return the seconds to keep for rounds that are spread over time; 0 if the rounds are not spread.

    If `confirm.spread_over` is given, at most half of the record size's time is kept. By default, `estimate.spread_s`
    computes the seconds when the search begins. The result is stored, because a search that is continued has less time
    left and would compute fewer seconds.
    """
    spec, left_s = trials.spec, trials.outlook.budget.left_s()
    own_s = max(0.0, (left_s or 0.0) - others_s)
    if not spreads_rounds(spec):
        return min(spec.confirm.rounds * spec.confirm.gap_s, own_s / 2)
    kept_s: dict[str, float] = trials.store.facts().get(KEPT_FOR_ROUNDS, {})
    if str(size) not in kept_s or not trials.searches[size].counted:
        kept_s = {**kept_s, str(size): spread_s(spec, own_s, trials.outlook.mean_s())}
        trials.store.set_fact(KEPT_FOR_ROUNDS, kept_s)
        if not kept_s[str(size)]:
            trials.reporter.say(
                f"{size} B: the rounds of the confirmation will follow one another, as there is too little time to "
                "spread them; the gains will be about the minutes in which they are measured"
            )
    return kept_s[str(size)]


def _next(
    trials: StudyTrials,
    size: RecordSizes,
    strategy: Strategy,
    starting_points: list[ProducerConfig],
    under_way: list[StartedTrial],
) -> StartedTrial | None:
    """Return the next trial to start; None if the search is over, or if it must wait for trials that are running."""
    search, since_s = trials.searches[size], time.monotonic()
    kind = next_kind(search.counted + len(under_way), trials.spec.search)
    if kind is TrialKind.SEARCH and not search.baselines:
        # No config can be judged without a baseline. So the baseline goes first and alone, and again if it failed.
        kind = None if under_way else TrialKind.BASELINE
    if kind is None:
        return None
    if kind is TrialKind.BASELINE:
        proposal: Proposal | None = Proposal(trials.spec.baseline)
    else:
        index = _next_index(search, under_way)
        proposal = strategy.ask(index, starting_points.pop(0) if starting_points else None)
    if proposal is None:
        if not under_way:
            trials.reporter.say(f"{size} B: every config of the search space was measured, so its search ends")
        return None
    return trials.started_trial(size, kind, proposal, under_way=under_way, since_s=since_s)


def _tell(strategy: Strategy, search: SearchState, trial: Trial, index: int | None = None) -> None:
    """Tell the strategy the result of a search or baseline trial, so that it can learn from the trial.

    With the first baseline trial, the strategy also learns from the burn-in runs that count as measurements of the
    baseline.
    """
    if trial.kind not in SEARCHING_KINDS:
        return
    if search.baselines and trial.number == search.baselines[0].number:
        for warm in search.burn_ins_as_baseline:
            strategy.tell(warm)
    strategy.tell(search.without_drift(trial), index)


def _next_index(search: SearchState, under_way: list[StartedTrial]) -> int:
    """Return the lowest proposal index that has no trial yet. A run that was killed may have left gaps."""
    made = {trial.proposal for trial in search.trials}
    made |= {each.proposal.index for each in under_way if each.kind is TrialKind.SEARCH}
    return next(index for index in itertools.count() if index not in made)
