"""Measures one config with librdkafka: the `Runner` for a real cluster."""

import datetime
import gc
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import psutil

from runners.clock import Clock, SystemClock
from runners.clusters.cluster import RunningCluster
from runners.clusters.topic_admin import TopicAdmin
from runners.clusters.topics import Topic
from runners.errors import RunnerError
from runners.host import HostProbe, usage
from runners.librdkafka import capi
from runners.librdkafka.client import LoadClient
from runners.librdkafka.drain import first_sample_ratio
from runners.librdkafka.load import Load
from runners.librdkafka.native import NativeClient
from runners.librdkafka.outcome import activity_of, counts_of, latency_check_of
from runners.librdkafka.python import PythonClient
from runners.librdkafka.tally import Tally
from runners.librdkafka.watchdog import Watchdog
from runners.measurement import Measurement, Origin
from runners.payload import PayloadPool, make_pool
from runners.runner import Watch, go_on
from runners.workload import RecordSizes, Workload
from search_spaces.producer_config import ProducerConfig
from search_spaces.record_size import check_record

OpenClient = Callable[[Mapping[str, str], str, PayloadPool, Tally], LoadClient]

GENERATORS: Final[Mapping[str, OpenClient]] = {"native": NativeClient, "python": PythonClient}
CLIENT_ID: Final = "kafka-tuner"

_STALL_PATIENCE_S: Final = 15.0
_STATISTICS_MS: Final = 100
_WIDE_STATISTICS_MS: Final = 1_000
_WIDE_PARTITIONS: Final = 64
_SWITCH_INTERVAL_S: Final = 0.0001


@dataclass(frozen=True, slots=True)
class Limits:
    """What a run may take.

    Attributes:
        max_bytes: Value and key bytes that may be sent; None for no limit.
        min_free_disk_bytes: Free space that the disks of local brokers must keep.
    """

    max_bytes: int | None = None
    min_free_disk_bytes: int = 1 << 30


@dataclass(frozen=True, slots=True)
class LibrdkafkaRunner:
    """A `Runner` that writes to one topic of a running cluster; can be sent to another process.

    Attributes:
        cluster: Where to send.
        topic: What to write to.
        generator: `native`, or `python` as a fallback.
        limits: What a run may take.
    """

    cluster: RunningCluster
    topic: Topic
    generator: str = "native"
    limits: Limits = Limits()

    def run(self, config: ProducerConfig, workload: Workload, watch: Watch = go_on) -> Measurement:
        """See `Runner.run`."""
        check_record(
            config,
            workload.record_sizes.largest_bytes,
            workload.key_bytes or None,
            topic_max_message_bytes=self.topic.max_message_bytes,
        )
        pool, zlib_ratio = _payload(
            workload.record_sizes, workload.key_bytes, workload.compressibility_ratio, workload.seed
        )
        started_at = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
        ratio = first_sample_ratio(workload.rate_records_per_s, pool.mean_bytes)
        tally = Tally(seed=workload.seed, sample_ratio=ratio)
        stored_before = self._stored()
        with _quiet_interpreter(), self._client(config, pool, tally) as client:
            clock = SystemClock()
            probe = HostProbe({}, self.cluster.local_brokers)
            watchdog = self._watchdog(config, clock)
            result = Load(client, tally, pool, workload, clock, watchdog, probe, self.limits.max_bytes).run(watch)
        stored_after = self._stored()
        stored = None if stored_before is None or stored_after is None else stored_after - stored_before
        resources = usage(result.before, result.after)
        return Measurement(
            config=config,
            workload=workload,
            origin=Origin(
                generator=self.generator,
                client_version=f"librdkafka {capi.version()}",
                cluster=self.cluster.kind,
                topic=self.topic.name,
                started_at=started_at,
                payload_zlib_ratio=zlib_ratio,
            ),
            duration_s=result.duration_s,
            records=result.records,
            value_bytes=result.records * pool.mean_bytes,
            latency=result.latency,
            send_delay=result.send_delay,
            sample_ratio=tally.sample_ratio,
            counts=counts_of(
                result,
                tally,
                acks=config.acks,
                idempotent=config.idempotent,
                stored=stored,
                sole_writer=self.topic.owned,
            ),
            latency_check=latency_check_of(result, tally.drain_delay, resources.client_user_demand_cores),
            resources=resources,
            activity=activity_of(result),
            series=result.series,
            stopped_early=result.stopped_early,
            flush_s=result.flush_s,
        )

    def _watchdog(self, config: ProducerConfig, clock: Clock) -> Watchdog:
        brokers = self.cluster.local_brokers
        return Watchdog(
            clock,
            stall_patience_s=_STALL_PATIENCE_S + config.linger_ms / 1e3,
            disks=tuple(broker.log_dir for broker in brokers if broker.log_dir is not None),
            min_free_disk_bytes=self.limits.min_free_disk_bytes,
            broker_alive=lambda: not brokers or any(psutil.pid_exists(broker.pid) for broker in brokers),
        )

    @contextmanager
    def _client(self, config: ProducerConfig, pool: PayloadPool, tally: Tally) -> Iterator[LoadClient]:
        interval_ms = _STATISTICS_MS if self.topic.partitions <= _WIDE_PARTITIONS else _WIDE_STATISTICS_MS
        properties = {
            "client.id": CLIENT_ID,
            **self.cluster.connection,
            **config.values,
            "statistics.interval.ms": str(interval_ms),
        }
        client = GENERATORS[self.generator](properties, self.topic.name, pool, tally)
        try:
            yield client
        finally:
            client.close()

    def _stored(self) -> int | None:
        """Records in the topic by its end offsets; None where we may not read them."""
        try:
            return sum(TopicAdmin(self.cluster.connection).end_offsets(self.topic.name, self.topic.partitions))
        except RunnerError:
            return None


@lru_cache(maxsize=1)
def _payload(sizes: RecordSizes, key_bytes: int, compressibility_ratio: float, seed: int) -> tuple[PayloadPool, float]:
    """The payload and how well it compresses: kept for the next run, as making it takes a third of a second."""
    pool = make_pool(sizes, key_bytes=key_bytes, compressibility_ratio=compressibility_ratio, seed=seed)
    return pool, pool.zlib_ratio()


@contextmanager
def _quiet_interpreter() -> Iterator[None]:
    """No garbage collection pause, and quick hand-over between threads, while a load runs."""
    interval, enabled = sys.getswitchinterval(), gc.isenabled()
    gc.collect()
    gc.disable()
    sys.setswitchinterval(_SWITCH_INTERVAL_S)
    try:
        yield
    finally:
        sys.setswitchinterval(interval)
        if enabled:
            gc.enable()
