"""The `Runner` that measures one config of Kafka's Java producer on a real cluster.

This module also turns the raw result of a load (`JavaResult`) into a `Measurement`.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Final

from typing_extensions import override

from runners.clock import NS_PER_S, NS_PER_US, SystemClock
from runners.clusters.cluster import CLIENT_ID, RunningCluster
from runners.clusters.topics.owned_topics import Topic
from runners.host.probe import ClientProcess, HostProbe, usage
from runners.java_client.heap import check_heap, default_heap_bytes
from runners.java_client.jvm import Jvm
from runners.java_client.kept_jvm import kept_jvm
from runners.java_client.load import JavaLoad, JavaResult
from runners.java_client.reports import ONE_SAMPLE, ClientTotals
from runners.java_client.warm_up import warm_up
from runners.load.payload import PayloadPool
from runners.load.producer_run import (
    LoadOutcome,
    Sending,
    check_records,
    keeps_offsets,
    measured_on,
    sent_bytes_in_errors,
)
from runners.load.watchdog import Watchdog
from runners.measurements.measurement import ClientActivity, Counts, LatencyCheck, Measurement, used_partitions
from runners.measurements.resources import Resources
from runners.runner import DEFAULT_LIMITS, Limits, Preparable, Runner, Watch, go_on
from runners.workload import Workload
from search_spaces.configs.producer_config import ProducerConfig
from search_spaces.connection.java_connection import connection_for_java

_SERIALIZER: Final = "org.apache.kafka.common.serialization.ByteArraySerializer"
_OURS: Final = {
    "key.serializer": _SERIALIZER,
    "value.serializer": _SERIALIZER,
    **ONE_SAMPLE,
}
"""The properties that the load generator sets."""
_NETWORK_THREAD: Final = "kafka-producer-"
_SENDER_THREAD: Final = "tuner-sender"
COLLECTOR_THREADS: Final = ("GC Thread#", "G1 ")
_MUCH_COLLECTED_RATIO: Final = 0.05
"""If the garbage collector stops the client for this share of the time or more, the measurement has a warning."""


@dataclass(frozen=True, slots=True)
class JavaRunner(Runner, Preparable):
    """Measures configs of the Java client on one topic of a running cluster.

    This `Runner` can be pickled and used in another process. The Java process is a child of the process that calls
    `run`. It is kept for the next run there, because a Java process is slow until it has compiled its hot code.

    Attributes:
        cluster: The cluster to send to.
        topic: The topic to write to.
        limits: Limits that each measurement must respect.
        warms_up: Whether a new Java process is warmed up before it measures for the first time (`warm_up`).
    """

    cluster: RunningCluster
    topic: Topic
    limits: Limits = DEFAULT_LIMITS
    warms_up: bool = True

    @override
    def run(self, config: ProducerConfig, workload: Workload, watch: Watch = go_on) -> Measurement:
        check_records(self.topic, config, workload)
        with sent_bytes_in_errors() as loads, self._jvm(config, workload) as jvm:
            return measured_on(
                self.topic,
                self.cluster,
                config,
                workload,
                lambda pool: self._load(jvm, config, workload, watch, pool, loads),
                generator="java",
                client_version=f"kafka-clients {jvm.version}",
            )

    @override
    def prepare(self, config: ProducerConfig, workload: Workload) -> None:
        with self._jvm(config, workload):
            pass

    @contextmanager
    def _jvm(self, config: ProducerConfig, workload: Workload) -> Iterator[Jvm]:
        """Yield a Java process for one run. If it is new, it has been warmed up."""
        heap_bytes = default_heap_bytes()
        protocol = self.cluster.connection.get("security.protocol", "plaintext")
        check_heap(config, workload, heap_bytes)
        with kept_jvm(config.client.version, heap_bytes, protocol) as jvm:
            if self.warms_up and not jvm.warm:
                warm_up(jvm, config, workload, _OURS)
            yield jvm

    def _load(
        self,
        jvm: Jvm,
        config: ProducerConfig,
        workload: Workload,
        watch: Watch,
        pool: PayloadPool,
        loads: list[Sending],
    ) -> LoadOutcome:
        """Send the records, and add the load to `loads` before it sends its first record."""
        clock = SystemClock()
        process = ClientProcess(jvm.pid, (_NETWORK_THREAD,), _SENDER_THREAD, COLLECTOR_THREADS)
        probe = HostProbe(self.cluster.local_brokers, process)
        watchdog = Watchdog.for_run(self.cluster, self.limits, config, clock)
        keep_offsets = keeps_offsets(config, workload)
        load = JavaLoad(jvm, pool, workload, clock, watchdog, probe, self.limits.max_bytes, keep_offsets)
        loads.append(load)
        result = load.run(self._properties(config), self.topic.name, watch)
        return LoadOutcome(
            result,
            counts=counts_of(result, config),
            latency_check=latency_check_of(result),
            resources=resources_of(result),
            activity=activity_of(result, self.topic.partitions),
            sent_bytes=load.sent_bytes,
            warnings=warnings_of(result),
        )

    def _properties(self, config: ProducerConfig) -> dict[str, str]:
        return {
            "client.id": CLIENT_ID,
            **connection_for_java(self.cluster.connection, config.client.version),
            **config.values,
            **_OURS,
        }


def counts_of(result: JavaResult, config: ProducerConfig) -> Counts:
    """Return the numbers of records that the client accepted and that were acknowledged in the whole run.

    Args:
        result: The raw result of the load.
        config: The config that was measured.
    """
    last = result.last
    return Counts(
        handed_over=last.handed_over,
        acknowledged=last.acknowledged,
        failed=dict(last.failed),
        transmitted=round(last.client.records),
        retries=_retries(last.client.retried_records, last.client),
        acks=config.acks,
        idempotent=config.idempotent,
        purged=result.purged,
    )


def _retries(records: float, client: ClientTotals) -> int:
    """Return about how many batches the retried records were in; at least 1 if there are any retried records."""
    return max(1, round(records * client.batches / client.records)) if records else 0


def latency_check_of(result: JavaResult) -> LatencyCheck | None:
    """Compare the mean latency that we measured with the mean latency that the client's own metrics give.

    Both means cover the phase after the warm-up, and begin when `send` has returned. The client's mean is

        record-queue-time-avg - (mean age of a batch when a record is in it) + request-latency-avg + callbacks
            + (mean fraction of a millisecond when a response is there)

    The client measures the queue time of a batch from its first record, but the other records come later. The client's
    request latency ends before the first callback of a response, but the other records also wait for the callbacks
    before their own. The client's clock counts whole milliseconds. So the age of a batch is counted from the whole
    millisecond that the client noted, and the fraction of a millisecond is added when the response is there. Without
    this fraction, the two means differed by 10 % at 100 kB and 500 records/s, where every batch begins at the same
    fraction of a millisecond. The client notes the start of a batch after it has waited for room in its buffer, but it
    notes the timestamp of the first record before this wait. We measure the batch age, the callbacks and the fraction
    ourselves, because the client has no metric for them.

    The averages are those of the measured phase (`ClientTotals`). Each batch and each request has the same weight in
    them, however many records it has. So they differ from the mean over the records if requests hold batches of several
    partitions, because requests with more batches take longer.

    Returns:
        The comparison; None if the client reported no batches in the measured phase, or no latency was recorded.
    """
    start, end = result.at_start, result.at_end
    batches, responses = end.client.batches - start.client.batches, end.client.responses - start.client.responses
    sampled, timed = end.sampled - start.sampled, end.timed - start.timed
    if batches <= 0 or not sampled or not timed or not result.served.count:
        return None
    waited_us = (end.client.wait_ns - start.client.wait_ns) / batches / NS_PER_US
    age_us = (end.batch_age_ns - start.batch_age_ns) / sampled / NS_PER_US - waited_us
    call_us = (end.in_send_ns - start.in_send_ns) / sampled / NS_PER_US
    callbacks_us = (end.callback_ns - start.callback_ns) / timed / NS_PER_US
    arrivals, fractions_ns = end.responses - start.responses, end.response_fraction_ns - start.response_fraction_ns
    arrived_us = fractions_ns / arrivals / NS_PER_US if arrivals else 0.0
    queue_us = (end.client.queue_us - start.client.queue_us) / batches - age_us
    rtt_us = (end.client.rtt_us - start.client.rtt_us) / responses + arrived_us if responses > 0 else 0.0
    delay_us = result.send_delay.mean_us if result.send_delay.count else 0.0
    return LatencyCheck(
        seen_us=result.served.mean_us - delay_us - call_us,
        client_us=queue_us + rtt_us + callbacks_us,
        queue_us=queue_us,
        outbuf_us=0.0,
        rtt_us=rtt_us,
        drain_us=None,
        batch_us=callbacks_us,
    )


def resources_of(result: JavaResult) -> Resources:
    """Return the use of CPU and sockets, and how long the sender's thread was inside the client's code."""
    start, end = result.at_start, result.at_end
    sampled = end.sampled - start.sampled
    inside = None
    if sampled:
        per_record_ns = (end.in_send_ns - start.in_send_ns) / sampled
        waited_ns = end.client.wait_ns - start.client.wait_ns
        inside_ns = per_record_ns * (end.handed_over - start.handed_over) - waited_ns
        inside = min(1.0, max(0.0, inside_ns / (result.duration_s * NS_PER_S)))
    used = usage(result.before, result.after)
    if inside is not None and used.sender_demand_ratio is not None:
        inside = min(inside, used.sender_demand_ratio)
    return replace(used, sender_in_client_ratio=inside)


def activity_of(result: JavaResult, partitions: int) -> ClientActivity | None:
    """Return the values from the client's metrics for the measured phase; None if it reported no batch there.

    Args:
        result: The raw result of the load.
        partitions: Number of partitions of the topic.
    """
    start, end = result.at_start.client, result.at_end.client
    batches, responses = end.batches - start.batches, end.responses - start.responses
    if batches <= 0 or not result.gauges:
        return None
    reports = len(result.gauges)
    return ClientActivity(
        queue_full_ratio=min(1.0, (end.wait_ns - start.wait_ns) / NS_PER_S / result.duration_s),
        queue_growth_ratio=(result.at_end.waiting - result.at_start.waiting) / max(1, result.records),
        queued_records=sum(waiting for _, waiting in result.gauges) / reports,
        queued_bytes=sum(client.queued_bytes for client, _ in result.gauges) / reports,
        in_flight_requests=sum(client.in_flight for client, _ in result.gauges) / reports,
        throttle_ms=max(0.0, end.throttle_ms - start.throttle_ms) / responses if responses > 0 else 0.0,
        wire_bytes=round(end.wire_bytes - start.wire_bytes),
        batch_records=(end.records - start.records) / batches,
        batch_bytes=(end.batch_bytes - start.batch_bytes) / batches,
        retries=_retries(end.retried_records - start.retried_records, end),
        partitions_used=used_partitions(result.partition_records[:partitions]),
    )


def warnings_of(result: JavaResult) -> tuple[str, ...]:
    """Return a warning if the garbage collector stopped the client for long."""
    stopped_s = (result.at_end.collector_ms - result.at_start.collector_ms) / 1e3
    ratio = stopped_s / result.duration_s
    if ratio < _MUCH_COLLECTED_RATIO:
        return ()
    return (
        f"the garbage collector stopped the Java client for {stopped_s:.1f} s of {result.duration_s:.1f} s "
        f"({100 * ratio:.0f} %); with a lower buffer.memory, fewer records wait on its heap",
    )
