"""Tests of the verdict on consumers: every cause has its sign, and the most certain sign wins."""

from dataclasses import fields, replace
from typing import Any

import pytest

from objectives.bottlenecks import Bottleneck
from objectives.consumer_verdict import ReadEvidence, judge_reading
from runners.measurements.resources import Resources

USED = frozenset(each.name for each in fields(Resources))

# A load for which nothing is at its limit.
QUIET = ReadEvidence(
    records_per_s=100_000,
    waiting_ratio=0.5,
    at_tail=False,
    lag_records=1_000_000,
    in_flight_requests=None,
    throttle_ms=0.0,
    receiving_ratio=0.3,
    resources=Resources(
        drain_demand_ratio=0.4,
        client_thread_demand_ratio=0.5,
        process_cpu_cores=1.0,
        broker_cpu_cores=0.4,
        broker_thread_demand_ratio=0.1,
        host_cpu_ratio=0.4,
        host_cores=4,
    ),
)

# In order of precedence, the most certain sign first.
SIGNS: list[tuple[Bottleneck, dict[str, Any]]] = [
    (Bottleneck.QUOTA, {"throttle_ms": 5.0}),
    (Bottleneck.OFFERED_RATE, {"at_tail": True, "lag_records": 2_000}),
    (Bottleneck.OTHER_PROCESSES, {"host_cpu_ratio": 0.99}),
    (Bottleneck.GENERATOR, {"waiting_ratio": 0.02}),
    (Bottleneck.CLIENT_THREAD, {"client_thread_demand_ratio": 0.95}),
    (Bottleneck.CLIENT_BUFFER, {"in_flight_requests": 0.2}),
    (Bottleneck.BROKER, {"broker_thread_demand_ratio": 0.95}),
    (Bottleneck.NETWORK, {"receiving_ratio": 0.97, "in_flight_requests": 0.95}),
    (Bottleneck.BROKER, {"in_flight_requests": 0.7}),
]


def known(evidence: ReadEvidence, **changes: Any) -> ReadEvidence:
    """Return the evidence with changed values, including values of its resources."""
    used = {name: value for name, value in changes.items() if name in USED}
    others = {name: value for name, value in changes.items() if name not in USED}
    return replace(evidence, resources=replace(evidence.resources, **used), **others)


def test_without_a_sign_nothing_is_claimed() -> None:
    assert judge_reading(QUIET).bound is Bottleneck.UNKNOWN


@pytest.mark.parametrize(("bound", "sign"), SIGNS)
def test_each_cause_has_its_sign(bound: Bottleneck, sign: dict[str, Any]) -> None:
    given = judge_reading(known(QUIET, **sign))
    assert given.bound is bound
    assert given.because


@pytest.mark.parametrize("number", range(len(SIGNS) - 1))
def test_a_more_certain_sign_wins(number: int) -> None:
    (bound, certain), (_, less) = SIGNS[number : number + 2]
    assert judge_reading(known(QUIET, **{**less, **certain})).bound is bound


def test_a_consumer_that_falls_behind_at_the_tail_is_not_limited_by_the_producers() -> None:
    behind = known(QUIET, at_tail=True, lag_records=500_000, waiting_ratio=0.02)
    assert judge_reading(behind).bound is Bottleneck.GENERATOR


def test_if_nothing_is_written_the_producers_are_the_limit() -> None:
    given = judge_reading(known(QUIET, at_tail=True, lag_records=0, records_per_s=0.0))
    assert given.bound is Bottleneck.OFFERED_RATE
    assert "nothing was written" in given.because


def test_a_local_broker_on_a_busy_host_is_the_limit() -> None:
    full = known(QUIET, host_cpu_ratio=0.97, broker_cpu_cores=1.0, process_cpu_cores=2.5)
    assert judge_reading(full).bound is Bottleneck.BROKER


def test_unknown_values_count_neither_for_nor_against_a_cause() -> None:
    assert judge_reading(ReadEvidence(records_per_s=1.0, waiting_ratio=0.5)).bound is Bottleneck.UNKNOWN
