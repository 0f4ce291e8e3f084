"""What a study has found is computed from its results store: front, hypervolume, medians and gains."""

from dataclasses import replace
from math import exp, log
from pathlib import Path

import pytest

from objectives.front import hypervolume
from objectives.scoring import Constraint, Objective
from tests.helpers.trials import OBJECTIVES, SIZE, baseline, confirming, failed, plan_of, results, trial
from tuner.model.errors import ResultsDamaged
from tuner.model.study_files import STUDY_FILE
from tuner.model.trial import Trial, TrialKind
from tuner.results.search_state import SearchState
from tuner.results.study_results import SizeResults, StudyResults, load_results, size_results
from tuner.storage.sqlite import SqliteStore

FAST = {"linger.ms": "20"}
SEARCH = [
    trial(0, 900, 1, kind=TrialKind.BURN_IN),
    baseline(1, 100, 10),
    trial(2, 200, 10),
    failed(3),
    trial(4, 150, 20),
    trial(5, 50, 5),
    baseline(6, 102, 10),
    trial(7, 200, 10, config={"linger.ms": "2"}),
    trial(8, None, 2),
    trial(9, 500, 1, metrics={"held_rate_ratio": 0.5}),
    *confirming(10, [(800, 1), (800, 1)], [(100, 10), (100, 10)], FAST),
]


def steps(found: SizeResults) -> dict[int, float]:
    numbers = [number for number, _ in found.hypervolume]
    assert numbers == sorted(set(numbers))
    return dict(found.hypervolume)


def test_only_feasible_search_trials_and_the_first_baseline_can_be_on_the_front() -> None:
    found = results(SEARCH)
    assert found.front == (2, 5), "trial 7 has the same config as trial 2"
    assert [each.number for each in found.front_trials] == [2, 5]


def test_the_first_complete_baseline_is_on_the_front_until_dominated() -> None:
    assert results([baseline(1), trial(2, 90, 5)]).front == (1, 2)
    assert results([failed(0, kind=TrialKind.BASELINE, config={}), baseline(1)]).front == (1,)
    assert results([failed(0, kind=TrialKind.BASELINE, config={}), baseline(1)]).baseline == baseline(1)


def test_a_baseline_that_breaks_a_constraint_is_not_on_the_front() -> None:
    constraints = (Constraint("latency_p99_ms", at_most=True, limit=8),)
    found = results([baseline(0, constraints=constraints), trial(1, 90, 5, constraints=constraints)])
    assert found.baseline is not None
    assert found.front == (1,)


def test_the_hypervolume_changes_with_the_front_and_is_in_gains() -> None:
    trials = [baseline(0, 100, 10), trial(1, 90, 20), trial(2, 200, 10), failed(3), trial(4, 100, 5)]
    assert steps(results(trials)) == {0: 1.0, 2: pytest.approx(1 + log(2)), 4: pytest.approx(1 + 2 * log(2))}


def test_repeats_of_the_baseline_change_its_numbers_but_not_the_front() -> None:
    trials = [baseline(0, 100, 10), baseline(1, 120, 10), baseline(2, 110, 12)]
    found = results(trials)
    assert found.baseline_metrics["mb_per_s"] == 110
    assert found.baseline_metrics["latency_p99_ms"] == 10
    assert found.front == (0,)
    assert steps(found) == {0: 1.0}
    assert found.gain(trial(3, 220, 5), "mb_per_s") == pytest.approx(220 / (100 * 120 * 110) ** (1 / 3))
    assert found.gain(trial(3, 220, 5), "latency_p99_ms") == pytest.approx((10 * 10 * 12) ** (1 / 3) / 5)


