"""The comparison of a user's config with the baseline: guarantee, missing values, constraints of the study."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from objectives.scoring import Constraint, Objective
from search_spaces.configs.guarantee import DURABILITY
from search_spaces.configs.producer_config import ProducerConfig
from tests.helpers.studies import simulated_study
from tests.helpers.trials import OBJECTIVES, baseline, plan_of, results, trial
from tuner.model.spec import StudySpec
from tuner.model.trial import TrialKind
from tuner.results.comparisons.size_verification import (
    SizeVerification,
    VerificationOutcome,
    WhyNotCompared,
    guarantees_of,
    missing_latency,
    verification_of,
)

FAST = {"linger.ms": "1"}
IDEMPOTENT = {"enable.idempotence": "true"}
Numbers = tuple[float | None, float | None]


def spec_of(
    config: Mapping[str, str],
    against: Mapping[str, str] = {},
    *constraints: Constraint,
    objectives: tuple[Objective, ...] = OBJECTIVES,
) -> StudySpec:
    study = simulated_study((1000,))
    confirm = replace(study.confirm, configs=(ProducerConfig.parse(config),))
    return replace(
        study,
        baseline=ProducerConfig.parse(against),
        confirm=confirm,
        constraints=constraints,
        objectives=objectives,
    )


def found_of(spec: StudySpec, ours: Sequence[Numbers], theirs: Sequence[Numbers]) -> SizeVerification:
    """Return the comparison for rounds with these throughputs and latencies."""
    (config,) = spec.confirm.configs
    trials = [baseline(0, config=spec.baseline.values, objectives=spec.objectives)]
    for number, (mine, other) in enumerate(zip(ours, theirs, strict=True)):
        for numbers, values in ((other, spec.baseline.values), (mine, config.values)):
            asked: dict[str, Any] = {"kind": TrialKind.CONFIRM, "round": number, "objectives": spec.objectives}
            trials.append(trial(len(trials), *numbers, config=values, **asked))
    plan = replace(plan_of(trials, {}, rounds=len(ours)), baseline=spec.baseline.fingerprint)
    return verification_of(results(trials, spec.objectives, plan), spec)


def missed_by(found: SizeVerification, *, allow_weaker: bool = False) -> list[str]:
    return found.misses(min_gain=None, tolerance_ratio=0.0, allow_weaker=allow_weaker)


@pytest.mark.parametrize(
    ("config", "against", "weaker"),
    [
        ({"acks": "0"}, {}, True),
        ({"acks": "1"}, {}, True),
        ({"acks": "0"}, {"acks": "1"}, True),
        ({}, IDEMPOTENT, True),
        ({"max.in.flight": "1"}, IDEMPOTENT, True),
        ({}, {"max.in.flight": "1"}, True),
        (FAST, {}, False),
        (IDEMPOTENT, {}, False),
        ({}, {"acks": "1"}, False),
        ({"acks": "0", **FAST}, {"acks": "0"}, False),
    ],
)
def test_a_weaker_guarantee_is_rejected_unless_it_is_allowed(
    config: Mapping[str, str], against: Mapping[str, str], weaker: bool
) -> None:
    guarantees = guarantees_of(spec_of(config, against))
    assert guarantees.weaker is weaker
    assert bool(guarantees.misses(allow_weaker=False)) is weaker
    assert guarantees.misses(allow_weaker=True) == []


def test_a_study_can_set_the_least_guarantee() -> None:
    spec = spec_of({"acks": "1"})
    allowed = guarantees_of(spec, DURABILITY["leader"])
    assert allowed.weaker
    assert allowed.misses(allow_weaker=False) == []
    (missed,) = guarantees_of(spec, DURABILITY["idempotent"]).misses(allow_weaker=False)
    assert (
        "the guarantee is weaker: acks=1, may reorder on retry, but the study requires at least acks=all, ordered"
        in missed
    )


def test_both_guarantees_are_named() -> None:
    guarantees = guarantees_of(spec_of({"acks": "1"}))
    (missed,) = guarantees.misses(allow_weaker=False)
    for said in (missed, str(guarantees)):
        assert "acks=1, may reorder on retry" in said
        assert "acks=all, may reorder on retry" in said
    assert str(guarantees_of(spec_of(FAST))) == "acks=all, may reorder on retry (the same as the baseline's)"
    assert "the baseline's is different: acks=1" in str(guarantees_of(spec_of({}, {"acks": "1"})))


@pytest.mark.parametrize(("config", "against"), [({"acks": "0"}, {}), ({}, {"acks": "0"})])
def test_a_config_fails_if_one_side_lacks_a_latency(config: Mapping[str, str], against: Mapping[str, str]) -> None:
    spec = spec_of(config, against)
    (mine, other) = [None if side.acks == 0 else 10.0 for side in (spec.confirm.configs[0], spec.baseline)]
    found = found_of(spec, [(150.0, mine)] * 2, [(100.0, other)] * 2)
    assert list(found.gains) == ["mb_per_s"]
    assert found.not_compared == {"latency_p99_ms": WhyNotCompared.ONE_WITHOUT_ACKS}
    (missed,) = missed_by(found)
    assert missed.startswith(
        "latency p99: could not be compared: the config or the baseline has no value, because with acks=0"
    )
    assert missed_by(found, allow_weaker=True) == []


def test_a_latency_that_neither_side_can_have_is_no_miss() -> None:
    found = found_of(spec_of({"acks": "0", **FAST}, {"acks": "0"}), [(150.0, None)] * 2, [(100.0, None)] * 2)
    assert found.not_compared == {"latency_p99_ms": WhyNotCompared.BOTH_WITHOUT_ACKS}
    assert missed_by(found) == []


@pytest.mark.parametrize(
    ("ours", "metric", "label"),
    [
        ([(150.0, 9.0), (150.0, None)], "latency_p99_ms", "latency p99"),
        ([(None, 9.0), (150.0, 9.0)], "mb_per_s", "throughput"),
    ],
)
def test_a_value_missing_in_a_round_is_always_a_miss(ours: Sequence[Numbers], metric: str, label: str) -> None:
    found = found_of(spec_of(FAST), ours, [(100.0, 10.0)] * 2)
    assert found.not_compared == {metric: WhyNotCompared.UNMEASURED}
    for allow_weaker in (False, True):
        (missed,) = missed_by(found, allow_weaker=allow_weaker)
        assert missed.startswith(f"{label}: could not be compared")


def test_a_study_without_a_paced_phase_needs_no_latency() -> None:
    found = found_of(spec_of(FAST, objectives=OBJECTIVES[:1]), [(150.0, None)] * 2, [(100.0, None)] * 2)
    assert found.not_compared == {}
    assert missed_by(found) == []


def test_the_studys_objectives_are_compared_too() -> None:
    objectives = (OBJECTIVES[0], Objective("latency_p95_ms"))
    found = found_of(spec_of(FAST, objectives=objectives), [(150.0, 9.0)] * 2, [(100.0, 10.0)] * 2)
    assert found.not_compared == {"latency_p95_ms": WhyNotCompared.UNMEASURED}


def test_an_interval_that_says_nothing_is_neither_a_pass_nor_a_miss() -> None:
    ours = [(100.0, 4.0), (101.0, 40.0), (102.0, 9.0)]
    found = found_of(spec_of(FAST), ours, [(90.0, 10.0)] * 3)
    assert missed_by(found) == []
    (sentence,) = found.undecided(None, 0.0)
    assert sentence.startswith("latency p99: undecided: 0.89 (0.")
    assert sentence.endswith("longer measurements (--seconds) or a quieter machine would decide it")
    both = {"mb_per_s": VerificationOutcome.BETTER, "latency_p99_ms": VerificationOutcome.UNDECIDED}
    assert found.outcomes(None, 0.0) == both
    assert found.outcomes(None, 0.999) == {**both, "latency_p99_ms": VerificationOutcome.SAME}
    assert found.outcomes(1e6, 0.0)["latency_p99_ms"] is VerificationOutcome.SAME
    assert found.undecided(None, 0.999) == [], "the whole interval is within what may be lost"
    assert found.misses(1e6, 0.0, allow_weaker=False)[1].startswith("latency p99: the interval"), "surely too little"


@pytest.mark.parametrize(
    ("tolerance_ratio", "missed", "undecided"),
    [(0.0, True, False), (0.05, True, False), (0.3, False, True), (0.8, False, False)],
)
def test_a_worse_file_with_a_wide_interval_is_undecided_where_it_may_be_worse_than_tolerated(
    tolerance_ratio: float, missed: bool, undecided: bool
) -> None:
    found = found_of(spec_of(FAST), [(100.0, p99) for p99 in (11.0, 30.0) * 4], [(90.0, 10.0)] * 8)
    gain = found.gains["latency_p99_ms"]
    assert (gain.low, gain.high) == pytest.approx((0.35, 0.86), abs=0.01)
    word = found.outcomes(None, tolerance_ratio)["latency_p99_ms"]
    assert word is (VerificationOutcome.UNDECIDED if undecided else VerificationOutcome.WORSE)
    assert bool(found.misses(None, tolerance_ratio, allow_weaker=False)) is missed
    sentences = found.undecided(None, tolerance_ratio)
    assert bool(sentences) is undecided
    assert all("does not say whether that is at least the 0.7" in each for each in sentences)


def test_how_many_rounds_would_decide_is_reported_if_they_are_not_too_many() -> None:
    ours = [(100.0, p99) for p99 in (7.0, 14.0, 9.0, 12.0, 6.0, 15.0)]
    (sentence,) = found_of(spec_of(FAST), ours, [(90.0, 10.0)] * 6).undecided(None, 0.0)
    assert re.search(r"; about \d+ rounds \(--rounds\), longer measurements", sentence)


@pytest.mark.parametrize(("config", "against"), [({"acks": "0"}, {}), ({}, {"acks": "0"})])
def test_a_latency_that_one_side_cannot_have_is_known_beforehand(
    config: Mapping[str, str], against: Mapping[str, str]
) -> None:
    (refused,) = missing_latency(spec_of(config, against), allow_weaker=False)
    assert refused.startswith("latencies could not be compared")
    assert missing_latency(spec_of(config, against), allow_weaker=True) == []
    assert missing_latency(spec_of({"acks": "0", **FAST}, {"acks": "0"}), allow_weaker=False) == []


P99_LIMIT = Constraint("latency_p99_ms", at_most=True, limit=10)
NO_SLOWER = Constraint("mb_per_s", at_most=False, limit=0.9, of_baseline=True)
CPU = Constraint("broker_cpu_ms_per_mb", at_most=True, limit=5)


@pytest.mark.parametrize(
    ("constraint", "ours", "broken"),
    [
        (P99_LIMIT, [(100.0, 9.0), (100.0, 10.5)], ""),
        (P99_LIMIT, [(100.0, 9.0), (100.0, 12.0)], "the study requires latency_p99_ms <= 10, but the mean is 10.39"),
        (NO_SLOWER, [(81.0, 9.0), (101.0, 9.0)], ""),
        (NO_SLOWER, [(80.0, 9.0), (99.0, 9.0)], "but the mean is 88.99, and the baseline's is 100"),
        (CPU, [(100.0, 9.0)] * 2, "could not be checked, because the config has no broker_cpu_ms_per_mb"),
    ],
)
def test_the_means_must_keep_the_studys_constraints(
    constraint: Constraint, ours: Sequence[Numbers], broken: str
) -> None:
    found = found_of(spec_of(FAST, {}, constraint), ours, [(100.0, 10.0)] * 2)
    assert bool(found.broken) is bool(broken)
    missed = found.misses(min_gain=None, tolerance_ratio=0.9, allow_weaker=True)
    assert missed == list(found.broken)
    assert all(broken in sentence for sentence in missed)


def test_a_fixed_rate_that_was_not_held_is_a_miss() -> None:
    spec = spec_of(FAST)
    (config,) = spec.confirm.configs
    trials = [baseline(0)]
    for number, held in enumerate([1.0, 1.0, 1.0, 0.7]):
        trials.append(trial(len(trials), 100, 10, kind=TrialKind.CONFIRM, round=number, config={}))
        behind = {"held_rate_ratio": held}
        trials.append(
            trial(len(trials), 100, 5, kind=TrialKind.CONFIRM, round=number, config=config.values, metrics=behind)
        )
    plan = replace(plan_of(trials, {}, rounds=4), baseline=spec.baseline.fingerprint)
    found = verification_of(results(trials, OBJECTIVES, plan), spec)
    assert found.not_compared == {"latency_p99_ms": WhyNotCompared.RATE_MISSED}, (
        "5 ms at 70 % of the rate are not better"
    )
    unknown, missed = missed_by(found)
    assert unknown.endswith("missed the fixed rate, and its latency does not show that it was slower")
    assert missed == "the fixed rate must be held in 9 of 10 rounds, but was not: held_rate_ratio >= 0.95"


def test_without_a_held_rate_there_is_no_latency_to_compare() -> None:
    spec = spec_of(FAST)
    trials = [baseline(0)]
    for number in range(3):
        for config, rate in ((spec.baseline, 1.0), (spec.confirm.configs[0], 0.5)):
            held = {"held_rate_ratio": rate}
            trials.append(
                trial(len(trials), 100, 9, kind=TrialKind.CONFIRM, round=number, config=config.values, metrics=held)
            )
    found = verification_of(results(trials, OBJECTIVES, plan_of(trials, {}, rounds=3)), spec)
    unknown, behind = missed_by(found, allow_weaker=True)
    assert unknown.startswith("latency p99: could not be compared")
    assert unknown.endswith("missed the fixed rate, and its latency does not show that it was slower")
    assert behind.startswith("the fixed rate must be held")


def test_a_limit_relative_to_a_missing_baseline_value_is_a_miss() -> None:
    limit = Constraint("latency_p99_ms", at_most=True, limit=1.2, of_baseline=True)
    found = found_of(spec_of({}, {"acks": "0"}, limit), [(150.0, 9.0)] * 2, [(100.0, None)] * 2)
    (broken,) = found.broken
    assert broken.endswith("could not be checked, because the baseline has no latency_p99_ms")


def test_without_measurements_no_metric_is_a_miss() -> None:
    found = found_of(spec_of(FAST, {}, P99_LIMIT), [(150.0, 9.0)], [(100.0, 10.0)])
    assert not found.measured
    assert found.not_compared == {}
    assert missed_by(found) == []
