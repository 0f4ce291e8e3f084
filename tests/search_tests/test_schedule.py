"""The schedule of the search, which depends on the stored trials alone."""

from math import inf

import pytest

from runners.workload import RecordSizes, Workload
from search_spaces.configs.producer_config import ProducerConfig
from search_spaces.librdkafka.knobs import KNOBS
from search_spaces.space.parameters import KnobChange
from search_spaces.space.search_space import SearchSpace
from tests.helpers.measurements import window
from tests.helpers.trials import trial
from tuner.course.trials.steadiness import UntilSteady, capacity_of, has_enough_burn_ins, is_steady
from tuner.course.trials.stopping import PhaseProgress
from tuner.model.spec import Method, SearchSpec, StudySpec, WorkloadSpec
from tuner.model.trial import Kind
from tuner.search.samplers import strategy_of
from tuner.search.schedule import next_kind, trials_in_all


def test_the_baseline_is_first_and_repeated_every_few_trials() -> None:
    search = SearchSpec(trials=9, baseline_every=4)
    kinds = [next_kind(counted, search) for counted in range(9)]
    assert [place for place, kind in enumerate(kinds) if kind is Kind.BASELINE] == [0, 4, 8]
    assert kinds.count(Kind.SEARCH) == 6


def test_a_search_has_no_more_trials_than_asked_for() -> None:
    search = SearchSpec(trials=9, baseline_every=3)
    assert next_kind(8, search) is Kind.SEARCH
    assert next_kind(9, search) is next_kind(10, search) is None
    assert next_kind(0, SearchSpec(trials=0)) is None


def test_without_a_number_of_trials_there_is_always_a_next_one() -> None:
    search = SearchSpec(trials=None, baseline_every=10)
    assert next_kind(10**6, search) is Kind.BASELINE
    assert next_kind(10**6 + 1, search) is Kind.SEARCH


def test_a_baseline_in_every_trial_leaves_no_search() -> None:
    assert {next_kind(n, SearchSpec(trials=5, baseline_every=1)) for n in range(5)} == {Kind.BASELINE}


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
        proposal = None if kind is Kind.BASELINE else strategy.ask(counted)
        if kind is Kind.SEARCH and proposal is None:
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


@pytest.mark.parametrize(
    ("capacities", "over"),
    [
        ([], False),
        ([100.0], False),
        ([100.0, 100.0], False),
        ([95.0, 100.0, 102.0], True),
        ([95.0, 100.0, 107.0], False),
        ([107.0, 100.0, 95.0], False),
        ([100.0, 130.0, 107.0], True),
        ([120.0, 190.0, 185.0], False),
        ([100.0, 100.0, 50.0], False),
        ([10.0, 20.0, 30.0, 40.0], True),
    ],
)
def test_burn_in_ends_without_a_trend_or_after_the_maximum_of_runs(capacities: list[float], over: bool) -> None:
    assert has_enough_burn_ins(capacities, 4) is over


def test_a_load_without_a_pause_is_ready_when_its_throughput_stays() -> None:
    rising = [1.3 + 0.2 * second for second in range(12)]
    scattered = [3.5, 3.2, 3.7, 3.4, 3.1, 3.6, 3.5, 3.3, 3.4]
    ready = [is_steady([*rising, *scattered][:seconds]) for seconds in range(22)]
    assert not any(ready[:13])
    assert ready[21]
    assert not is_steady(scattered[:8]), "too few seconds"
    assert capacity_of([*rising, *scattered]) == pytest.approx(3.4, abs=0.1)


def test_a_second_without_deliveries_is_judged_like_any_other() -> None:
    rule = UntilSteady(Workload(RecordSizes.fixed(100)), most_bytes=inf)
    seen, ended = PhaseProgress(rule.metrics), []
    for number, records in enumerate([100, 0, *[500] * 9]):
        seen.add(window(number=number, records=records))
        ended.append(rule.judge(seen) is not None)
    assert ended == [False] * 10 + [True]
    assert not is_steady([0.0] * 9), "no throughput is not a steady one"


@pytest.mark.parametrize("at_most", [0, 1])
def test_at_least_one_burn_in_run_is_needed(at_most: int) -> None:
    assert not has_enough_burn_ins([], at_most)
    assert has_enough_burn_ins([100.0], at_most)