def test_the_baseline_is_shown_with_the_mean_of_all_its_measurements() -> None:
    found = results(
        [
            baseline(0, 100, 10, metrics={"records_per_s": 1000.0}),
            trial(1, 150, 9, config=FAST),
            *confirming(2, [(150, 9)] * 3, [(104, 10)] * 3, FAST),
        ]
    )
    assert found.baseline is not None
    mean = (100 * 104**3) ** 0.25
    assert found.baseline_metrics["mb_per_s"] == 100, "the search compares configs with its own measurements"
    assert found.baseline_means["mb_per_s"] == pytest.approx(mean)
    assert found.baseline_means["records_per_s"] == pytest.approx(10 * mean)
    assert found.baseline_means == found.metrics_of(found.baseline) == found.shown_metrics(found.baseline)
    assert found.gain(found.baseline, "mb_per_s") == 1.0
    assert results([]).baseline_means == {}


def test_both_names_of_the_throughput_are_the_same_mean_if_both_are_optimised() -> None:
    both = (*OBJECTIVES, Objective("records_per_s"))
    known = ((1, 100), (2, 144))
    per_s = [trial(number, mb, 9, config=FAST, metrics={"records_per_s": 10 * mb}) for number, mb in known]
    found = results([baseline(0, 100, 10, metrics={"records_per_s": 1000.0}), *per_s], both)
    for each in per_s:
        means = found.metrics_of(each)
        assert [means["mb_per_s"], means["records_per_s"]] == pytest.approx([120, 1200])


def test_a_median_is_over_the_complete_baselines_with_a_value() -> None:
    trials = [
        baseline(0, 100, 10),
        baseline(1, 110, None),
        baseline(2, 140, 14),
        failed(3, kind=TrialKind.BASELINE, config={}),
    ]
    assert results(trials).baseline_metrics == {
        "delivered_ratio": 1.0,
        "held_rate_ratio": 1.0,
        "latency_p99_ms": 12.0,
        "mb_per_s": 110.0,
    }


def test_burn_in_runs_and_confirmation_trials_are_no_baselines() -> None:
    found = results([trial(0, 900, 1, kind=TrialKind.BURN_IN), *confirming(1, [(1, 1)] * 2, [(900, 1)] * 2, FAST)])
    assert found.baseline is None
    assert found.baseline_metrics == {}
    assert found.front == ()
    assert found.hypervolume == ()


def test_without_a_baseline_the_hypervolume_is_0() -> None:
    assert results([trial(0, 90, 5)]).front == (0,)
    assert results([trial(0, 90, 5)]).hypervolume == ((0, 0.0),)


def test_a_gain_without_both_values_is_none() -> None:
    found = results([baseline(0, 100, None)])
    assert found.gain(trial(1, 200, 5), "mb_per_s") == 2.0
    assert found.gain(trial(1, 200, 5), "latency_p99_ms") is None
    assert found.gain(trial(1, None, 5), "mb_per_s") is None


def test_with_one_objective_the_front_is_its_best_trial() -> None:
    one = (Objective("mb_per_s"),)
    trials = [baseline(0, objectives=one), trial(1, 120, objectives=one), trial(2, 110, objectives=one)]
    found = results(trials, one)
    assert found.front == (1,)
    assert steps(found) == {0: 1.0, 1: pytest.approx(1 + log(1.2))}


def test_confirmations_are_found_by_their_config() -> None:
    found = results(SEARCH)
    (confirmation,) = found.confirmations
    assert found.confirmation(confirmation.fingerprint) is confirmation
    assert found.confirmation("another") is None


def test_a_trial_is_found_by_its_number() -> None:
    found = results([trial(4), baseline(0)])
    assert found.trial(4) == trial(4)
    assert [each.number for each in found.trials] == [0, 4], "by number, in whatever order they ended"
    with pytest.raises(KeyError):
        found.trial(3)


def test_results_kept_trial_by_trial_equal_results_computed_at_once() -> None:
    search = SearchState(SIZE, OBJECTIVES)
    for place, each in enumerate(SEARCH):
        search.add(each)
        anew = results(SEARCH[: place + 1])
        assert set(search.front.numbers) >= set(anew.front)
        assert search.baseline_metrics == anew.baseline_metrics
    whole = results(SEARCH)
    assert search.results(20_000.0) == replace(whole, confirmations=(), remeasured_baseline=None)
    assert search.next_number == SEARCH[-1].number + 1
    assert search.counted == 9
    assert (search.best("mb_per_s"), search.best("latency_p99_ms")) == (200, 5)
    assert SearchState(SIZE, OBJECTIVES).best("mb_per_s") is None


