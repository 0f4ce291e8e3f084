"""The `Runner` that measures one producer config on a real cluster, with librdkafka as the client.

This module also turns the raw result of sending the records (`LibrdkafkaResult`) into a `Measurement`.
"""

from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass
from typing import Final

from typing_extensions import override

from runners.clock import NS_PER_US, US_PER_S, SystemClock
from runners.clusters.cluster import CLIENT_ID, RunningCluster
from runners.clusters.topics.owned_topics import Topic
from runners.host.probe import HostProbe, usage
from runners.librdkafka import capi
from runners.librdkafka.load import LibrdkafkaLoad, LibrdkafkaResult
from runners.librdkafka.load_client import LoadClient
from runners.librdkafka.native_client import NativeClient
from runners.librdkafka.opening import statistics_interval
from runners.librdkafka.python_client import PythonClient
from runners.librdkafka.statistics import StatisticsReport
from runners.librdkafka.tally import DrainDelay, Tally
from runners.load.interpreter import quiet_interpreter
from runners.load.latency_sampling import first_sample_ratio
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
from runners.runner import DEFAULT_LIMITS, Limits, Runner, Watch, go_on
from runners.workload import Workload
from search_spaces.configs.producer_config import ProducerConfig

OpenClient = Callable[[Mapping[str, str], str, PayloadPool, Tally], LoadClient]

GENERATORS: Final[Mapping[str, OpenClient]] = {"native": NativeClient, "python": PythonClient}


@dataclass(frozen=True, slots=True)
class LibrdkafkaRunner(Runner):
    """Measures configs on one topic of a running cluster. This `Runner` can be pickled and used in another process.

    Attributes:
        cluster: The cluster to send to.
        topic: The topic to write to.
        generator: The load generator: `native`, or `python` as a fallback.
        limits: Limits that each measurement must respect.
    """

    cluster: RunningCluster
    topic: Topic
    generator: str = "native"
    limits: Limits = DEFAULT_LIMITS

    @override
    def run(self, config: ProducerConfig, workload: Workload, watch: Watch = go_on) -> Measurement:
        check_records(self.topic, config, workload)
        with sent_bytes_in_errors() as loads:
            return measured_on(
                self.topic,
                self.cluster,
                config,
                workload,
                lambda pool: self._load(config, workload, watch, pool, loads),
                generator=self.generator,
                client_version=f"librdkafka {capi.version()}",
            )

    def _load(
        self, config: ProducerConfig, workload: Workload, watch: Watch, pool: PayloadPool, loads: list[Sending]
    ) -> LoadOutcome:
        """Send the records, and add the load to `loads` before it sends its first record."""
        ratio = first_sample_ratio(workload.rate_records_per_s, pool.mean_bytes)
        tally = Tally(seed=workload.seed, sample_ratio=ratio, keeps_offsets=keeps_offsets(config, workload))
        with quiet_interpreter(), closing(self._client(config, pool, tally)) as client:
            clock = SystemClock()
            probe = HostProbe(self.cluster.local_brokers)
            watchdog = Watchdog.for_run(self.cluster, self.limits, config, clock)
            load = LibrdkafkaLoad(client, tally, pool, workload, clock, watchdog, probe, self.limits.max_bytes)
            loads.append(load)
            result = load.run(watch)
        resources = usage(result.before, result.after)
        return LoadOutcome(
            result,
            counts=counts_of(result, tally, config),
            latency_check=latency_check_of(result, tally.drain_delay, resources.client_user_demand_cores),
            resources=resources,
            activity=activity_of(result),
            sent_bytes=load.sent_bytes,
        )

    def _client(self, config: ProducerConfig, pool: PayloadPool, tally: Tally) -> LoadClient:
        properties = {
            "client.id": CLIENT_ID,
            **self.cluster.connection,
            **config.values,
            **statistics_interval(self.topic.partitions),
        }
        return GENERATORS[self.generator](properties, self.topic.name, pool, tally)


