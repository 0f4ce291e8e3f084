"""Runs one search with one sampler, in the steps of a study, and judges it by the true values of its configs."""

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from benchmarks.problems.searched import Problem, Volume, problem_of, searched_before
from benchmarks.searches.entries import ENTRIES, Entry
from objectives.scoring import score
from runners.workload import RecordSizes
from search_spaces.configs.guarantee import Guarantee
from tuner.model.spec import StudySpec, WorkloadSpec
from tuner.model.trial import Proposal, State, Trial, TrialKind
from tuner.results.search_state import SearchState
from tuner.search.schedule import next_kind
from tuner.search.starting_points import starting_points_of

BEFORE_TRIALS = 40
"""How many trials the search of the previous record size has, for problems such as `embedded:1000:100`."""


@dataclass(frozen=True, slots=True)
class Search:
    """The outcome of one search.

    Attributes:
        covered: Share of the best possible area that the front covers after each trial; see `Volume`.
        ask_s: Seconds that the sampler took for each proposal, including the time to learn from its result.
        trials: All trials in order.
    """

    covered: list[float]
    ask_s: list[float]
    trials: list[Trial]


@dataclass(frozen=True, slots=True)
class StoredSearch:
    """The outcome of a search in the form in which it is written to a JSON file.

    Attributes:
        problem: Name of the problem.
        sampler: Name of the sampler.
        seed: Seed of the search.
        grid: Number of configs in the problem's grid.
        grid_covered: Share of the best area that the whole grid covers.
        covered: Share of the best area that the search had covered after each trial.
        ask_s: Mean seconds that the sampler took for a proposal.
    """

    problem: str
    sampler: str
    seed: int
    grid: int
    grid_covered: float
    covered: list[float]
    ask_s: float


def trials_to(covered: Sequence[float], share: float) -> float:
    """Return after how many trials a search had covered a share of the best area; infinity if it never did.

    Args:
        covered: The share that the search had covered after each trial.
        share: The share to reach.
    """
    return next((number + 1.0 for number, reached in enumerate(covered) if reached >= share), math.inf)


def stored_search(task: tuple[str, str, int, int, float]) -> StoredSearch:
    """Run the search that a task describes.

    Args:
        task: The names of the problem and of the sampler, the seed, the number of trials, and the noise.
    """
    name, sampler, seed, trials, noise_ratio = task
    problem, entry, other = _problem(name, noise_ratio), ENTRIES[sampler], searched_before(name)
    others: tuple[SearchState, ...] = ()
    if other is not None and entry.transfer:
        before_it = _problem(other, noise_ratio)
        others = (_state(before_it, search(before_it, entry, seed, BEFORE_TRIALS, ()).trials),)
    found = search(problem, entry, seed, trials, others)
    mean_s = float(np.mean(found.ask_s)) if found.ask_s else 0.0
    covered = [round(each, 4) for each in found.covered]
    configs, grid_covered = _grid(name, noise_ratio)
    return StoredSearch(name, sampler, seed, configs, grid_covered, covered, round(mean_s, 5))


def _state(problem: Problem, trials: Sequence[Trial]) -> SearchState:
    state = SearchState(trials[0].record_bytes, problem.objectives)
    for trial in trials:
        state.add(trial)
    return state


@lru_cache
def _grid(name: str, noise_ratio: float) -> tuple[int, float]:
    """Return the number of configs in a problem's grid, and the share of the best area that all of them cover."""
    problem = _problem(name, noise_ratio)
    volume, configs = Volume(), problem.grid()
    return len(configs), round(max(volume.add(problem.gains(each)) for each in configs) / problem.best_volume(), 4)


@lru_cache
def _problem(name: str, noise_ratio: float) -> Problem:
    return problem_of(name, noise_ratio)


def search(problem: Problem, entry: Entry, seed: int, trials: int, others: Sequence[SearchState]) -> Search:
    """Run one search as a study would: starting points come first, and the baseline again every few trials."""
    settings = replace(entry.search, trials=trials, seed=seed)
    workload, objectives = WorkloadSpec((problem.size,)), problem.objectives
    spec = StudySpec("samplers", workload, objectives=objectives, baseline=problem.defaults, search=settings)
    searches = {RecordSizes.parse(each.record_bytes): each for each in others}
    searches[problem.size] = SearchState(str(problem.size), spec.objectives)
    strategy = entry.make(problem, seed)
    starting_points = starting_points_of(spec, problem.size, problem.space, searches)
    volume, best = Volume(), problem.best_volume()
    made: list[Trial] = []
    covered: list[float] = []
    ask_s: list[float] = []
    index = 0
    while (kind := next_kind(len(made), spec.search)) is not None:
        began_s, asked = time.perf_counter(), False
        proposal: Proposal | None = Proposal(problem.defaults)
        if kind is TrialKind.SEARCH:
            asked = not starting_points
            proposal = strategy.ask(index, starting_points.pop(0) if starting_points else None)
            index += 1
        if proposal is None:
            break
        proposed_s = time.perf_counter() - began_s
        trial = noisy_trial(problem, len(made), kind, proposal, seed)
        made.append(trial)
        began_s = time.perf_counter()
        strategy.tell(trial, proposal.index if kind is TrialKind.SEARCH else None)
        if asked:
            ask_s.append(proposed_s + time.perf_counter() - began_s)
        covered.append(volume.add(problem.gains(proposal.config)) / best)
    covered += covered[-1:] * (trials - len(covered))
    return Search(covered, ask_s, made)


def noisy_trial(problem: Problem, number: int, kind: TrialKind, proposal: Proposal, seed: int) -> Trial:
    """Return the trial of a proposed config, with noisy metrics, from which the sampler learns."""
    config = proposal.config
    metrics = problem.metrics(config, number, seed)
    judged = score(metrics, problem.objectives, ())
    return Trial(
        record_bytes=str(problem.size),
        number=number,
        kind=kind,
        state=State.COMPLETE,
        values=config.values,
        fingerprint=config.fingerprint,
        guarantee=str(Guarantee.of(config)),
        params=proposal.params,
        metrics=metrics,
        objectives=judged.values,
        violations=judged.violations,
        proposal=proposal.index if kind is TrialKind.SEARCH else None,
        sampler_state=proposal.sampler_state,
    )


def ask_costs_s(problem: Problem, entry: Entry, trials: int) -> list[float]:
    """Return the seconds that each of 20 proposals takes after the sampler has seen `trials` random trials."""
    strategy, chance = entry.make(problem, 0), ENTRIES["random"].make(problem, 1)
    for number in range(trials):
        proposal = chance.ask(number) if number % 10 else Proposal(problem.defaults)
        assert proposal is not None
        kind = TrialKind.SEARCH if number % 10 else TrialKind.BASELINE
        strategy.tell(noisy_trial(problem, number, kind, proposal, 0))
    costs_s = []
    for index in range(trials, trials + 20):
        began_s = time.perf_counter()
        proposal = strategy.ask(index)
        costs_s.append(time.perf_counter() - began_s)
        assert proposal is not None
        strategy.tell(noisy_trial(problem, index, TrialKind.SEARCH, proposal, 0), index)
    return costs_s
