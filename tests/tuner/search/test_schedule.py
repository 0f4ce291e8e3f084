"""The schedule of the search, which depends on the stored trials alone."""

import pytest

from runners.workload import RecordSizes
from search_spaces.configs.producer_config import ProducerConfig
from search_spaces.librdkafka.knobs import KNOBS
from search_spaces.space.parameters import KnobChange
from search_spaces.space.search_space import SearchSpace
from tests.helpers.trials import trial
from tuner.model.spec import Method, SearchSpec, StudySpec, WorkloadSpec
from tuner.model.trial import TrialKind
from tuner.search.samplers import strategy_of
from tuner.search.schedule import next_kind, trials_in_all


def test_the_baseline_is_first_and_repeated_every_few_trials() -> None:
    search = SearchSpec(trials=9, baseline_every=4)
    kinds = [next_kind(counted, search) for counted in range(9)]
    assert [place for place, kind in enumerate(kinds) if kind is TrialKind.BASELINE] == [0, 4, 8]
    assert kinds.count(TrialKind.SEARCH) == 6


def test_a_search_has_no_more_trials_than_asked_for() -> None:
    search = SearchSpec(trials=9, baseline_every=3)
    assert next_kind(8, search) is TrialKind.SEARCH
    assert next_kind(9, search) is next_kind(10, search) is None
    assert next_kind(0, SearchSpec(trials=0)) is None


def test_without_a_number_of_trials_there_is_always_a_next_one() -> None:
    search = SearchSpec(trials=None, baseline_every=10)
    assert next_kind(10**6, search) is TrialKind.BASELINE
    assert next_kind(10**6 + 1, search) is TrialKind.SEARCH


def test_a_baseline_in_every_trial_leaves_no_search() -> None:
    assert {next_kind(n, SearchSpec(trials=5, baseline_every=1)) for n in range(5)} == {TrialKind.BASELINE}


def space_of(baseline: ProducerConfig) -> SearchSpace:
    """Return a space of nine configs."""
    changes = {knob.name: KnobChange(off=True) for knob in KNOBS}
    changes["linger.ms"] = KnobChange(choices=("1", "5", "20"))
    changes["compression.type"] = KnobChange(choices=("none", "lz4", "zstd"))
    return SearchSpace.of(1_000, baseline, key_bytes=0, partitions=3, changes=changes)


def walked(search: SearchSpec, baseline: ProducerConfig) -> int:
    """Return the number of trials that a study measures until nothing is left to measure."""
    spec = StudySpec("walked", WorkloadSpec((RecordSizes.fixed(1_000),)), baseline=baseline, search=search)
    strategy, counted = strategy_of(spec, space_of(baseline), 0), 0
    while kind := next_kind(counted, search):
        proposal = None if kind is TrialKind.BASELINE else strategy.ask(counted)
        if kind is TrialKind.SEARCH and proposal is None:
            break
        config = (proposal.config if proposal else baseline).values
        strategy.tell(trial(counted, config=config), counted if proposal else None)
        counted += 1
    return counted


@pytest.mark.parametrize("values", [{}, {"linger.ms": "5", "compression.type": "lz4"}])
@pytest.mark.parametrize("baseline_every", [2, 3, 9, 10, 30])
@pytest.mark.parametrize(("asked", "repeats"), [(5, 1), (10, 1), (60, 1), (None, 1), (13, 2), (None, 2)])
def test_the_number_of_trials_of_a_grid_is_known_in_advance(
    asked: int | None, repeats: int, baseline_every: int, values: dict[str, str]
) -> None:
    search = SearchSpec(method=Method.GRID, trials=asked, baseline_every=baseline_every, repeats=repeats)
    baseline = ProducerConfig.parse(values)
    assert trials_in_all(search, space_of(baseline), baseline) == walked(search, baseline)


def test_other_methods_use_all_trials_they_are_given() -> None:
    baseline = ProducerConfig.parse({})
    for search in (SearchSpec(trials=60), SearchSpec(trials=None), SearchSpec(method=Method.RANDOM, trials=500)):
        assert trials_in_all(search, space_of(baseline), baseline) == search.trials
    without_search = SearchSpec(method=Method.GRID, trials=7, baseline_every=1)
    assert trials_in_all(without_search, space_of(baseline), baseline) == 7