def keep(folder: Path, trials: list[Trial], **facts: object) -> None:
    store = SqliteStore(folder)
    for name, value in facts.items():
        store.set_fact(name, value)
    for each in trials:
        store.append(each)
    store.close()


def test_results_are_read_from_the_folder_of_a_study(tmp_path: Path) -> None:
    keep(
        tmp_path,
        SEARCH,
        name="overnight",
        objectives=["mb_per_s", "latency_p99_ms"],
        record_sizes=["100", SIZE],
        rates={SIZE: 20_000.0},
        client_version="simulated",
        finished_at=None,
        confirming={SIZE: plan_of(SEARCH).as_json()},
    )
    (tmp_path / STUDY_FILE).write_text("study: größe\n", encoding="utf-8")
    found = load_results(tmp_path)
    assert (found.name, found.study_file) == ("overnight", "study: größe\n")
    assert [each.record_bytes for each in found.sizes] == ["100", SIZE]
    assert found.size(SIZE) == results(SEARCH)
    assert found.size("100") == found.sizes[0]
    assert found.sizes[0].trials == ()
    assert found.size("42") is None
    assert found.simulated
    assert not found.finished


def test_a_study_knows_that_it_was_measured_and_is_finished(tmp_path: Path) -> None:
    keep(tmp_path, [], objectives=["mb_per_s"], client_version="2.16.0", finished_at="2026-03-02T06:00:00+00:00")
    found: StudyResults = load_results(tmp_path)
    assert not found.simulated
    assert found.finished
    assert (found.name, found.sizes, found.study_file) == (tmp_path.name, (), "")


def test_reading_results_does_not_change_the_store(tmp_path: Path) -> None:
    keep(tmp_path, SEARCH, objectives=["mb_per_s", "latency_p99_ms"], record_sizes=[SIZE])
    before = (tmp_path / "results.db").read_bytes()
    load_results(tmp_path)
    assert (tmp_path / "results.db").read_bytes() == before


def test_a_store_without_objectives_is_refused(tmp_path: Path) -> None:
    keep(tmp_path, [])
    with pytest.raises(ResultsDamaged, match="its first run ended too early"):
        load_results(tmp_path)


def test_the_last_hypervolume_is_that_of_the_front() -> None:
    found = results(SEARCH)
    base = found.baseline_metrics
    gains = [
        [each.gain(found.metrics_of(trial)[each.metric], base[each.metric]) for each in OBJECTIVES]
        for trial in found.front_trials
    ]
    logs = [[max(0.0, 1 + log(gain)) for gain in gain_of_each] for gain_of_each in gains]
    assert found.hypervolume[-1][1] == pytest.approx(hypervolume([*logs, [1.0, 1.0]]))


def warming(baselines: int = 8, constraints: tuple[Constraint, ...] = ()) -> list[Trial]:
    """Return a search on a target that starts at half its speed; all configs perform the same."""
    trials: list[Trial] = []
    for number in range(10 * baselines - 9):
        speed = 1 - 0.5 * exp(-number / 20)
        make = baseline if number % 10 == 0 else trial
        trials.append(make(number, 200 * speed, 10 / speed, constraints=constraints))
    return trials


def test_the_baseline_has_the_speed_of_a_warm_target() -> None:
    found = results(warming())
    assert found.baseline_metrics["mb_per_s"] == pytest.approx(200, rel=0.03)
    late = found.trial(69)
    assert found.gain(late, "mb_per_s") == pytest.approx(1.0, abs=0.03)