def counts_of(result: LibrdkafkaResult, tally: Tally, config: ProducerConfig) -> Counts:
    """Return the numbers of records that the client accepted and that were acknowledged.

    All these records are counted over the whole measurement, including the warm-up and the flush (the wait for the last
    deliveries).

    Args:
        result: The raw result of sending the records.
        tally: The counters of deliveries.
        config: The config that was measured.
    """
    last = result.last
    return Counts(
        handed_over=result.handed_over,
        acknowledged=tally.acknowledged,
        failed=dict(tally.failed),
        transmitted=last.tx_records if last else None,
        retries=last.retries if last else 0,
        acks=config.acks,
        idempotent=config.idempotent,
        purged=result.purged,
    )


def latency_check_of(
    result: LibrdkafkaResult, drain: DrainDelay, user_demand_cores: float | None = None
) -> LatencyCheck | None:
    """Compare the mean latency that we measured with the mean latency that the client's own statistics give.

    Both means cover the phase after the warm-up.

    Args:
        result: The result of the load.
        drain: How long deliveries waited for the thread that takes them from the client.
        user_demand_cores: The value of `Resources.client_user_demand_cores`; None if unknown.

    Returns:
        The comparison; None if the client reported no records in the measured phase.
    """
    account = result.account
    if not account.records or not result.served.count:
        return None
    delay_us = result.send_delay.mean_us if result.send_delay.count else 0.0
    batch_us = None
    if user_demand_cores is not None and result.records:
        per_record_us = user_demand_cores * result.duration_s / result.records * US_PER_S
        # A record waits until the client has worked on its whole batch.
        batch_us = per_record_us * account.batch_records.mean
    return LatencyCheck(
        seen_us=result.served.mean_us - delay_us,
        client_us=account.latency_us + (batch_us or 0.0),
        queue_us=account.queue_us / account.records,
        outbuf_us=account.outbuf_us / account.records,
        rtt_us=account.rtt_us / account.records,
        drain_us=_drain_wait_us(drain),
        batch_us=batch_us,
    )


def _drain_wait_us(drain: DrainDelay) -> float | None:
    if drain.last_ns <= drain.first_ns:
        return None
    per_ns = (drain.events - 1) / (drain.last_ns - drain.first_ns)
    return drain.left_behind / drain.events / per_ns / NS_PER_US


def activity_of(result: LibrdkafkaResult) -> ClientActivity | None:
    """Return the values from the client's statistics for the measured phase (after the warm-up).

    The result is None if the client made no statistics report in that phase.
    """
    account, start, end = result.account, result.at_start, result.at_end
    if not account.reports or end is None:
        return None
    return ClientActivity(
        queue_full_ratio=result.queue_full_ratio,
        queue_growth_ratio=(end.queued_records - (start.queued_records if start else 0)) / max(1, result.records),
        queued_records=account.queued_records / account.reports,
        queued_bytes=account.queued_bytes / account.reports,
        in_flight_requests=account.in_flight / account.reports,
        throttle_ms=account.throttle_ms.mean,
        wire_bytes=_wire_bytes(result),
        batch_records=account.batch_records.mean,
        batch_bytes=account.batch_bytes.mean,
        retries=end.retries - (start.retries if start else 0),
        partitions_used=_partitions_used(start, end),
    )


def _wire_bytes(result: LibrdkafkaResult) -> int | None:
    """Return the number of bytes that the client sent to brokers for the records of the measured phase.

    This is their share of the bytes of the whole run, warm-up and flush included. The bytes that were sent within the
    phase can't be used, because many of them belong to records that are acknowledged outside of it: a client may have
    100,000 records in its buffers, and a short phase acknowledges not many more.
    """
    if result.last is None or not result.last.tx_records:
        return None
    return round(result.last.wire_bytes / result.last.tx_records * result.records)


def _partitions_used(start: StatisticsReport | None, end: StatisticsReport) -> int | None:
    before = dict(start.partition_records) if start else {}
    return used_partitions([records - before.get(number, 0) for number, records in end.partition_records])
