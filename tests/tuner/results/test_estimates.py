"""Repeated measurements of a config are averaged, and corrected for the baseline's drift."""

from collections.abc import Sequence

import numpy as np
import pytest

from tests.helpers.trials import OBJECTIVES, SIZE, baseline, results, trial
from tuner.model.trial import Trial, TrialKind
from tuner.results.estimates import Estimates
from tuner.results.search_state import SearchState

METRICS = ["mb_per_s", "latency_p99_ms"]
FAST = {"linger.ms": "20"}


def estimates(trials: Sequence[Trial]) -> Estimates:
    return Estimates.of(trials, METRICS, baseline().fingerprint)


def test_a_single_measurement_keeps_its_value_with_an_interval() -> None:
    found = estimates([baseline(0), trial(1, 123.4, 5.6, config=FAST)])
    mine = found.by_config[trial(1, config=FAST).fingerprint]["mb_per_s"]
    assert (mine.value, mine.repeats) == (123.4, 1)
    assert mine.low < 123.4 < mine.high


def test_repeats_of_any_kind_are_averaged_and_narrow_the_interval() -> None:
    trials = [baseline(0), trial(1, 200, 5, config=FAST)]
    trials += [trial(2 + n, 180, 5, kind=kind, config=FAST, round=0) for n, kind in enumerate([TrialKind.REPEAT] * 3)]
    found = results(trials)
    mine = found.estimates.by_config[trials[1].fingerprint]["mb_per_s"]
    single = found.estimates.by_config[trials[0].fingerprint]["mb_per_s"]
    assert mine.value == pytest.approx((200 * 180**3) ** 0.25)
    assert mine.high / mine.low < single.high / single.low
    assert found.metrics_of(trials[1])["mb_per_s"] == mine.value
    assert found.gain(trials[1], "mb_per_s") == pytest.approx(mine.value / 100)


def test_burn_in_runs_and_trials_stopped_early_do_not_count() -> None:
    trials = [
        trial(0, 10, 50, kind=TrialKind.BURN_IN),
        baseline(1),
        trial(2, 200, 5, config=FAST),
        trial(3, 20, 5, config=FAST, stopped_early="hopeless"),
    ]
    found = estimates(trials)
    assert found.by_config[trials[2].fingerprint]["mb_per_s"].value == 200
    assert found.by_config[trials[1].fingerprint]["mb_per_s"].value == 100


def test_values_are_corrected_for_the_baselines_drift() -> None:
    """The target loses a third of its speed over the study.

    A config that is measured late must not look worse for that.
    """
    rng = np.random.default_rng(5)
    trials = []
    for number in range(101):
        speed = 100 * np.exp(-0.4 * number / 100) * rng.lognormal(0, 0.01)
        if number % 10 == 0:
            trials.append(baseline(number, speed, 10))
        elif number in (1, 99):
            trials.append(trial(number, 1.3 * speed, 10))
    found = results(trials)
    early, late = found.trial(1), found.trial(99)
    assert late.metrics["mb_per_s"] / early.metrics["mb_per_s"] < 0.75
    gains = [found.gain(each, "mb_per_s") or 0.0 for each in (early, late)]
    assert gains[1] / gains[0] == pytest.approx(1.0, abs=0.1)
    assert found.estimates.drift_ratio == {"mb_per_s": pytest.approx(np.exp(0.4) - 1, rel=0.2)}


def test_a_config_that_only_noise_keeps_off_the_front_is_near_it() -> None:
    trials = [baseline(0), trial(1, 200, 5), trial(2, 198, 5.1), trial(3, 120, 9)]
    found = results(trials)
    assert found.front == (1,)
    assert found.near_front == (2,)


def test_a_config_is_on_the_front_by_its_mean_not_by_a_lucky_trial() -> None:
    trials = [baseline(0), trial(1, 200, 10, config=FAST), trial(2, 150, 10)]
    assert results(trials).front == (1,)
    looks = [trial(3 + n, 120, 10, kind=TrialKind.REPEAT, config=FAST, round=n) for n in range(4)]
    assert results([*trials, *looks]).front == (2,)


def test_a_sampler_gets_corrected_values_and_the_same_after_a_resume() -> None:
    rng = np.random.default_rng(6)
    trials = []
    for number in range(100):
        speed = 100 * np.exp(-0.5 * number / 100) * rng.lognormal(0, 0.01)
        make = baseline if number % 5 == 0 else trial
        trials.append(make(number, speed, 10 * rng.lognormal(0, 0.01)))
    live, told = SearchState(SIZE, OBJECTIVES), []
    for each in trials:
        live.add(each)
        told.append(live.without_drift(each).objectives)
    whole = SearchState(SIZE, OBJECTIVES, trials)
    assert [whole.without_drift(each).objectives for each in trials] == told
    assert trials[98].objectives[0] / trials[21].objectives[0] < 0.75  # type: ignore[operator]
    assert told[98][0] / told[21][0] == pytest.approx(1.0, abs=0.12)  # type: ignore[operator]


def test_a_full_paced_phase_replaces_a_shortened_one() -> None:
    short = trial(1, 110, 3, config=FAST, saved_s=8.0)
    mine = trial(1, config=FAST).fingerprint
    alone = estimates([baseline(0), short]).by_config[mine]
    assert (alone["mb_per_s"].value, alone["latency_p99_ms"].value) == (110, 3)
    both = estimates([baseline(0), short, trial(2, 110, 5, config=FAST, kind=TrialKind.REPEAT)]).by_config[mine]
    assert (both["latency_p99_ms"].value, both["latency_p99_ms"].repeats) == (5, 1)
    assert both["mb_per_s"].repeats == 2


def test_a_config_measured_often_has_its_own_scatter() -> None:
    wild = [trial(10 + n, 100, p99, config=FAST) for n, p99 in enumerate([5, 20, 8, 14, 6, 18])]
    calm = [trial(20 + n, 100, p99, config={"linger.ms": "1"}) for n, p99 in enumerate([5, 5.1, 4.9, 5, 5.1, 4.9])]
    found = estimates([*(baseline(n, p99_ms=10 + n / 10) for n in range(3)), *wild, *calm])
    widths = [
        (each.high - each.low) / each.value
        for each in (found.by_config[measured[0].fingerprint]["latency_p99_ms"] for measured in (wild, calm))
    ]
    assert widths[0] > 1.5 * widths[1]


def _changing(speeds: Sequence[float]) -> list[Trial]:
    """Return a search on a target whose speed is given for each trial; every fourth trial measures the baseline."""
    return [
        baseline(number, speed, 10) if number % 4 == 0 else trial(number, 1.1 * speed, 10)
        for number, speed in enumerate(speeds)
    ]


@pytest.mark.parametrize(
    ("slow", "ratio", "forgotten"),
    [(8, 2.0, True), (20, 2.0, True), (20, 0.5, True), (20, 1.3, False), (29, 2.0, False)],
    ids=["warming", "half a search", "a target that became slower", "a small change", "too few trials are left"],
)
def test_early_trials_that_would_be_corrected_by_a_factor_of_two_are_forgotten(
    slow: int, ratio: float, forgotten: bool
) -> None:
    trials = _changing([100.0] * slow + [ratio * 100.0] * (40 - slow))
    found = Estimates.of(trials, METRICS, baseline().fingerprint, ["mb_per_s"])
    assert found.drift["mb_per_s"].factor(0) == pytest.approx(ratio, rel=0.1)
    assert bool(found.forgotten) is forgotten
    if forgotten:
        assert max(found.forgotten) in (slow - 1, slow - 2, slow - 3)
