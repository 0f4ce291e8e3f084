"""Tests of the verdict: every cause has its sign, the most certain sign wins, and unknown values do not count."""

from dataclasses import asdict, fields, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from objectives.bottlenecks import Bottleneck
from objectives.producer_verdict import Evidence, judge
from runners.measurements.histogram import Histogram
from runners.measurements.measurement import Origin
from runners.measurements.resources import Resources
from runners.workload import RecordSizes, Workload
from tests.helpers.measurements import activity, end_to_end, measurement

USED = frozenset(each.name for each in fields(Resources))


def known(evidence: Evidence, **changes: Any) -> Evidence:
    """Return the evidence with changed values, including values of its resources."""
    used = {name: value for name, value in changes.items() if name in USED}
    others = {name: value for name, value in changes.items() if name not in USED}
    return replace(evidence, resources=replace(evidence.resources, **used), **others)


# A saturating load for which nothing is at its limit.
SATURATING = Evidence(
    records_per_s=100_000,
    mb_per_s=100.0,
    duration_s=10.0,
    mean_latency_ms=50.0,
    queue_full_ratio=0.9,
    queue_growth_ratio=0.0,
    queued_bytes=1_000_000,
    in_flight_requests=0.2,
    throttle_ms=0.0,
    resources=Resources(
        sender_demand_ratio=0.2,
        drain_demand_ratio=0.1,
        client_thread_demand_ratio=0.3,
        process_cpu_cores=2.5,
        broker_cpu_cores=0.4,
        broker_thread_demand_ratio=0.1,
        host_cpu_ratio=0.4,
        host_cores=4,
        network_limited_ratio=0.0,
        receiver_limited_ratio=0.0,
    ),
)
PACED = known(
    SATURATING, offered_records_per_s=200_000, queue_full_ratio=0.0, send_delay_ms=0.2, queue_growth_ratio=0.0
)

MAYBE_UNKNOWN = [each.name for each in fields(Evidence) if each.name not in ("records_per_s", "resources")] + [
    each for each, value in asdict(SATURATING.resources).items() if value is not None
]

# In order of precedence, the most certain sign first.
SIGNS: list[tuple[Bottleneck, dict[str, Any]]] = [
    (Bottleneck.QUOTA, {"throttle_ms": 5.0}),
    (Bottleneck.OTHER_PROCESSES, {"host_cpu_ratio": 0.97, "process_cpu_cores": 0.5, "broker_cpu_cores": 0.4}),
    (Bottleneck.CLIENT_THREAD, {"client_thread_demand_ratio": 0.95}),
    (Bottleneck.NETWORK, {"network_limited_ratio": 0.6}),
    (Bottleneck.NETWORK, {"link_used_ratio": 0.97, "receiver_limited_ratio": 0.9}),
    (Bottleneck.BROKER, {"broker_thread_demand_ratio": 0.95}),
    (Bottleneck.BROKER, {"broker_cpu_cores": 3.7}),
    (Bottleneck.BROKER, {"receiver_limited_ratio": 0.6}),
    (Bottleneck.BROKER, {"in_flight_requests": 2.0}),
    (Bottleneck.BROKER, {"in_flight_requests": 0.95, "host_cpu_ratio": 0.97}),
]


@pytest.mark.parametrize(("bound", "sign"), SIGNS)
def test_each_sign_alone_gives_its_verdict(bound: Bottleneck, sign: dict[str, Any]) -> None:
    assert judge(known(SATURATING, **sign)).bound is bound


@pytest.mark.parametrize("later", range(len(SIGNS)))
@pytest.mark.parametrize("sooner", range(len(SIGNS)))
def test_the_more_certain_of_two_signs_decides(sooner: int, later: int) -> None:
    sooner, later = sorted((sooner, later))
    seen = known(SATURATING, **{**SIGNS[later][1], **SIGNS[sooner][1]})
    assert judge(seen).bound is SIGNS[sooner][0]


@pytest.mark.parametrize(("bound", "sign"), SIGNS)
def test_no_sign_outweighs_a_quota_or_the_requested_rate(bound: Bottleneck, sign: dict[str, Any]) -> None:
    held = known(PACED, records_per_s=199_990, **sign)
    assert judge(held).bound is (Bottleneck.QUOTA if bound is Bottleneck.QUOTA else Bottleneck.OFFERED_RATE)


@pytest.mark.parametrize(("bound", "sign"), SIGNS)
def test_a_sender_that_never_waits_is_the_limit_whatever_else_is_busy(bound: Bottleneck, sign: dict[str, Any]) -> None:
    verdict = judge(known(SATURATING, queue_full_ratio=0.02, **sign))
    surer = (Bottleneck.QUOTA, Bottleneck.OTHER_PROCESSES)
    assert verdict.bound is (bound if bound in surer else Bottleneck.GENERATOR)
    assert verdict.says_nothing_of_config == (verdict.bound is not Bottleneck.QUOTA)


