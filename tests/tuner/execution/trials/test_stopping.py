"""Racing: a trial that is stopped early is never on the front, and the sampler learns from what it has measured."""

import pickle
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from objectives.forecasts import Forecast, PredictedRange
from objectives.racing import MIN_WINDOWS, Race
from objectives.scoring import Constraint, Objective
from runners.measurements.histogram import Histogram
from runners.measurements.measurement import Window, WindowKind
from runners.runner import WatchDecision
from runners.simulated import SimulatedRunner
from runners.workload import RecordSizes, Workload
from search_spaces.configs.producer_config import ProducerConfig
from tests.helpers.measurements import window
from tests.helpers.trials import OBJECTIVES, P99, SIZE, THROUGHPUT, baseline, trial
from tuner.execution.studies.run import measure_study
from tuner.execution.studies.study_progress import SilentReporter
from tuner.execution.trials.stopping import PhaseProgress, PhaseRule, Stopping, race_of
from tuner.model.spec import ConfirmSpec, Executor, Method, SearchSpec, StudySpec, WorkloadSpec
from tuner.model.trial import Trial, TrialKind
from tuner.results.racing_savings import RacingSavings
from tuner.results.search_state import SearchState
from tuner.results.study_results import SizeResults

NOISE = 0.05
SPEC = StudySpec(
    "raced",
    WorkloadSpec((RecordSizes.parse(SIZE),)),
    search=SearchSpec(method=Method.RANDOM, trials=30, seed=3, racing=True),
    confirm=ConfirmSpec(rounds=0),
    executor=Executor.SIMULATED,
)
LOAD = SPEC.workload.saturating(RecordSizes.parse(SIZE))
LEARNING = replace(
    SPEC,
    search=replace(SPEC.search, method=Method.BAYESIAN, startup_trials=5, trials=40, seed=16, performance_model=False),
)
LIMITED = replace(
    SPEC, objectives=(THROUGHPUT,), constraints=(Constraint("latency_p99_ms", at_most=True, limit=6.0),)
)  # fmt: skip


def run(spec: StudySpec, folder: Path) -> SizeResults:
    (size,) = measure_study(spec, "", folder, SilentReporter(), simulated=SimulatedRunner(NOISE)).sizes
    return size


def off(spec: StudySpec) -> StudySpec:
    return replace(spec, search=replace(spec.search, racing=False))


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Callable[[StudySpec], SizeResults]:
    """Return a function that runs each study only once for all tests of this module."""
    known: dict[int, SizeResults] = {}

    def ran(spec: StudySpec) -> SizeResults:
        key = hash(repr(spec))
        if key not in known:
            known[key] = run(spec, tmp_path_factory.mktemp("study"))
        return known[key]

    return ran


Study = Callable[[StudySpec], SizeResults]


def test_trials_are_stopped_early_and_say_why(study: Study) -> None:
    stopped = [each for each in study(SPEC).trials if each.stopped_early]
    assert len(stopped) >= 5
    for each in stopped:
        assert each.kind is TrialKind.SEARCH
        assert each.saved_s > 0
        assert "after" in each.stopped_early
        assert "of 10 s" in each.stopped_early
    learnt = [each for each in stopped if each.feasible]
    assert learnt, "a sampler learns from the values until the stop"
    assert all(None not in each.objectives for each in learnt)


def test_a_trial_that_was_stopped_early_is_never_on_the_front(study: Study) -> None:
    found = study(SPEC)
    assert not any(each.stopped_early for each in found.front_trials)
    assert {number for number, _ in found.hypervolume}.isdisjoint(
        each.number for each in found.trials if each.stopped_early
    )


def test_only_trials_of_the_search_are_stopped_early(study: Study) -> None:
    spec = replace(SPEC, confirm=ConfirmSpec(rounds=2, max_rounds=2, undo_rounds=0))
    others = [each for each in study(spec).trials if each.kind is not TrialKind.SEARCH]
    assert {each.kind for each in others} >= {TrialKind.BURN_IN, TrialKind.BASELINE, TrialKind.CONFIRM}
    assert all(each.saved_s == 0 and not each.stopped_early for each in others)
    assert all(each.load_s == 25.0 for each in others if each.kind is not TrialKind.BURN_IN)


def test_the_saved_time_is_the_difference_to_a_study_without_racing(study: Study) -> None:
    """Both studies have the same proposals and the same noise, as a random search learns nothing from its trials."""
    with_it, without = study(SPEC), study(off(SPEC))
    assert [each.fingerprint for each in with_it.trials] == [each.fingerprint for each in without.trials]
    for raced, whole in zip(with_it.trials, without.trials, strict=True):
        assert raced.load_s + raced.saved_s == pytest.approx(whole.load_s)
    saved_s = sum(each.load_s for each in without.trials) - sum(each.load_s for each in with_it.trials)
    raced_sum = RacingSavings.of(with_it.trials)
    assert raced_sum.saved_s == pytest.approx(saved_s)
    assert raced_sum.saved_ratio > 0.1


