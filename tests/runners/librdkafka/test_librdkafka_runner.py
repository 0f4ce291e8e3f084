"""The raw result of a load becomes the parts of a measurement."""

import pytest

from runners.clock import NS_PER_S
from runners.clusters.cluster import RunningCluster
from runners.clusters.topics.owned_topics import Topic
from runners.librdkafka.librdkafka_runner import LibrdkafkaRunner, activity_of, counts_of, latency_check_of
from runners.librdkafka.statistics import BrokerInterval, SendAccount
from runners.librdkafka.tally import DrainDelay, Tally
from runners.load.sums import Sum
from runners.measurements.histogram import Histogram
from runners.runner import WatchDecision
from runners.workload import RecordSizes, Workload
from search_spaces.configs.producer_config import ProducerConfig
from tests.helpers.measurements import load_result, report
from tests.helpers.mock_cluster import PARTITIONS

CONFIG = ProducerConfig.parse({"acks": 1})


def account() -> SendAccount:
    """The sum of two reports: 1,000 records with 600 us in the queue, 100 us in the buffer and 200 us on the way."""
    filled = SendAccount()
    interval = BrokerInterval(Sum(300_000, 500), Sum(1_000, 10), Sum(2_000, 10), Sum(30, 10))
    filled.add(report(queued_records=100, queued_bytes=10_000, in_flight=1, brokers=(interval,)))
    filled.add(
        report(
            queued_records=300,
            queued_bytes=30_000,
            in_flight=4,
            brokers=(interval,),
            batch_bytes=Sum(60_000, 20),
            batch_records=Sum(1_000, 20),
        )
    )
    return filled


def test_counts_are_of_the_whole_run() -> None:
    tally = Tally()
    tally.delivered(990)
    tally.fail("_MSG_TIMED_OUT", 10)
    seen = counts_of(load_result(last=report(tx_records=1_100, retries=1)), tally, CONFIG)
    assert (seen.handed_over, seen.acknowledged, seen.failed) == (1_000, 990, {"_MSG_TIMED_OUT": 10})
    assert (seen.transmitted, seen.retries, seen.acks, seen.idempotent) == (1_100, 1, 1, False)


def test_without_statistics_the_transmitted_records_are_unknown() -> None:
    seen = counts_of(load_result(last=None), Tally(), CONFIG)
    assert (seen.transmitted, seen.retries) == (None, 0)


def test_both_latencies_cover_records_served_in_the_measured_phase() -> None:
    result = load_result(account=account(), served=Histogram.of([850, 950]), latency=Histogram.of([7, 7, 7]))
    check = latency_check_of(result, DrainDelay())
    assert check is not None
    assert (check.seen_us, check.client_us) == pytest.approx((900, 900))
    assert (check.queue_us, check.outbuf_us, check.rtt_us) == pytest.approx((600, 100, 200))
    assert (check.drain_us, check.batch_us) == (None, None)


def test_the_clients_own_latency_includes_its_work_on_batches() -> None:
    """A quarter of a core for 1,000 records in 2 s is 500 us per record. A record waits for the 50 of its batch."""
    check = latency_check_of(load_result(account=account()), DrainDelay(), user_demand_cores=0.25)
    assert check is not None
    assert check.batch_us == pytest.approx(25_000)
    assert check.client_us == pytest.approx(25_900)


def test_our_send_delay_is_subtracted_from_our_latency() -> None:
    result = load_result(account=account(), served=Histogram.of([1_000]), send_delay=Histogram.of([40, 60]))
    check = latency_check_of(result, DrainDelay())
    assert check is not None
    assert check.seen_us == 950


@pytest.mark.parametrize("missing", [{"account": SendAccount()}, {"account": account(), "served": Histogram.of([])}])
def test_one_latency_alone_gives_no_latency_check(missing: dict[str, object]) -> None:
    assert latency_check_of(load_result(**missing), DrainDelay()) is None


def test_the_drain_delay_follows_from_the_events_left_behind() -> None:
    """Little's law: if events arrive every millisecond and leave two behind, they have waited two milliseconds."""
    delay = DrainDelay()
    for number in range(1_001):
        delay.count(number * 1_000_000 + 1, left_behind=2)
    check = latency_check_of(load_result(account=account()), delay)
    assert check is not None
    assert check.drain_us == pytest.approx(2_000)


def test_activity_is_the_mean_over_the_reports_of_the_measured_phase() -> None:
    start = report(at_ns=1 * NS_PER_S, retries=2, queued_records=50, partition_records=((0, 10), (1, 0)))
    end = report(at_ns=3 * NS_PER_S, retries=5, queued_records=250, partition_records=((0, 610), (1, 400)))
    seen = activity_of(load_result(account=account(), at_start=start, at_end=end))
    assert seen is not None
    assert (seen.queued_records, seen.queued_bytes, seen.in_flight_requests) == (200, 20_000, 2.5)
    assert (seen.throttle_ms, seen.batch_records, seen.batch_bytes) == (3.0, 50, 3_000)
    assert (seen.retries, seen.queue_full_ratio, seen.queue_growth_ratio) == (3, 0.5, 0.2)
    assert seen.partitions_used == 2


def test_wire_bytes_are_the_share_of_the_acknowledged_records() -> None:
    """In a short phase, many records were sent before the phase, or are acknowledged after it."""
    last = report(at_ns=9 * NS_PER_S, tx_records=4_000, wire_bytes=80_000)
    seen = activity_of(load_result(account=account(), at_end=report(wire_bytes=70_000), last=last, records=1_000))
    assert seen is not None
    assert seen.wire_bytes == 20_000


def test_a_partition_with_under_a_tenth_of_its_share_counts_as_unused() -> None:
    end = report(at_ns=1, partition_records=((0, 900), (1, 23), (2, 25), (3, 12)))
    seen = activity_of(load_result(account=account(), at_end=end))
    assert seen is not None
    assert seen.partitions_used == 2


def test_wire_bytes_are_unknown_without_a_last_report() -> None:
    seen = activity_of(load_result(account=account(), at_end=report(), last=None))
    assert seen is not None
    assert seen.wire_bytes is None


def test_a_client_that_reported_nothing_has_no_activity() -> None:
    assert activity_of(load_result(at_end=report())) is None
    assert activity_of(load_result(account=account())) is None


def test_the_sampled_records_of_a_stopped_load_end_with_its_last_window(mock_cluster: RunningCluster) -> None:
    """What consumers have read is counted until that moment, and not until the planned end of the load."""
    workload = Workload(
        RecordSizes.fixed(100),
        partitions=PARTITIONS,
        warmup_s=0.0,
        measured_s=1.2,
        rate_records_per_s=1_000,
        consumers=1,
    )
    runner = LibrdkafkaRunner(mock_cluster, Topic("stopped-load", PARTITIONS, 1))
    seen = runner.run(CONFIG, workload, lambda _: WatchDecision.STOP)
    assert seen.stopped_early
    assert seen.deliveries is not None
    assert (seen.deliveries.end_ns - seen.deliveries.start_ns) / NS_PER_S == seen.duration_s
    assert len(seen.deliveries.intended_ns)
    assert seen.deliveries.intended_ns.max() < seen.deliveries.end_ns
