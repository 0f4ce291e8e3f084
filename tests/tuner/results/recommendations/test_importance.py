"""Knob importance finds the knob that matters, and gives no answer for few trials."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.helpers.stored_studies import failed, study
from tuner.model.trial import Trial
from tuner.results.recommendations.explanation import FRONT, knob_importance


def only_linger_counts(trial: Trial) -> Trial:
    if not trial.params:
        return trial
    linger_ms = float(trial.params["linger.ms"])
    numbers = {"mb_per_s": linger_ms, "latency_p99_ms": 100 / linger_ms}
    return replace(trial, metrics=numbers, objectives=tuple(numbers.values()), violations={})


def test_the_knob_that_decides_comes_first(tmp_path: Path) -> None:
    found = knob_importance(study(tmp_path, change=only_linger_counts).sizes[0])
    assert list(found) == ["mb_per_s", "latency_p99_ms", FRONT]
    for shares in found.values():
        assert next(iter(shares)) == "linger.ms"
        assert sum(shares.values()) == pytest.approx(1.0)


def test_knobs_that_do_nothing_get_next_to_nothing(tmp_path: Path) -> None:
    for shares in knob_importance(study(tmp_path, change=only_linger_counts).sizes[0]).values():
        assert shares["linger.ms"] > 0.9


def test_pure_noise_has_no_importance(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)

    def noise(trial: Trial) -> Trial:
        numbers = {"mb_per_s": rng.lognormal(3, 0.2), "latency_p99_ms": rng.lognormal(1, 0.2)}
        return replace(trial, metrics=numbers, objectives=tuple(numbers.values()), violations={})

    assert knob_importance(study(tmp_path, change=noise).sizes[0]) == {}


def test_each_objective_has_its_own_most_important_knob(tmp_path: Path) -> None:
    def apart(trial: Trial) -> Trial:
        if not trial.params:
            return trial
        numbers = {
            "mb_per_s": float(trial.params["batch.size"]) ** 0.3,
            "latency_p99_ms": float(trial.params["linger.ms"]),
        }
        return replace(trial, metrics=numbers, objectives=tuple(numbers.values()), violations={})

    found = knob_importance(study(tmp_path, trials=60, change=apart).sizes[0])
    assert next(iter(found["mb_per_s"])) == "batch.size"
    assert next(iter(found["latency_p99_ms"])) == "linger.ms"
    assert set(list(found[FRONT])[:2]) == {"batch.size", "linger.ms"}


def test_one_objective_has_one_importance(tmp_path: Path) -> None:
    assert list(knob_importance(study(tmp_path, facts={"objectives": ["mb_per_s"]}).sizes[0])) == ["mb_per_s"]


@pytest.mark.parametrize("trials", [0, 1, 8])
def test_few_trials_have_no_importance(tmp_path: Path, trials: int) -> None:
    assert knob_importance(study(tmp_path, trials=trials, rounds=0).sizes[0]) == {}


def test_trials_that_failed_do_not_count(tmp_path: Path) -> None:
    assert knob_importance(study(tmp_path, change=failed).sizes[0]) == {}


def test_a_knob_that_only_some_trials_have_is_ranked_too(tmp_path: Path) -> None:
    def conditional(trial: Trial) -> Trial:
        if trial.params.get("compression.type") in (None, "none"):
            return trial
        return replace(trial, params={**trial.params, "compression.level": trial.number % 5})

    found = knob_importance(study(tmp_path, change=conditional).sizes[0])
    assert set(found[FRONT]) == {"linger.ms", "compression.type", "batch.size", "compression.level"}


def test_a_knob_that_never_changed_is_left_out(tmp_path: Path) -> None:
    def fixed(trial: Trial) -> Trial:
        return replace(trial, params={**trial.params, "acks": "all"} if trial.params else {})

    assert "acks" not in knob_importance(study(tmp_path, change=fixed).sizes[0])[FRONT]