def test_a_trial_that_runs_to_its_end_is_the_same_without_racing(study: Study) -> None:
    for raced, whole in zip(study(SPEC).trials, study(off(SPEC)).trials, strict=True):
        if raced.saved_s <= 0:
            assert raced.metrics == whole.metrics


def test_no_config_of_the_front_is_lost_by_racing(study: Study) -> None:
    stopped = {each.number for each in study(SPEC).trials if each.stopped_early}
    assert stopped.isdisjoint(study(off(SPEC)).front)


def test_without_racing_no_trial_is_stopped_or_followed(study: Study) -> None:
    found = [each for each in study(off(SPEC)).trials if each.kind is not TrialKind.BURN_IN]
    assert all(not each.stopped_early and each.saved_s == 0 and not each.window_values for each in found)
    assert str(RacingSavings.of(found)) == ""


def test_each_phase_that_ran_to_its_end_is_followed(study: Study) -> None:
    for each in study(SPEC).trials:
        if each.kind is TrialKind.BURN_IN:
            continue  # the first one is longer than a trial
        assert all(len(values) == 10 for values in each.window_values.values())
        if each.kind is TrialKind.BASELINE:
            assert set(each.window_values) == {"mb_per_s", "latency_p99_ms"}
            assert (
                min(each.window_values["mb_per_s"]) <= each.metrics["mb_per_s"] <= max(each.window_values["mb_per_s"])
            )
        if each.stopped_early:
            assert "mb_per_s" not in each.window_values


def test_a_trial_with_a_shortened_phase_has_a_warning(study: Study) -> None:
    cut = [each for each in study(LEARNING).trials if each.saved_s > 0 and not each.stopped_early]
    assert cut
    assert all(any("the paced phase was stopped early: after" in said for said in each.warnings) for each in cut)
    assert not any(
        "stopped early" in said for each in study(SPEC).trials if each.saved_s <= 0 for said in each.warnings
    )


def test_a_shortened_phase_of_a_trial_on_the_front_is_run_in_full(study: Study) -> None:
    found = study(LEARNING)
    again = [each for each in found.trials if each.saved_s < 0]
    assert again
    for each in again:
        assert each.load_s == pytest.approx(25.0 - each.saved_s), (
            "the load of the shortened phase and of the full trial"
        )
        assert not each.stopped_early
        assert len(each.window_values["latency_p99_ms"]) == 10
    assert all(each.saved_s <= 0 for each in found.front_trials)


def test_a_trial_that_breaks_a_constraint_skips_the_saturating_phase(study: Study) -> None:
    (limit,) = LIMITED.constraints
    told = [each for each in study(LIMITED).trials if "must be <= 6" in each.stopped_early]
    broken = [each for each in told if each.metrics["latency_p99_ms"] > 6.75]  # others are near the limit for longer
    assert broken
    for each in broken:
        assert not each.feasible
        assert "mb_per_s" not in each.metrics
        assert each.violations[str(limit)] > 0
        assert each.violations.keys() == {str(limit), "delivered_ratio >= 1", "held_rate_ratio >= 0.95"}
        assert each.saved_s >= 13.0, "the saturating phase with its warm-up was skipped"
    kept = [each for each in study(LIMITED).trials if each.feasible]
    assert kept
    assert all(each.metrics["latency_p99_ms"] <= 6.0 for each in kept)


@pytest.mark.long
def test_a_resumed_study_stops_the_same_trials_early(tmp_path: Path, study: Study) -> None:
    at_once = study(LEARNING).trials
    run(replace(LEARNING, search=replace(LEARNING.search, trials=13)), tmp_path)
    resumed = [each for each in run(LEARNING, tmp_path).trials if each.kind is not TrialKind.BURN_IN]
    expected = [each for each in at_once if each.kind is not TrialKind.BURN_IN]
    # The second run has its own burn-in runs, which shift the numbers of the later trials and so their noise.
    before = [each for each in expected if each.number < 13]
    assert [asdict(each) for each in resumed[: len(before)]] == [asdict(each) for each in before]
    assert any(each.stopped_early for each in resumed[len(before) :])


def test_several_producers_are_judged_by_their_sum(study: Study) -> None:
    """The loads are stopped one or two windows later than with a single producer, so less time is saved."""
    spec = replace(SPEC, workload=replace(SPEC.workload, producers=2), search=replace(SPEC.search, trials=20))
    found = study(spec).trials
    assert all(each.load_s + each.saved_s <= 25.0 + 1e-6 for each in found)
    assert not any(each.stopped_early for each in study(spec).front_trials)


