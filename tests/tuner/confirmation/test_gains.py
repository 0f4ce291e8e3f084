"""A gain is claimed only if its whole interval is above 1, and only from rounds in which both sides were measured."""

import pytest

from objectives.ratios import claim_level, ratio_of
from tests.helpers.trials import OBJECTIVES, baseline, confirming, failed, plan_of, trial
from tuner.confirmation.gains import Confirmation, confirmations_of
from tuner.confirmation.plan import ConfirmationPlan
from tuner.confirmation.winners import MeasuredPlan
from tuner.model.trial import Trial, TrialKind

FAST, QUICK = {"linger.ms": "20"}, {"linger.ms": "1"}
BASE = baseline().fingerprint


def confirmed(trials: list[Trial], plan: ConfirmationPlan | None = None) -> tuple[Confirmation, ...]:
    return confirmations_of(
        [MeasuredPlan(plan or plan_of(trials), trials, {"mb_per_s": 100, "latency_p99_ms": 10}, OBJECTIVES)]
    )


def only(trials: list[Trial]) -> Confirmation:
    (found,) = confirmed(trials)
    return found


def test_gains_are_ratios_of_the_shared_rounds_and_above_one_is_better() -> None:
    found = only(confirming(0, [(150, 5), (300, 4)], [(100, 10), (200, 10)], FAST))
    assert found.fingerprint == trial(0, config=FAST).fingerprint
    assert str(found.gains["mb_per_s"]) == str(ratio_of([150, 300], [100, 200], level=claim_level(3)))
    # The throughput is proven without any doubt, and half of its share of the error goes to the latency.
    latency = ratio_of([10, 10], [5, 4], level=1 - 2 * 1.5 * 0.05 / 3)
    assert str(found.gains_without_stall["latency_p99_ms"]) == str(latency)
    assert found.gains["mb_per_s"].value == pytest.approx(1.5)
    assert found.gains["latency_p99_ms"].value == pytest.approx((2 * 2.5) ** 0.5)
    # All values come from the same rounds, also those of metrics without a gain.
    kept = {"delivered_ratio": 1.0, "held_rate_ratio": 1.0}
    assert found.values == pytest.approx({"mb_per_s": (150 * 300) ** 0.5, "latency_p99_ms": (5 * 4) ** 0.5, **kept})
    assert found.baseline == pytest.approx({"mb_per_s": (100 * 200) ** 0.5, "latency_p99_ms": 10, **kept})
    assert found.values["mb_per_s"] / found.baseline["mb_per_s"] == pytest.approx(found.gains["mb_per_s"].value)


def test_the_balance_is_the_geometric_mean_of_all_gains() -> None:
    found = only(confirming(0, [(200, 20), (200, 20)], [(100, 10), (100, 10)], FAST))
    assert found.mean_gain.value == pytest.approx(1.0), "twice as good in one and half as good in the other is no gain"
    found = only(confirming(0, [(400, 10), (400, 10)], [(100, 10), (100, 10)], FAST))
    assert (found.mean_gain.low, found.mean_gain.value, found.mean_gain.high) == pytest.approx((2, 2, 2))
    assert found.mean_gain.rounds == 2


def test_a_gain_is_better_only_if_its_whole_interval_is_above_1() -> None:
    rounds = [(100, 10)] * 3
    found = only(confirming(0, [(110, 10), (120, 11), (90, 9)], rounds, FAST))
    assert found.gains["mb_per_s"].value > 1.0 > found.gains["mb_per_s"].low
    assert not found.better("mb_per_s")
    assert only(confirming(0, [(110, 9), (112, 9), (109, 9)], rounds, FAST)).better("mb_per_s")
    assert not only(confirming(0, [(90, 9)] * 3, rounds, FAST)).better("mb_per_s")
    assert not only(confirming(0, [(100, 9)] * 3, rounds, FAST)).better("mb_per_s"), "equally good is not better"
    assert not found.better("records_per_s"), "a metric that was not compared is not better"


def test_only_rounds_with_config_and_baseline_count() -> None:
    trials = confirming(0, [(150, 5), (150, 5), (900, 1), (150, 5)], [(100, 10)] * 4, FAST)
    lost = failed(trials[4].number, kind=TrialKind.CONFIRM, config={}, round=2)
    found = only([*trials[:4], lost, *trials[5:]])
    assert found.gains["mb_per_s"].rounds == 3
    assert found.values["mb_per_s"] == 150


