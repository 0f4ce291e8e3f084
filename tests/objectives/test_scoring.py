"""Tests of objectives, constraints and scores: a constraint without a value counts as broken."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from objectives.metrics import OUTCOME_METRICS, Direction
from objectives.scoring import ALWAYS, LEAST_HELD_RATIO, Constraint, Objective, Score, score

THROUGHPUT, P99 = Objective("mb_per_s"), Objective("latency_p99_ms")
GOOD = {"mb_per_s": 50.0, "latency_p99_ms": 8.0, "delivered_ratio": 1.0, "held_rate_ratio": 1.0}
POSITIVE = st.floats(0.001, 1e6)


def at_most(limit: float, metric: str = "latency_p99_ms", **changes: Any) -> Constraint:
    return Constraint(metric, at_most=True, limit=limit, **changes)


def at_least(limit: float, metric: str = "mb_per_s", **changes: Any) -> Constraint:
    return Constraint(metric, at_most=False, limit=limit, **changes)


def test_an_objective_has_its_metrics_direction_and_phase() -> None:
    assert (THROUGHPUT.direction, THROUGHPUT.paced) == (Direction.MAXIMIZE, False)
    assert (P99.direction, P99.paced) == (Direction.MINIMIZE, True)


@pytest.mark.parametrize("make", [Objective, lambda name: at_least(1.0, name)])
def test_an_unknown_metric_is_refused_with_a_list_of_all_metrics(make: Any) -> None:
    with pytest.raises(ValueError, match=r"mb_per_s, .*but got 'latency_p42_ms'"):
        make("latency_p42_ms")


@pytest.mark.parametrize("limit", [0.0, -1.0, float("inf"), float("nan")])
def test_a_limit_must_be_positive_and_finite(limit: float) -> None:
    with pytest.raises(ValueError, match="above 0"):
        at_most(limit)


@settings(max_examples=60)
@given(st.sampled_from(sorted(OUTCOME_METRICS)), POSITIVE, st.floats(1.01, 100))
def test_a_gain_is_how_many_times_better_whatever_the_direction(name: str, baseline: float, factor: float) -> None:
    objective = Objective(name)
    better = baseline * factor if objective.direction is Direction.MAXIMIZE else baseline / factor
    assert objective.gain(better, baseline) == pytest.approx(factor)
    assert objective.gain(baseline, better) == pytest.approx(1 / factor)
    assert objective.gain(baseline, baseline) == 1.0


@pytest.mark.parametrize(("value", "baseline"), [(0.0, 1.0), (1.0, 0.0), (-1.0, 1.0)])
def test_the_gain_of_or_over_zero_is_zero(value: float, baseline: float) -> None:
    assert THROUGHPUT.gain(value, baseline) == P99.gain(value, baseline) == 0.0


@pytest.mark.parametrize(
    ("constraint", "value", "baseline", "violation"),
    [
        (at_most(10), 12, None, 0.2),
        (at_most(10), 10, None, 0.0),
        (at_most(10), 5, 1.0, -0.5),
        (at_least(50), 40, None, 0.2),
        (at_least(50), 50, None, 0.0),
        (at_least(50), 75, 1_000.0, -0.5),
        (at_least(0.9, of_baseline=True), 45, 100.0, 0.5),
        (at_least(0.9, of_baseline=True), 90, 100.0, 0.0),
        (at_most(1.5, of_baseline=True), 4.5, 2.0, 0.5),
        (at_most(1.5, of_baseline=True), 1.5, 2.0, -0.5),
        (at_least(0.9, of_baseline=True), 1, None, 0.0),
        (at_least(0.9, of_baseline=True), 1, 0.0, 0.0),
    ],
)
def test_a_violation_is_the_share_by_which_the_limit_is_broken(
    constraint: Constraint, value: float, baseline: float | None, violation: float
) -> None:
    assert constraint.violation(value, baseline) == pytest.approx(violation)


@pytest.mark.parametrize(
    ("constraint", "text"),
    [
        (at_most(10), "latency_p99_ms <= 10"),
        (at_most(2.5), "latency_p99_ms <= 2.5"),
        (at_least(0.9, of_baseline=True), "mb_per_s >= 0.9 x baseline"),
    ],
)
def test_a_constraint_as_text_is_as_users_write_it(constraint: Constraint, text: str) -> None:
    assert str(constraint) == text


def test_a_feasible_score_has_the_margin_of_every_constraint() -> None:
    judged = score(GOOD, (THROUGHPUT, P99), (at_most(10),))
    assert judged.values == (50.0, 8.0)
    assert judged.feasible
    assert judged.violations == pytest.approx(
        {
            "delivered_ratio >= 1": 0.0,
            "held_rate_ratio >= 0.95": (LEAST_HELD_RATIO - 1.0) / LEAST_HELD_RATIO,
            "latency_p99_ms <= 10": -0.2,
        }
    )


@pytest.mark.parametrize(
    ("changes", "missed"),
    [
        ({"delivered_ratio": 0.999}, "delivered_ratio >= 1"),
        ({"held_rate_ratio": 0.94}, "held_rate_ratio >= 0.95"),
        ({"latency_p99_ms": 11.0}, "latency_p99_ms <= 10"),
    ],
)
def test_one_broken_constraint_makes_a_trial_infeasible(changes: dict[str, float], missed: str) -> None:
    judged = score({**GOOD, **changes}, (THROUGHPUT, P99), (at_most(10),))
    assert not judged.feasible
    assert [name for name, violation in judged.violations.items() if violation > 0] == [missed]


def test_a_relative_constraint_is_compared_with_the_baseline() -> None:
    constraint = at_least(0.9, of_baseline=True)
    assert score(GOOD, (P99,), (constraint,), {"mb_per_s": 55.0}).feasible
    assert not score(GOOD, (P99,), (constraint,), {"mb_per_s": 56.0}).feasible
    assert score(GOOD, (P99,), (constraint,)).feasible, "the first baseline has nothing to be compared with"


def test_an_objective_without_a_value_makes_a_trial_infeasible() -> None:
    judged = score({"mb_per_s": 50.0, "delivered_ratio": 1.0}, (THROUGHPUT, P99), ())
    assert judged.values == (50.0, None)
    assert not judged.feasible
    assert judged.violations["latency_p99_ms measured"] == 1.0


def test_a_constraint_without_a_value_is_broken() -> None:
    judged = score({"mb_per_s": 50.0, "delivered_ratio": 1.0}, (THROUGHPUT,), (at_most(10),))
    assert not judged.feasible
    assert judged.violations["latency_p99_ms <= 10"] == 1.0


def test_a_config_without_any_metric_breaks_every_constraint() -> None:
    judged = score({}, (THROUGHPUT, P99), (at_most(10),))
    assert judged.values == (None, None)
    assert judged.violations == {
        "latency_p99_ms <= 10": 1.0,
        "mb_per_s measured": 1.0,
        "latency_p99_ms measured": 1.0,
    }


def test_a_study_without_a_paced_phase_need_not_hold_a_rate() -> None:
    judged = score({"mb_per_s": 50.0, "delivered_ratio": 1.0}, (THROUGHPUT,), ())
    assert judged.feasible
    assert list(judged.violations) == ["delivered_ratio >= 1"]


def test_every_study_has_constraints_on_loss_and_on_the_rate() -> None:
    assert [str(constraint) for constraint in ALWAYS] == ["delivered_ratio >= 1", "held_rate_ratio >= 0.95"]


def test_a_violation_of_exactly_zero_is_feasible() -> None:
    assert Score((1.0,), {"a": 0.0}).feasible
    assert not Score((1.0,), {"a": 1e-12}).feasible
