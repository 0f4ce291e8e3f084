"""The steps before and after a load on a real topic, which the runners of all clients share.

They check that the topic takes the records, count its records before and after the load, and make the `Measurement`.
"""

import datetime
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Protocol

from runners.clusters.cluster import RunningCluster
from runners.clusters.topics.owned_topics import Topic
from runners.clusters.topics.stored_records import stored_records
from runners.errors import RunnerError
from runners.host.probe import HostReading
from runners.load.payload import PayloadPool, payload_of
from runners.measurements.end_to_end import SampledDeliveries
from runners.measurements.histogram import Histogram
from runners.measurements.measurement import ClientActivity, Counts, LatencyCheck, Measurement, Origin, TimePoint
from runners.measurements.resources import Resources
from runners.workload import Workload
from search_spaces.configs.producer_config import ProducerConfig, check_record


class Sending(Protocol):
    """A load that is running or has ended."""

    @property
    def sent_bytes(self) -> int:
        """Bytes of values and keys that were sent so far."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RawResult:
    """The part of a load's result that is the same for all clients.

    Attributes:
        duration_s: Actual length of the measured phase in seconds.
        records: Number of records acknowledged in the measured phase.
        latency: Latencies of the records that the measurement covers; see `Measurement.latency`.
        served: Latencies of the records whose delivery arrived in the measured phase. The client's own statistics of
            that phase cover the same records.
        send_delay: Delays from the intended send time until the client was given the record; empty at saturation.
        series: The summary of each window (a period of at most a second).
        before: The counters of the host, such as CPU times, at the start of the measured phase.
        after: The same counters at its end.
        stopped_early: Whether `watch` stopped the load before its end.
        sample_ratio: Share of the deliveries of the measured phase whose latency was recorded.
        flush_s: Seconds from the end of the last window until the last delivery.
        purged: Number of records that we made the client give up after the load.
        deliveries: The sampled records with their offsets; None if they are not kept.
    """

    duration_s: float
    records: int
    latency: Histogram
    served: Histogram
    send_delay: Histogram
    series: tuple[TimePoint, ...]
    before: HostReading
    after: HostReading
    stopped_early: bool
    sample_ratio: float
    flush_s: float = 0.0
    purged: int = 0
    deliveries: SampledDeliveries | None = None


@dataclass(frozen=True, slots=True)
class LoadOutcome:
    """The result of a load. Its attributes mean the same as those of a `Measurement`.

    Attributes:
        result: The raw result of the load.
        counts: The records as counted by us and by the client; `measured_on` adds the topic's count.
        latency_check: Our mean latency compared with that of the client's statistics.
        resources: Use of CPU and sockets.
        activity: What the client's statistics report.
        sent_bytes: Bytes of values and keys that were sent in the whole run.
        warnings: Sentences about anything that weakens the measurement.
    """

    result: RawResult
    counts: Counts
    latency_check: LatencyCheck | None
    resources: Resources
    activity: ClientActivity | None
    sent_bytes: int
    warnings: tuple[str, ...] = ()


def check_records(topic: Topic, config: ProducerConfig, workload: Workload) -> None:
    """Check that the config and the topic allow the records of a workload.

    Raises:
        RuleBroken: They do not allow records of this size.
    """
    check_record(
        config,
        workload.record_sizes.largest_bytes,
        workload.key_bytes or None,
        topic_max_message_bytes=topic.max_message_bytes,
    )


def keeps_offsets(config: ProducerConfig, workload: Workload) -> bool:
    """Return whether a load keeps the offsets of its sampled records, by which consumers find them again."""
    return workload.consumers > 0 and config.acks != 0  # with acks=0 the broker returns no offsets


@contextmanager
def sent_bytes_in_errors() -> Iterator[list[Sending]]:
    """Yield a list to which each started load is added. An error then says how many bytes these loads had sent."""
    loads: list[Sending] = []
    try:
        yield loads
    except RunnerError as error:
        error.sent_bytes = sum(load.sent_bytes for load in loads)
        raise


def measured_on(
    topic: Topic,
    cluster: RunningCluster,
    config: ProducerConfig,
    workload: Workload,
    load: Callable[[PayloadPool], LoadOutcome],
    *,
    generator: str,
    client_version: str,
) -> Measurement:
    """Run a load on a topic, and return what was measured.

    Args:
        topic: The topic to write to.
        cluster: The cluster of the topic.
        config: The config to measure.
        workload: The records to send.
        load: Sends the records of a pool with the config until the workload ends.
        generator: The name of the load generator.
        client_version: Name and version of the client library.
    """
    pool, zlib_ratio = payload_of(workload)
    started_at = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    before = stored_records(cluster.connection, topic.name, topic.partitions)
    outcome = load(pool)
    stored = None
    if before is not None:
        due = before + outcome.counts.acknowledged
        after = stored_records(cluster.connection, topic.name, topic.partitions, acknowledged=due)
        stored = None if after is None else after - before
    result = outcome.result
    return Measurement(
        config=config,
        workload=workload,
        origin=Origin(
            generator=generator,
            client_version=client_version,
            cluster=cluster.label,
            topic=topic.name,
            started_at=started_at,
            payload_zlib_ratio=zlib_ratio,
            link_mb_per_s=cluster.link_mb_per_s,
        ),
        duration_s=result.duration_s,
        records=result.records,
        value_bytes=result.records * pool.mean_bytes,
        latency=result.latency,
        send_delay=result.send_delay,
        sample_ratio=result.sample_ratio,
        counts=replace(outcome.counts, stored=stored, sole_writer=topic.owned),
        latency_check=outcome.latency_check,
        resources=outcome.resources,
        activity=outcome.activity,
        series=result.series,
        stopped_early=result.stopped_early,
        warnings=outcome.warnings,
        flush_s=result.flush_s,
        sent_bytes=outcome.sent_bytes,
        deliveries=result.deliveries,
    )