@pytest.mark.parametrize("rounds", [0, 1])
def test_fewer_than_two_shared_rounds_give_no_result(rounds: int) -> None:
    trials = confirming(0, [(150, 5)] * rounds, [(100, 10)] * rounds, FAST)
    alone = trial(8, 150, 5, kind=TrialKind.CONFIRM, config=FAST, round=5)
    theirs = trial(9, 100, 10, kind=TrialKind.CONFIRM, config={}, round=6)
    assert confirmed([*trials, alone, theirs]) == ()


def test_measurements_of_the_search_do_not_count() -> None:
    search = [baseline(0), trial(1, 150, 5, config=FAST), baseline(2), trial(3, 150, 5, config=FAST)]
    assert confirmed(search) == ()
    found = only([*search, *confirming(4, [(120, 9)] * 2, [(100, 10)] * 2, FAST)])
    assert found.values["mb_per_s"] == 120


def test_each_winner_is_compared_with_the_same_baseline() -> None:
    trials = confirming(0, [(150, 20)] * 2, [(100, 10)] * 2, FAST)
    trials += [trial(10 + n, 90, 4, kind=TrialKind.CONFIRM, config=QUICK, round=n) for n in range(2)]
    fast, quick = confirmed(trials)
    assert fast.gains["mb_per_s"].value == pytest.approx(1.5)
    assert quick.gains["latency_p99_ms"].value == pytest.approx(2.5)
    assert fast.baseline == quick.baseline


def test_without_rounds_of_the_baseline_there_is_no_result() -> None:
    trials = confirming(0, [(150, 20)] * 3, [(100, 10)] * 3, FAST)
    assert confirmed(trials) != ()
    assert confirmed(trials, plan_of(trials, rounds=9, first_round=7)) == (), (
        "rounds of an earlier confirmation do not count"
    )
    assert confirmed([each for each in trials if each.fingerprint != BASE]) == ()
    assert confirmations_of([]) == ()


def test_a_metric_that_a_round_lacks_has_no_gain() -> None:
    trials = [
        trial(
            n,
            100.0 + 50 * (n % 2),
            None if n == 3 else 8.0,
            kind=TrialKind.CONFIRM,
            config=FAST if n % 2 else {},
            round=n // 2,
        )
        for n in range(4)
    ]
    found = only(trials)
    assert list(found.gains) == ["mb_per_s"]
    assert "latency_p99_ms" not in found.values
    assert found.mean_gain.value == 1.0, "a mean gain needs all objectives"


def test_an_unproven_tail_latency_allows_for_one_more_stall() -> None:
    rounds = [(100, 9.0), (100, 9.2), (100, 8.9), (100, 9.1), (100, 9.0), (100, 9.3), (100, 8.8), (100, 9.0)]
    found = only(confirming(0, rounds, [(100, 10)] * 8, FAST))
    gain, calm = found.gains["latency_p99_ms"], found.gains_without_stall["latency_p99_ms"]
    assert calm.low > 1.0, "in these rounds, the p99 was better"
    assert gain.low == pytest.approx(calm.low / 4 ** (1 / 8))
    assert not found.better("latency_p99_ms")
    assert (gain.value, gain.high) == (calm.value, calm.high)
    assert any("a stall in one more of them would undo this gain" in each for each in found.caveats)
    proven = only(confirming(0, [(100, p99 / 2) for _, p99 in rounds], [(100, 10)] * 8, FAST))
    assert not proven.gains_without_stall
    assert proven.better("latency_p99_ms")


def test_latencies_without_a_gain_are_from_the_rounds_of_latencies_with_a_gain() -> None:
    trials: list[Trial] = []
    for turn, held in enumerate([1.0, 1.0, 0.5]):
        p50 = 4.0 if held == 1.0 else 400.0
        for config in ({}, FAST):
            extra = {"latency_p50_ms": p50, "held_rate_ratio": held}
            trials.append(
                trial(len(trials), 100, 100 * p50, kind=TrialKind.CONFIRM, config=config, round=turn, metrics=extra)
            )
    found = only(trials)
    for side in (found.values, found.baseline):
        assert side["latency_p50_ms"] == pytest.approx(4.0)
        assert side["latency_p99_ms"] == pytest.approx(400.0)
        assert side["held_rate_ratio"] < 1.0, "the share of the fixed rate is from all rounds"