def test_a_sender_that_is_busy_in_the_client_s_code_shows_the_client_s_limit() -> None:
    """The Java client compresses in the thread that sends, so that thread never waits for a full queue."""
    never_waits = replace(SATURATING, queue_full_ratio=0.0)
    assert judge(known(never_waits, sender_in_client_ratio=0.2)).bound is Bottleneck.GENERATOR
    verdict = judge(known(never_waits, sender_in_client_ratio=0.9))
    assert verdict.bound is Bottleneck.CLIENT_THREAD
    assert "90 %" in verdict.because


def test_other_processes_do_not_slow_a_thread_that_has_its_own_core() -> None:
    busy = known(SATURATING, host_cpu_ratio=1.0, process_cpu_cores=0.9, client_thread_demand_ratio=0.95)
    assert judge(busy).bound is Bottleneck.OTHER_PROCESSES
    assert judge(known(busy, client_thread_cpu_ratio=0.92)).bound is Bottleneck.CLIENT_THREAD


def test_other_processes_are_blamed_only_if_the_brokers_share_is_known() -> None:
    busy = known(SATURATING, host_cpu_ratio=1.0, process_cpu_cores=0.5)
    assert judge(busy).bound is Bottleneck.OTHER_PROCESSES
    assert "3.1 of its 4 cores" in judge(busy).because
    assert judge(known(busy, broker_cpu_cores=None)).bound is Bottleneck.CLIENT_BUFFER
    assert judge(known(busy, host_cpu_ratio=0.9)).bound is Bottleneck.CLIENT_BUFFER


@pytest.mark.parametrize(("bound", "sign"), SIGNS)
def test_a_queue_that_fills_up_shows_that_the_sender_is_not_the_limit(bound: Bottleneck, sign: dict[str, Any]) -> None:
    assert judge(known(SATURATING, queue_full_ratio=0.0, queue_growth_ratio=0.3, **sign)).bound is bound


def test_if_the_queue_grows_and_nothing_is_busy_the_generator_is_the_limit() -> None:
    growing = known(SATURATING, queue_full_ratio=0.0, queue_growth_ratio=0.3)
    assert judge(known(growing, drain_demand_ratio=0.89, host_cpu_ratio=1.0)).bound is Bottleneck.GENERATOR
    assert judge(growing).bound is Bottleneck.GENERATOR
    assert judge(known(growing, in_flight_requests=None)).bound is Bottleneck.UNKNOWN
    assert judge(known(growing, client_thread_demand_ratio=None)).bound is Bottleneck.UNKNOWN


def test_a_full_queue_while_the_broker_has_time_is_too_small() -> None:
    verdict = judge(SATURATING)
    assert verdict.bound is Bottleneck.CLIENT_BUFFER
    assert "full 90 % of the time" in verdict.because


def test_a_busy_host_alone_does_not_make_the_broker_the_limit() -> None:
    """Other processes may use the CPU. A broker that waits for requests still has time to spare."""
    assert judge(known(SATURATING, host_cpu_ratio=1.0)).bound is Bottleneck.CLIENT_BUFFER


@pytest.mark.parametrize(
    ("changes", "bound"),
    [
        ({"records_per_s": 199_000}, Bottleneck.OFFERED_RATE),
        # 5 % of 10 s are missing: the load fell behind steadily (mean latency from 250 ms) or paused at the end.
        ({"records_per_s": 190_000, "mean_latency_ms": 260.0}, Bottleneck.UNKNOWN),
        ({"records_per_s": 190_000, "mean_latency_ms": 20.0}, Bottleneck.OFFERED_RATE),
        # Records that were sent late are late, however fast the cluster is.
        ({"records_per_s": 190_000, "mean_latency_ms": 2.0, "send_delay_ms": 260.0}, Bottleneck.GENERATOR),
        ({"records_per_s": 170_000, "mean_latency_ms": 20.0}, Bottleneck.UNKNOWN),
        ({"records_per_s": 100_000, "sender_demand_ratio": 0.95}, Bottleneck.GENERATOR),
        ({"records_per_s": 100_000, "drain_demand_ratio": 0.95}, Bottleneck.GENERATOR),
        ({"records_per_s": 100_000, "in_flight_requests": 3.0}, Bottleneck.BROKER),
        ({"records_per_s": 100_000, "queue_full_ratio": 0.5, "sender_demand_ratio": 0.95}, Bottleneck.CLIENT_BUFFER),
        ({"records_per_s": 100_000, "queue_growth_ratio": 1.0, "sender_demand_ratio": 0.95}, Bottleneck.UNKNOWN),
    ],
)
def test_the_verdict_on_a_paced_load_names_its_limit(changes: dict[str, Any], bound: Bottleneck) -> None:
    assert judge(known(PACED, **changes)).bound is bound


def test_without_known_values_the_verdict_is_unknown() -> None:
    verdict = judge(Evidence(records_per_s=1.0))
    assert verdict.bound is Bottleneck.UNKNOWN
    assert verdict.latency_is_buffer is None