def test_a_metric_that_windows_do_not_have_stops_no_trial(study: Study) -> None:
    spec = replace(SPEC, objectives=(Objective("wire_bytes_per_value_byte"),))
    assert not any(each.saved_s for each in study(spec).trials)


def asdict(each: Trial) -> dict[str, Any]:
    """Return everything about a trial, apart from its times and its worker."""
    return {k: v for k, v in each.as_json().items() if k not in ("started_at", "duration_s", "worker")}


# The rule of a phase.


def windows(*mb_per_s: float, warm: int = 3, **changes: Any) -> list[Window]:
    """Return the windows of a saturating phase, one second each, with the warm-up first."""
    return [
        window(
            number=number,
            phase=WindowKind.WARMUP if number < warm else WindowKind.MEASURED,
            duration_s=1.0,
            at_s=number + 1.0,
            records=round(each * 1e3),
            value_bytes=each * 1e6,
            total_windows=13,
            latency=Histogram.of([1_000] * 100),
            **changes,
        )
        for number, each in enumerate([1.0] * warm + list(mb_per_s))
    ]


def judged(rule: PhaseRule, seen: list[Window]) -> str:
    progress = PhaseProgress(rule.metrics)
    for each in seen:
        progress.add(each)
    stop = rule.judge(progress)
    return "" if stop is None else stop.because


def raced_rule(**changes: Any) -> PhaseRule:
    race = Race((THROUGHPUT,), {4: (200.0,)}, (), (), {"mb_per_s": Forecast.of([], 10)})
    return replace(PhaseRule(LOAD, ("mb_per_s",), race), **changes)


def test_no_trial_is_stopped_before_two_measured_windows() -> None:
    assert MIN_WINDOWS == 2
    assert judged(raced_rule(), windows()) == ""
    assert judged(raced_rule(), windows(10)) == ""
    assert judged(raced_rule(), windows(10, 10)).startswith("after 2 of 10 s, mb_per_s is at most 1")
    assert judged(raced_rule(), windows(190, 190)) == ""
    assert judged(raced_rule(), windows(*[10] * 10)) == "", "the phase has ended anyway"


def test_a_phase_that_stalls_now_and_then_is_not_stopped() -> None:
    assert judged(raced_rule(), windows(60, 190)) == ""
    assert judged(raced_rule(), windows(0, 190)) == ""


def test_a_trial_that_gives_up_records_is_stopped() -> None:
    assert judged(raced_rule(), windows(300, 300, failed=2)) == "after 2 of 10 s, 10 records were given up"
    assert judged(replace(raced_rule(), race=None), windows(300, 300, failed=2)) == ""


def test_a_config_that_falls_behind_its_rate_is_always_stopped() -> None:
    paced = SPEC.workload.paced_at(RecordSizes.parse(SIZE), 100_000.0)
    rule = PhaseRule(paced)
    assert judged(rule, windows(100, 100, warm=2)) == ""
    assert judged(rule, windows(79, 79, warm=2)) == "only 79% of the fixed rate was delivered"
    assert judged(rule, windows(99, 99, 99, 99, 1, warm=2)) == "only 79% of the fixed rate was delivered"
    assert judged(rule, windows(10, warm=2)) == "", "a single window may have a pause of the host in it"
    assert judged(rule, windows(50, 100, warm=2)) == "", "it catches up"
    progress = PhaseProgress(rule.metrics)
    for each in windows(10, 10, warm=2):
        progress.add(each)
    stop = rule.judge(progress)
    assert stop is not None
    assert stop.falling_behind
    assert stop.ends_trial


def test_only_trials_of_the_search_end_when_the_rate_is_not_held(tmp_path: Path) -> None:
    """Every config is compared with the baselines, so a busy moment must not cost them half of their numbers."""
    too_fast = replace(SPEC.workload, rate_records_per_s=1e8)
    search = replace(SPEC.search, trials=6, baseline_every=3, racing=False)
    trials = run(replace(SPEC, workload=too_fast, search=search), tmp_path).trials
    baselines = [trial for trial in trials if trial.kind is TrialKind.BASELINE]
    searched = [trial for trial in trials if trial.kind is TrialKind.SEARCH]
    assert len(baselines) >= 2
    assert all("mb_per_s" in trial.metrics and "latency_p99_ms" in trial.metrics for trial in baselines)
    assert searched
    assert all("mb_per_s" not in trial.metrics for trial in searched)


