"""Every runner and every wrapper keeps the contract. Real clients write to the in-process mock cluster."""

import gc
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import ClassVar
from uuid import uuid4

import psutil
import pytest

from runners.clusters.cluster import RunningCluster
from runners.clusters.topics.owned_topics import Topic
from runners.clusters.topics.topic_admin import TopicAdmin
from runners.clusters.topics.topic_for_run import WithTopic
from runners.consumer_runs.with_consumers import TailConsumers, WithConsumers
from runners.errors import ByteBudgetExceeded
from runners.java_client.java_runner import JavaRunner
from runners.java_client.kept_jvm import end_kept_jvms
from runners.librdkafka.librdkafka_runner import LibrdkafkaRunner
from runners.load.isolated import Isolated, end_reused_processes
from runners.measurements.measurement import Window
from runners.pools.producer_process import StartingAt
from runners.runner import Limits, Runner, WatchDecision
from runners.simulated import SimulatedRunner
from runners.workload import RecordSizes, Workload
from search_spaces.client import java
from search_spaces.configs.producer_config import ProducerConfig
from search_spaces.errors import RuleBroken
from tests.conftest import TopicMaker
from tests.helpers.clients import holders
from tests.helpers.mock_cluster import PARTITIONS
from tests.helpers.runner_contract import CONFIG, PACED, Left, RunnerContract, check_nothing_left

SHORTEST = Workload(RecordSizes.fixed(100), partitions=PARTITIONS, warmup_s=0.0, measured_s=0.1)


def new_topic() -> Topic:
    return Topic(f"topic-{uuid4()}", PARTITIONS, 1, owned=True)


def _java_children() -> set[int]:
    return {process.pid for process in holders("java", psutil.Process().children())}


class RealRunnerContract(RunnerContract):
    """The contract of runners that use a real client.

    Attributes:
        small_records: A config that allows records of 10,000 B, and the rule that refuses larger ones.
    """

    small_records: ClassVar[tuple[ProducerConfig, str]] = (
        ProducerConfig.parse({"message.max.bytes": 10_000}),
        "record-within-message-max",
    )

    @pytest.fixture
    def limited(self, runner: Runner) -> Runner:
        """The runner with a limit of 100 kB to send."""
        raise NotImplementedError

    def test_a_record_that_the_config_forbids_is_refused_with_its_rule(self, runner: Runner) -> None:
        config, rule = self.small_records
        with pytest.raises(RuleBroken, match=rule) as caught:
            runner.run(config, Workload(RecordSizes.fixed(20_000)))
        assert caught.value.rule == rule

    def test_the_byte_budget_ends_the_run(self, limited: Runner) -> None:
        before, interpreter = Left.now(), (sys.getswitchinterval(), gc.isenabled())
        with pytest.raises(ByteBudgetExceeded, match="at most 100,000 bytes") as caught:
            limited.run(self.config, PACED)
        assert caught.value.sent_bytes is not None
        assert 0 < caught.value.sent_bytes <= 100_000
        assert (sys.getswitchinterval(), gc.isenabled()) == interpreter
        check_nothing_left(before)


class TestSimulated(RunnerContract):
    covers = SimulatedRunner

    @pytest.fixture(params=[0.0, 0.05])
    def runner(self, request: pytest.FixtureRequest) -> Runner:
        return SimulatedRunner(noise_ratio=request.param)


class TestStartingAt(RunnerContract):
    covers = StartingAt

    @pytest.fixture
    def runner(self) -> Runner:
        return StartingAt(SimulatedRunner(), time.time() + 0.01, 0.01)

    def test_a_wall_clock_that_was_set_back_does_not_delay_the_start(self, monkeypatch: pytest.MonkeyPatch) -> None:
        slept: list[float] = []
        monkeypatch.setattr(time, "sleep", slept.append)
        StartingAt(SimulatedRunner(), time.time() + 3_600, 0.1).run(CONFIG, PACED)
        assert slept == [0.1]


@pytest.mark.long
class TestWithConsumers(RealRunnerContract):
    """Without consumers in the workload; `consumer_runs/test_with_consumers.py` has them."""

    covers = WithConsumers

    @pytest.fixture
    def runner(self, mock_cluster: RunningCluster) -> Runner:
        topic = new_topic()
        return WithConsumers(LibrdkafkaRunner(mock_cluster, topic), TailConsumers(mock_cluster, topic))

    @pytest.fixture
    def limited(self, mock_cluster: RunningCluster) -> Runner:
        topic = new_topic()
        return WithConsumers(
            LibrdkafkaRunner(mock_cluster, topic, limits=Limits(max_bytes=100_000)), TailConsumers(mock_cluster, topic)
        )


class TestLibrdkafka(RealRunnerContract):
    covers = LibrdkafkaRunner

    @pytest.fixture(params=["native", pytest.param("python", marks=pytest.mark.long)])
    def generator(self, request: pytest.FixtureRequest) -> str:
        return str(request.param)

    @pytest.fixture
    def runner(self, mock_cluster: RunningCluster, generator: str) -> Runner:
        return LibrdkafkaRunner(mock_cluster, new_topic(), generator)

    @pytest.fixture
    def limited(self, mock_cluster: RunningCluster, generator: str) -> Runner:
        return LibrdkafkaRunner(mock_cluster, new_topic(), generator, Limits(max_bytes=100_000))

    def test_a_budget_below_one_record_sends_nothing(self, mock_cluster: RunningCluster, generator: str) -> None:
        topic = new_topic()
        with pytest.raises(ByteBudgetExceeded, match="at least one record, but only") as caught:
            LibrdkafkaRunner(mock_cluster, topic, generator, Limits(max_bytes=99)).run(CONFIG, PACED)
        assert caught.value.sent_bytes == 0
        assert LibrdkafkaRunner(mock_cluster, topic, generator).run(CONFIG, PACED).counts.agree


