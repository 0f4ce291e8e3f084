"""Our load generator and Kafka's tool are measured in turn, and warnings say what weakens the comparison."""

import pytest

from runners.kafka_tools.performance_tools import PerformanceReport, PerformanceSummary
from runners.measurements.measurement import Measurement
from tests.helpers.command import tuner
from tests.helpers.measurements import counts, measurement
from tuner.cli.commands.compare_tools import measured_in_turn


def report(records_per_s: float, failed: int = 0, *complaints: str) -> PerformanceReport:
    """Return the report of a run with a warm-up, in which everything else is slower."""
    steady = PerformanceSummary(1_000, records_per_s)
    return PerformanceReport(PerformanceSummary(2_000, records_per_s / 2), steady, failed, complaints)


def test_the_first_run_of_kafkas_tool_is_sized_by_our_rate_and_later_runs_by_its_own_rate() -> None:
    told: list[str] = []
    expected: list[float] = []
    rates = iter([30.0, 50.0, 60.0])

    def theirs(guess: float) -> PerformanceReport:
        expected.append(guess)
        return report(next(rates))

    def ours() -> Measurement:
        return measurement(records=80)  # in two seconds

    found = measured_in_turn(ours, theirs, 2, told.append)
    assert expected == [40.0, 30.0, 50.0]
    assert found == ([40.0, 40.0], [50.0, 60.0], [])
    assert told == [
        "round 1 of 2: tuner 40, Kafka's tool 50 records/s",
        "round 2 of 2: tuner 40, Kafka's tool 60 records/s",
    ]


def test_failed_records_and_warnings_of_both_tools_are_reported() -> None:
    first = "org.apache.kafka.common.errors.TimeoutException: Expiring 7 record(s)"
    ours = iter(
        [
            measurement(),
            measurement(counts=counts(acknowledged=997, failed={"_MSG_TIMED_OUT": 3}, transmitted=997, stored=997)),
            measurement(warnings=("the clock jumped",)),
        ]
    )
    theirs = iter([report(500.0, 9, "of round 0"), report(500.0, 7, first, "another"), report(500.0)])
    *_, warnings = measured_in_turn(lambda: next(ours), lambda _: next(theirs), 2, lambda _: None)
    assert warnings == [
        "round 1, tuner: 3 records failed: _MSG_TIMED_OUT",
        "round 1, Kafka's tool: 7 records failed",
        f"round 1, Kafka's tool: it printed: {first}",
        "round 2, tuner: the clock jumped",
    ]


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("--max-bytes", "5 parsecs"), "a size must read like"),
        (
            ("--max-bytes", "10kB", "--record-bytes", "20000"),
            "--max-bytes must allow at least one record of 20,000 bytes, but got 10,000",
        ),
    ],
)
def test_a_comparison_that_may_not_send_a_record_starts_no_broker(words: tuple[str, ...], complaint: str) -> None:
    refused = tuner("compare-tools", *words)
    assert (refused.code, complaint in refused.complaint) == (2, True), refused.err
    assert "starting Kafka" not in refused.err