def test_a_rule_can_be_pickled() -> None:
    race = race_of(SPEC, search(), ProducerConfig.parse({}), 2)
    rule = PhaseRule(LOAD, ("mb_per_s",), race, {"latency_p99_ms": PredictedRange(9, 9)})
    assert pickle.loads(pickle.dumps(rule)) == rule


def test_a_stopped_runner_still_shows_its_watcher_all_windows() -> None:
    seen: list[Window] = []

    def watch(each: Window) -> WatchDecision:
        seen.append(each)
        return WatchDecision.GO_ON

    race = Race((THROUGHPUT,), {4: (1e6,)}, (), (), {"mb_per_s": Forecast.of([], 10)})
    rule = PhaseRule(LOAD, ("mb_per_s",), race)
    stopped = Stopping(SimulatedRunner(), rule).run(ProducerConfig.parse({}), LOAD, watch)
    assert stopped.stopped_early
    assert len(seen) == 3 + MIN_WINDOWS
    whole = Stopping(SimulatedRunner(), replace(rule, race=None)).run(ProducerConfig.parse({}), LOAD)
    assert not whole.stopped_early


def test_a_watcher_can_stop_the_run_too() -> None:
    def once(_: Workload) -> WatchDecision:
        return WatchDecision.STOP

    ended = Stopping(SimulatedRunner(), PhaseRule(LOAD)).run(ProducerConfig.parse({}), LOAD, once)  # type: ignore[arg-type]
    assert len(ended.series) == 1


# The race: what a trial has to beat.


def search(*more: Trial) -> SearchState:
    return SearchState(SIZE, OBJECTIVES, [baseline(0, 100, 10), trial(1, 200, 8), *more])


def test_a_trial_races_against_the_stored_front() -> None:
    race = race_of(SPEC, search(trial(2, 90, 5), trial(3, None, 2)), ProducerConfig.parse({}), 4)
    assert race.rivals == {1: (200, 8), 2: (90, 5)}
    assert list(race.others) == [(200, 8), (90, 5)]
    assert set(race.forecasts) == {"mb_per_s", "latency_p99_ms"}


def test_a_config_with_acks_0_is_not_judged_by_its_latency() -> None:
    race = race_of(SPEC, search(), ProducerConfig.parse({"acks": "0"}), 4)
    assert set(race.forecasts) == {"mb_per_s"}


def test_latencies_with_acks_0_teach_a_forecast_nothing() -> None:
    values = {"mb_per_s": (100.0,) * 10, "latency_p99_ms": (5.0,) * 10}
    unacknowledged = trial(2, 95, None, window_values=values, config={"acks": "0"})
    learnt = race_of(SPEC, search(unacknowledged), ProducerConfig.parse({}), 9).forecasts
    plain = race_of(SPEC, search(), ProducerConfig.parse({}), 9).forecasts
    assert learnt[P99.metric] == plain[P99.metric]
    assert learnt[THROUGHPUT.metric] != plain[THROUGHPUT.metric]


def test_constraints_relative_to_the_baseline_get_its_value() -> None:
    limit = Constraint("mb_per_s", at_most=False, limit=0.9, of_baseline=True)
    race = race_of(replace(SPEC, constraints=(limit,)), search(), ProducerConfig.parse({}), 4)
    assert race.constraints == ((limit, 100.0),)


def test_a_host_that_has_become_slower_stops_no_trial() -> None:
    """The values of rivals are adjusted to the speed of the host now."""
    slower = [baseline(number, 100.0 if number < 40 else 50.0, 10.0) for number in range(5, 80, 5)]
    race = race_of(SPEC, search(*slower), ProducerConfig.parse({}), 80)
    assert race.rivals[1][0] == pytest.approx(100.0, rel=0.1)
    steady = [baseline(number, 100.0, 10.0) for number in range(5, 80, 5)]
    assert race_of(SPEC, search(*steady), ProducerConfig.parse({}), 80).rivals[1] == (200, 8)


def test_forecasts_learn_from_complete_trials_but_not_from_burn_ins() -> None:
    values = {"mb_per_s": (50.0, *[100.0] * 9)}
    plain = race_of(SPEC, search(), ProducerConfig.parse({}), 9).forecasts["mb_per_s"]
    learnt = race_of(SPEC, search(trial(2, 95, 9, window_values=values)), ProducerConfig.parse({}), 9).forecasts[
        "mb_per_s"
    ]
    burnt = search(trial(2, 95, 9, window_values=values, kind=TrialKind.BURN_IN))
    assert learnt.shift_log[0] == pytest.approx(0.64, abs=0.01)
    assert plain.shift_log[0] == 0.0
    assert race_of(SPEC, burnt, ProducerConfig.parse({}), 9).forecasts["mb_per_s"] == plain
