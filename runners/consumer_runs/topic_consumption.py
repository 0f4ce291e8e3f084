"""Reads one topic with several consumers: the user's, or one that is filled before they start or while they read."""

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field, replace
from typing import Final

from runners.clock import NS_PER_S, SystemClock
from runners.clusters.cluster import CLIENT_ID, RunningCluster
from runners.clusters.topics.owned_topics import Topic
from runners.clusters.topics.stored_topics import StoredTopics
from runners.consumers.consumer_processes import ConsumerProcesses
from runners.consumers.consumption import Consumption
from runners.consumers.reading import OffsetRange, Reading, Start, share_out
from runners.consumers.reading_load import Reader, ReadWatch, read_on
from runners.errors import DeliveryFailed, GeneratorError, WorkloadRefused
from runners.java_client.source import JavaReader
from runners.librdkafka.load_client import CALL_RECORDS
from runners.librdkafka.native_client import NativeClient
from runners.librdkafka.source import LibrdkafkaReader
from runners.librdkafka.tally import Tally
from runners.load.payload import payload_of
from runners.load.producer_run import check_records
from runners.load.watchdog import Watchdog
from runners.measurements.measurement import Measurement, Window
from runners.runner import Limits, Runner, WatchDecision
from runners.workload import Workload
from search_spaces.client import Client, ClientKind, librdkafka
from search_spaces.configs.producer_config import ProducerConfig

_NOTHING_WRITTEN: Final = "nobody wrote to the topic while it was read at its tail, so there was nothing to read"
KEPT: Final = {"retention.bytes": "-1"}
"""The settings of a topic that is filled before it is measured: it must keep all of its records."""
_LATENCIES_RATIO: Final = 1e-6
"""The share of the records whose latency is recorded while a topic is filled: nearly none, as nobody reads them."""
_POLL_MS: Final = 20
_CHECK_S: Final = 0.2
_WRITER_WARMUP_S: Final = 1.0
"""The warm-up of a producer whose records consumers read."""
_LONGEST_WRITING_S: Final = 86_400.0
"""After how long such a producer ends at the latest; it usually ends after its consumers."""


@dataclass(frozen=True, slots=True)
class TopicConsumption:
    """A load of consumers on one topic.

    Attributes:
        cluster: The cluster of the topic.
        topic: The name of the topic.
        reading: The settings of the load.
        sole_writer: Whether only we write to the topic, so that every offset must hold a record.
        client: The client of the consumers.
    """

    cluster: RunningCluster
    topic: str
    reading: Reading
    sole_writer: bool = False
    client: Client = field(default_factory=librdkafka)

    def run(
        self,
        watch: ReadWatch = read_on,
        on_start: Callable[[int], None] = lambda _: None,
        ranges: Sequence[OffsetRange] | None = None,
    ) -> Consumption:
        """Read the topic, and return what was measured. The cluster is left as it was.

        Args:
            watch: Called with each window; it can stop the load.
            on_start: Called with the moment at which all consumers begin; see `ConsumerProcesses.run`.
            ranges: The offsets to read in each partition; None for the offsets that `self.offset_ranges()` returns now.

        Raises:
            WorkloadRefused: The topic does not exist or is empty, or it has fewer partitions than there are consumers.
            TargetRefused: We have no permission to read it.
            BrokerLost: The cluster did not answer, or no longer answers.
            RunnerError: A consumer gave no result.
        """
        ranges = self.offset_ranges() if ranges is None else ranges
        shares = share_out(ranges, self.reading.consumers)
        seen = ConsumerProcesses([self._reader(share) for share in shares]).run(watch, on_start)
        deleted = self._deleted(ranges) if seen.counts.skipped else 0
        counts = replace(seen.counts, sole_writer=self.sole_writer, deleted=deleted)
        return replace(seen, counts=counts, warnings=(*seen.warnings, *_warnings(seen)))

    def _reader(self, share: tuple[OffsetRange, ...]) -> Reader:
        match self.client.kind:
            case ClientKind.LIBRDKAFKA:
                return LibrdkafkaReader(self.cluster, self.topic, share, self.reading)
            case ClientKind.JAVA:
                return JavaReader(self.cluster, self.topic, share, self.reading, self.client.version)

    def _deleted(self, ranges: Sequence[OffsetRange]) -> int:
        """Return how many of these offsets the topic no longer has, because retention has deleted their records."""
        begins = {each.number: each.begin for each in StoredTopics(self.cluster.connection).one(self.topic).partitions}
        return sum(max(0, begins[each.partition] - each.first) for each in ranges)

    def offset_ranges(self) -> list[OffsetRange]:
        """Return the offsets to read, by `reading.start`: all offsets of the topic, or those after its current end.

        Raises:
            WorkloadRefused: The topic does not exist or is empty.
            TargetRefused: We have no permission to read it.
            BrokerLost: The cluster did not answer.
        """
        stored = StoredTopics(self.cluster.connection).one(self.topic)
        if self.reading.start is Start.TAIL:
            return [OffsetRange(each.number, each.end, None) for each in stored.partitions]
        if not stored.records:
            raise WorkloadRefused(
                f"a topic that is read from its beginning must have records, but {self.topic} is empty; name another "
                "topic, or read at the tail while records are written (--start tail)"
            )
        return [OffsetRange(each.number, each.begin, each.end) for each in stored.partitions]


def _warnings(consumption: Consumption) -> list[str]:
    sentences = []
    if consumption.in_warm_up and consumption.ended_s is not None:
        sentences.append(
            f"everything was read within the warm-up, after {consumption.ended_s:.2f} s, so the values are those of "
            "the warm-up; shorten it, or read a larger topic"
        )
    if consumption.reading.start is Start.TAIL and not consumption.counts.taken:
        sentences.append(_NOTHING_WRITTEN)
    return sentences


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


def read_while_writing(
    consumption: TopicConsumption,
    runner: Runner,
    config: ProducerConfig,
    workload: Workload,
    watch: ReadWatch = read_on,
) -> tuple[Consumption, Measurement]:
    """Write to a topic, and read it as soon as records arrive.

    Args:
        consumption: The load of consumers.
        runner: The runner that writes to the topic.
        config: The producer config.
        workload: The records to write. Its times are ignored, because the producer ends after the consumers.
        watch: Called with each window of the consumers.

    Returns:
        The result of the consumers, and the producer's measurement from its warm-up to its end.

    Raises:
        RunnerError: The consumers or the producer gave no result.
    """
    writes, over = threading.Event(), threading.Event()
    endless = replace(workload, warmup_s=_WRITER_WARMUP_S, measured_s=_LONGEST_WRITING_S - _WRITER_WARMUP_S)

    def watch_writer(_: Window) -> WatchDecision:
        writes.set()
        return WatchDecision.STOP if over.is_set() else WatchDecision.GO_ON

    with ThreadPoolExecutor(1, "tuner-writer") as threads:
        writer = threads.submit(runner.run, config, endless, watch_writer)
        writer.add_done_callback(lambda _: writes.set())  # it may have failed before its first window
        try:
            writes.wait()
            consumed = None
            if not writer.done():
                consumed = consumption.run(lambda window: WatchDecision.STOP if writer.done() else watch(window))
        finally:
            over.set()
    written = writer.result()
    if consumed is None:
        raise GeneratorError("the producer ended before the consumers; run again")
    return consumed, written
