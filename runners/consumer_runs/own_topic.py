"""Writes the records that consumers read from a topic of our own: before the consumers start, or while they read."""

import threading
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Final

from runners.clock import NS_PER_S, SystemClock
from runners.clusters.cluster import CLIENT_ID, RunningCluster
from runners.clusters.topics.owned_topics import Topic
from runners.consumer_runs.topic_consumption import TopicConsumption
from runners.consumers.consumption import Consumption, ReadWindow
from runners.consumers.reading_load import ReadWatch, read_on
from runners.errors import DeliveryFailed, GeneratorError
from runners.librdkafka.load_client import CALL_RECORDS
from runners.librdkafka.native_client import NativeClient
from runners.librdkafka.tally import Tally
from runners.load.payload import payload_of
from runners.load.producer_run import check_records
from runners.load.watchdog import Watchdog
from runners.measurements.measurement import Measurement, Window
from runners.runner import Limits, Runner, WatchDecision
from runners.workload import Workload
from search_spaces.configs.producer_config import ProducerConfig

KEPT: Final = {"retention.bytes": "-1"}
"""The settings of a topic that is filled before it is measured: it must keep all of its records."""
_LATENCIES_RATIO: Final = 1e-6
_POLL_MS: Final = 20
_CHECK_S: Final = 0.2
_SETTLE_S: Final = 1.0
_LONGEST_S: Final = 86_400.0


def fill(
    cluster: RunningCluster,
    topic: Topic,
    config: ProducerConfig,
    workload: Workload,
    records: int,
    limits: Limits,
) -> None:
    """Write exactly `records` records to a topic, as fast as possible, and wait until all of them are acknowledged.

    Args:
        cluster: The cluster of the topic.
        topic: The topic to write to.
        config: The producer config. It decides how large the batches in the topic are.
        workload: The sizes, keys and compressibility of the records. Its times and its rate are ignored.
        records: Number of records.
        limits: How much disk space must stay free.

    Raises:
        DeliveryFailed: The client gave up some records.
        RunnerError: The errors that `Watchdog` and `NativeClient` raise.
        RuleBroken: The config or the topic does not allow records of this size.
    """
    check_records(topic, config, workload)
    pool, _ = payload_of(workload)
    tally, clock = Tally(seed=workload.seed, sample_ratio=_LATENCIES_RATIO), SystemClock()
    properties = {"client.id": CLIENT_ID, **cluster.connection, **config.values}
    with closing(NativeClient(properties, topic.name, pool, tally)) as client:
        watchdog = Watchdog.for_run(cluster, limits, config, clock)
        sent = check_ns = 0
        while sent < records or client.waiting():
            taken = client.send(clock.now_ns(), min(CALL_RECORDS, records - sent)) if sent < records else 0
            sent += taken
            client.drain(0 if taken else _POLL_MS)
            if clock.now_ns() >= check_ns:
                watchdog.check(tally, client.waiting())
                check_ns = clock.now_ns() + int(_CHECK_S * NS_PER_S)
    if tally.acknowledged != records:
        raise DeliveryFailed(f"the client gave up some of {records:,} records to write: {dict(tally.failed)}")


def fill_bytes(
    cluster: RunningCluster, topic: Topic, config: ProducerConfig, workload: Workload, stored_bytes: int, limits: Limits
) -> int:
    """Write about `stored_bytes` bytes of values to a topic, as `fill` does, and return the bytes of values and keys.

    At least one record is written.

    Raises:
        RunnerError: The errors that `fill` raises.
        RuleBroken: The config or the topic does not allow records of this size.
    """
    each_bytes = workload.record_sizes.mean_bytes
    records = max(1, int(stored_bytes // each_bytes))
    fill(cluster, topic, config, workload, records, limits)
    return int(records * (each_bytes + workload.key_bytes))


@dataclass(frozen=True, slots=True)
class Writing:
    """A load of a producer that runs while consumers read at the tail of the same topic.

    Attributes:
        runner: The runner that writes to the topic.
        config: The producer config.
        workload: The records to write. Its times are ignored, because the load ends after the consumers.
    """

    runner: Runner
    config: ProducerConfig
    workload: Workload


def read_while_writing(
    consumption: TopicConsumption, writing: Writing, watch: ReadWatch = read_on
) -> tuple[Consumption, Measurement]:
    """Write to a topic, and read it as soon as records arrive.

    Args:
        consumption: The load of consumers.
        writing: The load of the producer.
        watch: Called with each window of the consumers.

    Returns:
        The result of the consumers, and the producer's measurement from its warm-up to its end.

    Raises:
        RunnerError: The consumers or the producer gave no result.
    """
    writer = _Writer(writing)
    writer.start()
    try:
        writer.writes.wait()

        def watched(window: ReadWindow) -> WatchDecision:
            return WatchDecision.STOP if writer.failed else watch(window)

        consumed = None if writer.failed else consumption.run(watched)
    finally:
        writer.over.set()
        writer.join()
    written = writer.result()
    if consumed is None:
        raise GeneratorError("the producer ended before the consumers; run again")
    return consumed, written


class _Writer(threading.Thread):
    """The thread in which the producer's load runs.

    Attributes:
        writes: Set when the load has shown its first window, or has failed.
        over: Set by another thread to end the load with its next window.
        failed: Whether the load ended before `over` was set.
    """

    def __init__(self, writing: Writing) -> None:
        super().__init__(name="tuner-writer")
        self.writes = threading.Event()
        self.over = threading.Event()
        self.failed = False
        self._writing = writing
        self._outcome: Measurement | BaseException | None = None

    def run(self) -> None:
        writing = self._writing
        workload = replace(writing.workload, warmup_s=_SETTLE_S, measured_s=_LONGEST_S - _SETTLE_S)

        def watch(_: Window) -> WatchDecision:
            self.writes.set()
            return WatchDecision.STOP if self.over.is_set() else WatchDecision.GO_ON

        try:
            self._outcome = writing.runner.run(writing.config, workload, watch)
        except BaseException as error:  # noqa: BLE001 - raised again in the thread that reads
            self._outcome = error
        self.failed = not self.over.is_set()
        self.writes.set()

    def result(self) -> Measurement:
        """Return what was measured, or raise the error that prevented it."""
        if isinstance(self._outcome, Measurement):
            return self._outcome
        raise self._outcome or GeneratorError("the load of the producer gave no result")
