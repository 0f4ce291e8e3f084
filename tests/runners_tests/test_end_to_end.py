"""End-to-end latency: joining a producer's records with the consumers' arrivals, and real consumers beside a load."""

import numpy as np
import pytest

from runners.clusters.cluster import RunningCluster
from runners.consumers.beside import TailConsumers, WithConsumers
from runners.consumers.consumption import Arrivals
from runners.consumers.joining import arrival_times
from runners.errors import WorkloadRefused
from runners.java_client.java_runner import JavaRunner
from runners.librdkafka.librdkafka_runner import LibrdkafkaRunner
from runners.workload import RecordSizes, Workload
from runners.wrappers import Isolated
from search_spaces.client import java
from search_spaces.producer_config import ProducerConfig
from tests.conftest import TopicMaker


def arrivals(*runs: tuple[int, int, int, int]) -> Arrivals:
    """Return runs of records: partition, first offset, last offset, time."""
    columns = np.array(runs, dtype=np.int64).reshape(-1, 4)
    return Arrivals(columns[:, 0].astype(np.int32), columns[:, 1], columns[:, 2], columns[:, 3])


def times(found: Arrivals, *places: tuple[int, int]) -> list[int]:
    """Return when the records at these places (partition, offset) were taken."""
    columns = np.array(places, dtype=np.int64)
    return [int(time) for time in arrival_times(found, columns[:, 0].astype(np.int32), columns[:, 1])]


def test_a_record_has_the_time_of_the_run_that_holds_its_offset() -> None:
    found = arrivals((0, 0, 9, 100), (1, 5, 7, 150), (0, 10, 10, 200), (0, 20, 29, 300))
    assert times(found, (0, 0), (0, 9), (0, 10), (0, 25), (1, 6)) == [100, 100, 200, 300, 150]


def test_a_record_that_nobody_took_has_no_time() -> None:
    found = arrivals((0, 5, 9, 100), (0, 20, 29, 300))
    assert times(found, (0, 4), (0, 10), (0, 30), (2, 5)) == [-1, -1, -1, -1]


def test_of_a_record_that_came_twice_the_first_time_counts() -> None:
    assert times(arrivals((0, 5, 9, 400), (0, 5, 9, 100)), (0, 7)) == [100]


@pytest.mark.broker
@pytest.mark.parametrize(
    "generator", ["native", pytest.param("python", marks=[pytest.mark.campaign, pytest.mark.long])]
)
@pytest.mark.parametrize("rate", [2_000.0, pytest.param(None, marks=pytest.mark.campaign)])
def test_consumers_beside_a_load_take_every_record(
    broker: RunningCluster, new_topic: TopicMaker, generator: str, rate: float | None
) -> None:
    topic = new_topic(2)
    workload = Workload(
        RecordSizes.fixed(200), partitions=2, warmup_s=0.5, measured_s=1.5, rate_records_per_s=rate, consumers=2
    )
    runner = WithConsumers(Isolated(LibrdkafkaRunner(broker, topic, generator)), TailConsumers(broker, topic))
    seen = runner.run(ProducerConfig.parse({"linger.ms": 5}), workload)
    found = seen.end_to_end
    assert found is not None
    assert seen.deliveries is None
    assert seen.counts.acknowledged == seen.counts.stored == found.taken
    assert (found.repeated, found.missing, found.consumers) == (0, 0, 2)
    assert found.sampled > 100
    assert found.latency.count == found.fetch.count == found.sampled
    # The time to the consumer and the time to the acknowledgement begin at the same moment.
    assert found.latency.percentile_us(1.0) > 0
    assert found.records_per_s > 0
    assert not found.warnings


@pytest.mark.broker
@pytest.mark.campaign
@pytest.mark.parametrize("rate", [2_000.0, None])
def test_java_consumers_beside_a_java_producer_take_every_record(
    broker: RunningCluster, new_topic: TopicMaker, rate: float | None
) -> None:
    topic = new_topic(2)
    workload = Workload(
        RecordSizes.fixed(200), partitions=2, warmup_s=0.5, measured_s=1.5, rate_records_per_s=rate, consumers=2
    )
    runner = WithConsumers(Isolated(JavaRunner(broker, topic, warms_up=False)), TailConsumers(broker, topic))
    seen = runner.run(ProducerConfig.parse({"linger.ms": 5}, client=java()), workload)
    found = seen.end_to_end
    assert found is not None
    assert seen.counts.acknowledged == seen.counts.stored == found.taken
    assert (found.repeated, found.missing, found.consumers) == (0, 0, 2)
    assert found.sampled > 100
    assert found.latency.count == found.fetch.count == found.sampled
    assert found.latency.percentile_us(0.5) >= seen.latency.percentile_us(0.5) * 0.5
    assert not found.warnings


@pytest.mark.long
@pytest.mark.broker
@pytest.mark.campaign
def test_a_linger_of_the_producer_is_part_of_the_end_to_end_latency(
    broker: RunningCluster, new_topic: TopicMaker
) -> None:
    medians = []
    for linger_ms in (0, 100):
        topic = new_topic(1)
        workload = Workload(
            RecordSizes.fixed(200), partitions=1, warmup_s=0.5, measured_s=1.5, rate_records_per_s=500, consumers=1
        )
        runner = WithConsumers(Isolated(LibrdkafkaRunner(broker, topic)), TailConsumers(broker, topic))
        found = runner.run(ProducerConfig.parse({"linger.ms": linger_ms}), workload).end_to_end
        assert found is not None
        medians.append(found.latency.percentile_us(0.5) / 1e3)
    assert medians[1] > medians[0] + 20


@pytest.mark.broker
def test_with_acks_0_the_consumers_latency_is_refused(broker: RunningCluster, new_topic: TopicMaker) -> None:
    topic = new_topic(1)
    workload = Workload(RecordSizes.fixed(200), partitions=1, warmup_s=0.2, measured_s=0.5, consumers=1)
    runner = WithConsumers(Isolated(LibrdkafkaRunner(broker, topic)), TailConsumers(broker, topic))
    with pytest.raises(WorkloadRefused, match="acks=0"):
        runner.run(ProducerConfig.parse({"acks": 0}), workload)