def test_warming_up_adds_nothing_to_the_hypervolume() -> None:
    assert results(warming()).hypervolume[-1][1] == pytest.approx(1.0, abs=0.05)


def test_early_trials_on_a_cold_target_are_forgotten() -> None:
    trials = warming()
    trials[2] = trial(2, 400, 3)
    found = results(trials)
    assert 2 in found.estimates.forgotten
    assert {each.number for each in found.candidates}.isdisjoint(found.estimates.forgotten)
    assert 2 not in found.front
    assert trials[2].fingerprint not in found.estimates.by_config
    factor = found.estimates.drift["mb_per_s"].factor(2)
    assert factor > 1.25
    assert found.metrics_of(trials[2])["mb_per_s"] == pytest.approx(400 * factor), "it stands beside corrected values"
    assert 3 * len(found.estimates.forgotten) < len(trials)


def test_most_of_a_search_is_forgotten_if_the_target_changes_by_a_factor_of_two() -> None:
    trials = [baseline(each, 200, 10) if each % 5 == 0 else trial(each, 200, 10) for each in range(40)]
    trials += [baseline(each, 100, 20) if each % 5 == 0 else trial(each, 100, 20) for each in range(40, 60)]
    found = results(trials)
    assert found.estimates.drift_ratio["mb_per_s"] == pytest.approx(1.0, rel=0.05)
    assert max(found.estimates.forgotten) == pytest.approx(39, abs=3)
    assert all(each.number >= 37 for each in found.candidates)


P99_LIMIT = Constraint("latency_p99_ms", at_most=True, limit=12)
FLOOR = Constraint("mb_per_s", at_most=False, limit=0.9, of_baseline=True)


@pytest.mark.parametrize("constraint", [P99_LIMIT, Constraint("mb_per_s", at_most=False, limit=170)], ids=str)
def test_a_baseline_that_meets_the_constraints_on_the_warm_target_meets_them(constraint: Constraint) -> None:
    trials = warming(constraints=(constraint,))
    assert not trials[0].feasible
    found = results(trials)
    assert found.baseline is not None
    assert found.baseline.feasible
    assert all(each.feasible for each in found.candidates)


def test_a_baseline_that_meets_the_constraints_in_its_rounds_meets_them() -> None:
    trials = [baseline(0, 100, 20, constraints=(P99_LIMIT,)), trial(1, 120, 11, constraints=(P99_LIMIT,))]
    assert not results(trials).baseline.feasible  # type: ignore[union-attr]
    trials += confirming(2, [(120, 11)] * 2, [(100, 11)] * 2, {"linger.ms": "1"})
    found = results(trials)
    assert found.baseline is not None
    assert found.baseline.feasible
    assert found.remeasured_baseline is not None
    assert found.remeasured_baseline.metrics["latency_p99_ms"] == 11


def test_a_limit_relative_to_the_baseline_uses_all_baseline_trials() -> None:
    """When the second trial was stored, only the first baseline was known, which was slow."""
    trials = [baseline(0, 80, 10), trial(1, 85, 10), *(baseline(number, 100, 10) for number in range(2, 6))]
    trials[1] = replace(trials[1], violations={**trials[1].violations, str(FLOOR): -0.1})
    assert results(trials).trial(1).violations[str(FLOOR)] == pytest.approx(0.056, abs=0.001)


def test_rounds_on_cold_new_brokers_say_nothing_about_drift() -> None:
    trials = [baseline(each, 200, 10) if each % 5 == 0 else trial(each, 210, 10) for each in range(20)]
    trials += confirming(20, [(100, 20)] * 8, [(100, 20)] * 8, {"linger.ms": "1"})
    on_new_brokers, one_start = (
        size_results(SIZE, OBJECTIVES, trials, None, [plan_of(trials, new_broker=each)]) for each in (True, False)
    )
    assert on_new_brokers.baseline_metrics["mb_per_s"] == pytest.approx(200)
    assert one_start.baseline_metrics["mb_per_s"] == pytest.approx(100, rel=0.1)