@pytest.mark.broker
class JavaRunnerContract(RealRunnerContract):
    """The contract of runners that use the Java client, which needs a real broker."""

    config = ProducerConfig.parse({"linger.ms": 1, "acks": "all"}, client=java())
    small_queue = ProducerConfig.parse({"buffer.memory": 100_000, "batch.size": 10_000}, client=java())
    small_records = (ProducerConfig.parse({"max.request.size": 10_000}, client=java()), "record-within-request")


class TestJava(JavaRunnerContract):
    covers = JavaRunner

    @pytest.fixture(autouse=True)
    def one_waits(self, runner: Runner) -> None:
        """Keep a Java process of an earlier run waiting, so that a run need not start one."""
        runner.run(self.config, SHORTEST)

    @pytest.fixture
    def runner(self, broker: RunningCluster, new_topic: TopicMaker) -> Runner:
        return JavaRunner(broker, new_topic(PARTITIONS), warms_up=False)

    @pytest.fixture
    def limited(self, broker: RunningCluster, new_topic: TopicMaker) -> Runner:
        return JavaRunner(broker, new_topic(PARTITIONS), Limits(max_bytes=100_000), warms_up=False)

    def test_a_budget_below_one_record_sends_nothing(self, broker: RunningCluster, new_topic: TopicMaker) -> None:
        topic = new_topic(PARTITIONS)
        with pytest.raises(ByteBudgetExceeded, match="at least one record, but only") as caught:
            JavaRunner(broker, topic, Limits(max_bytes=9), warms_up=False).run(self.config, PACED)
        assert caught.value.sent_bytes == 0

    def test_the_process_that_was_prepared_serves_the_next_run(
        self, broker: RunningCluster, new_topic: TopicMaker
    ) -> None:
        end_kept_jvms()
        before, topic, seen = _java_children(), new_topic(PARTITIONS), set[int]()

        def watch(_: Window) -> WatchDecision:
            seen.update(_java_children() - before)
            return WatchDecision.GO_ON

        runner = JavaRunner(broker, topic, warms_up=False)
        runner.prepare(self.config, SHORTEST)
        prepared = _java_children() - before
        assert len(prepared) == 1
        assert sum(TopicAdmin(broker.connection).end_offsets(topic.name, PARTITIONS)) == 0
        runner.run(self.config, SHORTEST, watch)
        assert seen == prepared


@pytest.mark.long
class TestIsolatedJava(JavaRunnerContract):
    covers = Isolated

    @pytest.fixture
    def runner(self, broker: RunningCluster, new_topic: TopicMaker) -> Runner:
        return Isolated(JavaRunner(broker, new_topic(PARTITIONS), warms_up=False))

    @pytest.fixture
    def limited(self, broker: RunningCluster, new_topic: TopicMaker) -> Runner:
        return Isolated(JavaRunner(broker, new_topic(PARTITIONS), Limits(max_bytes=100_000), warms_up=False))


class TestIsolated(RealRunnerContract):
    covers = Isolated

    @pytest.fixture
    def runner(self, mock_cluster: RunningCluster) -> Runner:
        return Isolated(LibrdkafkaRunner(mock_cluster, new_topic()))

    @pytest.fixture
    def limited(self, mock_cluster: RunningCluster) -> Runner:
        return Isolated(LibrdkafkaRunner(mock_cluster, new_topic(), limits=Limits(max_bytes=100_000)))


@pytest.mark.long
class TestKept(RealRunnerContract):
    covers = Isolated

    @pytest.fixture(autouse=True)
    def one_waits(self) -> Iterator[None]:
        """Keep a child process of an earlier run waiting, so that a run need not start one."""
        Isolated(SimulatedRunner(), reuses_process=True).run(CONFIG, PACED)
        yield
        end_reused_processes()

    @pytest.fixture
    def runner(self, mock_cluster: RunningCluster) -> Runner:
        return Isolated(LibrdkafkaRunner(mock_cluster, new_topic()), reuses_process=True)

    @pytest.fixture
    def limited(self, mock_cluster: RunningCluster) -> Runner:
        return Isolated(
            LibrdkafkaRunner(mock_cluster, new_topic(), limits=Limits(max_bytes=100_000)), reuses_process=True
        )


@pytest.mark.long
class TestWithTopic(RealRunnerContract):
    covers = WithTopic

    @pytest.fixture
    def runner(self, mock_cluster: RunningCluster) -> Runner:
        return WithTopic(topic_for, lambda topic: LibrdkafkaRunner(mock_cluster, topic))

    @pytest.fixture
    def limited(self, mock_cluster: RunningCluster) -> Runner:
        limits = Limits(max_bytes=100_000)
        return WithTopic(topic_for, lambda topic: LibrdkafkaRunner(mock_cluster, topic, limits=limits))


@contextmanager
def topic_for(_: Workload) -> Iterator[Topic]:
    yield new_topic()
