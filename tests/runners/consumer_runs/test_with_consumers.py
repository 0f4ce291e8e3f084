"""End-to-end latency of real consumers beside a load."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import pytest
from typing_extensions import override

from runners.clusters.cluster import RunningCluster
from runners.clusters.topics.topic_admin import TopicAdmin
from runners.consumer_runs.end_to_end_latency import ClockOffset
from runners.consumer_runs.topic_consumption import TopicConsumption
from runners.consumer_runs.with_consumers import ConsumerHost, TailConsumers, WithConsumers
from runners.consumers.consumption import Consumption
from runners.consumers.reading_load import ReadWatch
from runners.errors import ConsumersLost, WorkloadRefused
from runners.java_client.java_runner import JavaRunner
from runners.librdkafka.librdkafka_runner import LibrdkafkaRunner
from runners.load.isolated import Isolated
from runners.measurements.measurement import Window
from runners.runner import WatchDecision
from runners.workload import RecordSizes, Workload
from search_spaces.client import java
from search_spaces.configs.producer_config import ProducerConfig
from tests.conftest import TopicMaker


@pytest.mark.broker
@pytest.mark.parametrize("generator", ["native", pytest.param("python", marks=pytest.mark.long)])
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
@pytest.mark.long
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


@dataclass(frozen=True)
class OtherHost(ConsumerHost):
    """A host whose clock is an hour ahead and gains 0.1 ms in each second, which we know to 2 ms."""

    began_s: float

    def _ahead_s(self, at_s: float) -> float:
        return 3_600.0 + 1e-4 * (at_s - self.began_s)

    @override
    def clock_offset(self) -> ClockOffset:
        return ClockOffset(self._ahead_s(time.monotonic()), 0.002, time.monotonic())

    @override
    def consume(self, load: TopicConsumption, watch: ReadWatch, started: Callable[[], None]) -> Consumption:
        seen = load.run(watch, lambda _: started())
        assert seen.arrivals is not None
        ahead_ns = [round(self._ahead_s(at_ns / 1e9) * 1e9) for at_ns in seen.arrivals.at_ns.tolist()]
        return replace(seen, arrivals=replace(seen.arrivals, at_ns=seen.arrivals.at_ns + np.array(ahead_ns)))


PACED = Workload(
    RecordSizes.fixed(200), partitions=1, warmup_s=0.5, measured_s=1.5, rate_records_per_s=500, consumers=1
)


@pytest.mark.broker
def test_times_of_another_host_are_converted_to_the_producers_clock(
    broker: RunningCluster, new_topic: TopicMaker
) -> None:
    topic = new_topic(1)
    host = OtherHost(time.monotonic())
    runner = WithConsumers(Isolated(LibrdkafkaRunner(broker, topic)), TailConsumers(broker, topic), host)
    seen = runner.run(ProducerConfig.parse({"linger.ms": 5}), PACED)
    found = seen.end_to_end
    assert found is not None
    assert found.missing == 0
    assert found.clock_error_ms == pytest.approx(2.0)
    assert 3e3 < found.latency.percentile_us(0.5) < 1e6, "linger.ms is in it, and the hour is not"
    assert any("may be wrong by 2.00 ms" in each for each in seen.warnings) == (
        found.latency.percentile_us(0.5) < 20_000
    )


@dataclass(frozen=True)
class LostHost(ConsumerHost):
    """A host that is lost before the consumers start, or after their first second.

    Attributes:
        starts: Whether the consumers start.
    """

    starts: bool

    @override
    def clock_offset(self) -> None:
        return None

    @override
    def consume(self, load: TopicConsumption, watch: ReadWatch, started: Callable[[], None]) -> Consumption:
        if self.starts:
            started()
            time.sleep(0.5)
        raise ConsumersLost("the host is gone")


@pytest.mark.broker
@pytest.mark.parametrize("starts", [False, True])
def test_a_load_ends_soon_after_its_consumers_were_lost(
    broker: RunningCluster, new_topic: TopicMaker, starts: bool
) -> None:
    topic = new_topic(1)
    runner = WithConsumers(Isolated(LibrdkafkaRunner(broker, topic)), TailConsumers(broker, topic), LostHost(starts))
    threads = threading.active_count()
    windows = []

    def watch(window: Window) -> WatchDecision:
        windows.append(window)
        return WatchDecision.GO_ON

    with pytest.raises(ConsumersLost, match="the host is gone") as lost:
        runner.run(ProducerConfig.parse({}), replace(PACED, measured_s=60.0), watch)
    assert len(windows) <= 5 * starts
    stored = sum(TopicAdmin(broker.connection).end_offsets(topic.name, 1))
    assert (stored > 0) == starts
    assert lost.value.sent_bytes == stored * 200
    assert threading.active_count() == threads


@pytest.mark.broker
def test_with_acks_0_the_consumers_latency_is_refused(broker: RunningCluster, new_topic: TopicMaker) -> None:
    topic = new_topic(1)
    workload = Workload(RecordSizes.fixed(200), partitions=1, warmup_s=0.2, measured_s=0.5, consumers=1)
    runner = WithConsumers(Isolated(LibrdkafkaRunner(broker, topic)), TailConsumers(broker, topic))
    with pytest.raises(WorkloadRefused, match="acks=0"):
        runner.run(ProducerConfig.parse({"acks": 0}), workload)
