"""When burn-in runs have shown that a broker has its normal speed."""

from math import inf

import pytest

from runners.workload import RecordSizes, Workload
from tests.helpers.measurements import window
from tuner.execution.trials.steadiness import UntilSteady, capacity_of, has_enough_burn_ins, is_steady
from tuner.execution.trials.stopping import PhaseProgress


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


def test_a_load_is_steady_when_its_throughput_no_longer_rises() -> None:
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