@given(st.sets(st.sampled_from(MAYBE_UNKNOWN)))
def test_unknown_values_never_count_for_a_cause(unknown: set[str]) -> None:
    """Nothing is at its limit here, so the only possible verdicts are the client's buffer and unknown."""
    nothing: dict[str, Any] = dict.fromkeys(unknown)
    seen = known(SATURATING, **nothing)
    assert judge(seen).bound in (Bottleneck.CLIENT_BUFFER, Bottleneck.UNKNOWN)
    nothing.pop("offered_records_per_s", None)
    assert judge(known(PACED, records_per_s=50_000, **nothing)).bound is Bottleneck.UNKNOWN


@given(
    st.fixed_dictionaries({name: st.one_of(st.none(), st.floats(0, 1e9)) for name in MAYBE_UNKNOWN}), st.floats(0, 1e9)
)
def test_every_evidence_gets_a_verdict_with_a_reason(numbers: dict[str, Any], rate: float) -> None:
    numbers["offered_records_per_s"] = numbers["offered_records_per_s"] or None
    verdict = judge(known(Evidence(records_per_s=rate), **numbers))
    assert verdict.because
    assert "None" not in verdict.because
    assert "nan" not in verdict.because


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"mean_latency_ms": 10.0}, True),
        ({"mean_latency_ms": 10.9}, True),
        ({"mean_latency_ms": 11.5}, False),
        ({"mean_latency_ms": 10.0, "queue_full_ratio": 0.0}, False),
        ({"mean_latency_ms": 10.0, "queue_full_ratio": None}, True),
        ({"mean_latency_ms": None}, None),
        ({"mean_latency_ms": 10.0, "queued_bytes": None}, None),
        ({"mean_latency_ms": 10.0, "mb_per_s": 0.0}, None),
        ({"mean_latency_ms": 10.0, "queued_bytes": 0.0}, None),
        ({"mean_latency_ms": 10.0, "offered_records_per_s": 1e6}, False),
    ],
)
def test_a_latency_is_the_buffer_if_draining_it_takes_that_long(changes: dict[str, Any], told: bool | None) -> None:
    assert judge(known(SATURATING, **changes)).latency_is_buffer is told


def test_consumers_that_fell_behind_are_named() -> None:
    assert judge(known(PACED, consumers_behind_records=None)).consumers_fell_behind == ""
    assert judge(known(PACED, consumers_behind_records=100_000)).consumers_fell_behind == ""
    behind = judge(known(PACED, consumers_behind_records=250_000)).consumers_fell_behind
    assert "250,000 records (2.5 s) behind" in behind


def test_consumers_beside_the_load_are_no_other_processes() -> None:
    full = known(SATURATING, host_cpu_ratio=1.0, host_cores=2, process_cpu_cores=0.4, broker_cpu_cores=0.4)
    assert judge(full).bound is Bottleneck.OTHER_PROCESSES
    assert judge(known(full, consumer_cpu_cores=0.8)).bound is not Bottleneck.OTHER_PROCESSES


def test_the_evidence_has_the_values_of_the_measurement() -> None:
    seen = measurement(
        workload=Workload(RecordSizes.fixed(100), rate_records_per_s=600.0),
        origin=Origin("native", "none", "embedded", "", "", 1.0, link_mb_per_s=0.05),
        send_delay=Histogram.of([1_000, 3_000]),
        activity=activity(queue_full_ratio=0.3, queued_bytes=77.0, in_flight_requests=1.5, throttle_ms=4.0),
        resources=Resources(
            sender_cpu_ratio=0.1,
            sender_demand_ratio=0.2,
            drain_demand_ratio=0.3,
            client_thread_demand_ratio=0.4,
            broker_cpu_cores=0.5,
            broker_thread_demand_ratio=0.6,
            host_cpu_ratio=0.7,
            host_cores=8,
            network_limited_ratio=0.8,
            receiver_limited_ratio=0.9,
        ),
        end_to_end=end_to_end(),
    )
    assert asdict(Evidence.of(seen)) == {
        "records_per_s": 500,
        "offered_records_per_s": 600.0,
        "mb_per_s": 0.05,
        "duration_s": 2.0,
        "mean_latency_ms": 500.5,
        "send_delay_ms": 2.0,
        "queue_full_ratio": 0.3,
        "queue_growth_ratio": 0.0,
        "queued_bytes": 77.0,
        "in_flight_requests": 1.5,
        "throttle_ms": 4.0,
        "link_used_ratio": pytest.approx(0.5),
        "consumers_behind_records": 3,
        "consumer_cpu_cores": pytest.approx(3.0 * 500 * 100 / 1e6 / 1e3),
        "resources": asdict(seen.resources),
    }


def test_values_from_missing_statistics_are_unknown() -> None:
    seen = Evidence.of(measurement(activity=None, latency_check=None))
    assert (seen.queue_full_ratio, seen.throttle_ms, seen.mean_latency_ms, seen.send_delay_ms) == (None,) * 4


def test_a_link_without_a_limit_and_unknown_bytes_are_not_the_limit() -> None:
    limited = Origin("native", "none", "embedded", "", "", 1.0, link_mb_per_s=0.05)
    for seen in (
        measurement(),
        measurement(origin=limited, activity=None),
        measurement(origin=limited, activity=activity(wire_bytes=None)),
    ):
        assert Evidence.of(seen).link_used_ratio is None
