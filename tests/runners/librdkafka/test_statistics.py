"""The client's statistics are read from real reports, and its account of latency is weighted correctly."""

import math

import pytest

from runners.clusters.cluster import RunningCluster
from runners.librdkafka.native_client import NativeClient
from runners.librdkafka.statistics import BrokerInterval, SendAccount, StatisticsReport
from runners.load.sums import Sum
from tests.runners.librdkafka.load_client_contract import Opened, RememberingTally, pool_of

RECORDS, VALUE_BYTES, KEY_BYTES = 3_000, 100, 8


@pytest.fixture(scope="module")
def reports(mock_cluster: RunningCluster) -> list[StatisticsReport]:
    """Three reports of a client with 3,000 records. The last report is newer than the last acknowledgement."""
    tally, pool = RememberingTally(), pool_of((VALUE_BYTES,) * 100, KEY_BYTES)
    properties = {**mock_cluster.connection, "statistics.interval.ms": "100", "linger.ms": "50"}
    client = NativeClient(properties, "topic-of-statistics", pool, tally)
    opened = Opened(client, tally, pool)
    opened.send_all(RECORDS)
    opened.drain_all()
    found = [opened.next_report() for _ in range(3)]
    client.close()
    return found


def test_counters_and_gauges_are_read(reports: list[StatisticsReport]) -> None:
    last = reports[-1]
    assert last.tx_records == RECORDS
    assert last.wire_bytes > RECORDS * (VALUE_BYTES + KEY_BYTES)
    assert (last.queued_records, last.queued_bytes, last.in_flight) == (0, 0, 0)
    assert last.retries == 0


def test_partitions_are_those_of_the_topic(reports: list[StatisticsReport]) -> None:
    numbers = [number for number, _ in reports[-1].partition_records]
    assert numbers == list(range(4)), "the unassigned partition is left out"
    assert sum(records for _, records in reports[-1].partition_records) == RECORDS


def test_intervals_add_up_to_all_records(reports: list[StatisticsReport]) -> None:
    account = SendAccount()
    for report in reports:
        account.add(report)
    assert account.reports == 3
    assert account.records == RECORDS == account.batch_records.total
    assert account.batch_bytes.total > RECORDS * (VALUE_BYTES + KEY_BYTES)
    assert account.throttle_ms.mean == 0
    # Each part is known and in microseconds: records linger for up to 50 ms, and no request takes a minute.
    for part_us in (account.queue_us, account.outbuf_us, account.rtt_us):
        assert 0 < part_us / account.records < 60e6
    assert account.latency_us == pytest.approx(
        (account.queue_us + account.outbuf_us + account.rtt_us) / account.records
    )


def interval(records: int, queue_ms: float, requests: int, outbuf_ms: float, rtt_ms: float) -> BrokerInterval:
    return BrokerInterval(
        queue_us=Sum(records * queue_ms * 1e3, records),
        outbuf_us=Sum(requests * outbuf_ms * 1e3, requests),
        rtt_us=Sum(requests * rtt_ms * 1e3, requests),
        throttle_ms=Sum(0.0, requests),
    )


def report(
    *brokers: BrokerInterval, queued_records: int = 0, queued_bytes: int = 0, in_flight: int = 0
) -> StatisticsReport:
    return StatisticsReport(
        at_ns=0,
        queued_records=queued_records,
        queued_bytes=queued_bytes,
        tx_records=0,
        wire_bytes=0,
        retries=0,
        in_flight=in_flight,
        batch_bytes=Sum(),
        batch_records=Sum(),
        brokers=brokers,
        partition_records=(),
    )


def account_of(*given: StatisticsReport) -> SendAccount:
    account = SendAccount()
    for each in given:
        account.add(each)
    return account


def test_the_latency_of_one_broker_in_one_interval_is_the_sum_of_its_means() -> None:
    assert account_of(report(interval(1_000, 5.0, 10, 0.5, 2.0))).latency_us == pytest.approx(7_500)


def test_brokers_are_weighted_by_the_records_that_they_got() -> None:
    """900 records of 4 ms and 100 of 24 ms are 6 ms on average, although both brokers answered as many requests."""
    quick, slow = interval(900, 2.0, 10, 1.0, 1.0), interval(100, 2.0, 10, 2.0, 20.0)
    account = account_of(report(quick, slow))
    assert account.latency_us == pytest.approx(0.9 * 4_000 + 0.1 * 24_000)
    assert account.queue_us / account.records == pytest.approx(2_000)


def test_intervals_are_weighted_by_their_records() -> None:
    """300 records of 10 ms and then 100 records of 50 ms are 20 ms on average, not 30 ms."""
    account = account_of(report(interval(300, 9.0, 3, 0.0, 1.0)), report(interval(100, 40.0, 50, 0.0, 10.0)))
    assert account.latency_us == pytest.approx(20_000)


def test_requests_of_an_interval_without_records_do_not_count() -> None:
    """The 400 ms of a metadata request, while nothing was sent, are not part of any record's latency."""
    busy, idle = interval(100, 1.0, 10, 0.0, 1.0), interval(0, 0.0, 1, 0.0, 400.0)
    assert account_of(report(busy), report(idle)).latency_us == pytest.approx(2_000)


def test_no_records_give_no_latency() -> None:
    assert math.isnan(SendAccount().latency_us)
    assert math.isnan(account_of(report()).latency_us)


def test_gauges_are_averaged_over_reports() -> None:
    account = account_of(
        report(queued_records=10, queued_bytes=100, in_flight=1),
        report(queued_records=30, queued_bytes=500, in_flight=4),
    )
    assert (account.queued_records, account.queued_bytes, account.in_flight, account.reports) == (40, 600, 5, 2)
