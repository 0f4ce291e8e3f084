"""Which configs a search measures before the sampler's first proposal."""

import pytest

from benchmarks.problems.searched import problem_of
from benchmarks.searches.entries import ENTRIES
from benchmarks.searches.search_runs import noisy_trial
from objectives.scoring import Objective
from runners.workload import RecordSizes
from search_spaces.configs.producer_config import ProducerConfig
from search_spaces.space.search_space import SearchSpace
from tuner.model.spec import Method, SearchSpec, StudySpec, WorkloadSpec
from tuner.model.trial import Proposal, TrialKind
from tuner.results.search_state import SearchState
from tuner.search.starting_points import starting_points_of

SIZE = RecordSizes.fixed(1_000)
DEFAULTS = ProducerConfig.parse({})
SPACE = SearchSpace.of(1_000, DEFAULTS)
OBJECTIVES = (Objective("mb_per_s"), Objective("latency_p99_ms"))
EVERY = list(SPACE.starting_points(DEFAULTS))


def starting_points(search: SearchSpec, *measured: ProducerConfig) -> list[ProducerConfig]:
    """Return the starting points of a search in which the given configs were measured."""
    spec = StudySpec("searched", WorkloadSpec((SIZE,)), objectives=OBJECTIVES, baseline=DEFAULTS, search=search)
    state, problem = SearchState(str(SIZE), OBJECTIVES), problem_of("embedded:1000", 0.05)
    for number, config in enumerate(measured):
        state.add(noisy_trial(problem, number, TrialKind.SEARCH, Proposal(config, number), seed=0))
    return starting_points_of(spec, SIZE, SPACE, {SIZE: state})


def test_with_the_performance_model_one_starting_point_is_measured() -> None:
    assert starting_points(SearchSpec()) == EVERY[:1]
    assert starting_points(SearchSpec(), EVERY[0]) == []


@pytest.mark.parametrize(
    "search",
    [
        SearchSpec(performance_model=False),
        SearchSpec(method=Method.TPE),
        SearchSpec(sampler="Halton of the user's"),
    ],
)
def test_without_the_performance_model_all_starting_points_are_measured(search: SearchSpec) -> None:
    assert len(EVERY) > 1
    assert starting_points(search) == EVERY
    assert starting_points(search, EVERY[1]) == [EVERY[0], *EVERY[2:]]


def test_a_method_that_does_not_learn_has_no_starting_points() -> None:
    assert starting_points(SearchSpec(method=Method.RANDOM)) == []


@pytest.mark.parametrize("seed", range(5))
def test_with_the_performance_model_the_first_proposal_after_the_baseline_is_better_than_the_baseline(
    seed: int,
) -> None:
    problem = problem_of("embedded:1000", 0.05)
    strategy = ENTRIES["bayesian"].make(problem, seed)
    strategy.tell(noisy_trial(problem, 0, TrialKind.BASELINE, Proposal(problem.defaults), seed))
    proposal = strategy.ask(0)
    assert proposal is not None
    assert min(problem.gains(proposal.config)) > 1
