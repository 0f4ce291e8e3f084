"""One consumer of a load, with librdkafka as the client."""

import datetime
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from typing import Final

from typing_extensions import override

from runners.clock import SystemClock
from runners.clusters.cluster import RunningCluster
from runners.consumers.consumption import Consumption, ReadOrigin
from runners.consumers.counting import ReadCounter
from runners.consumers.reader import Reader, ReadWatch
from runners.consumers.reading import Reading, Start, Stretch
from runners.errors import BrokerLost, TargetRefused
from runners.host import HostProbe, usage
from runners.interpreter import quiet_interpreter
from runners.librdkafka import capi
from runners.librdkafka.consumer import ConsumerClient
from runners.librdkafka.reading_load import ReadingLoad
from runners.librdkafka.taker import REST_NS
from runners.runner import Phases
from runners.watchdog import STALL_PATIENCE_S, Permanent, Watchdog, any_runs

READING: Final[Permanent] = (
    (
        frozenset({"TOPIC_AUTHORIZATION_FAILED", "CLUSTER_AUTHORIZATION_FAILED"}),
        TargetRefused,
        "the user must have the right to read the topic, but the broker answered {}; grant READ on it",
    ),
    (
        frozenset({"UNKNOWN_TOPIC_OR_PART", "UNKNOWN_TOPIC_ID", "_UNKNOWN_TOPIC", "_UNKNOWN_PARTITION"}),
        BrokerLost,
        "the topic must exist for the whole load, but the broker answered {}; check whether the topic was deleted",
    ),
)
"""What a broker answers to a consumer that no retry can change."""
_SILENCE: Final = "answers of the brokers must keep coming, but none came for {silent_s:.0f} s; "
_WAIT_MS: Final = "500"
"""The default of `fetch.wait.max.ms`: so long a broker may wait with its answer if there are no new records."""


@dataclass(frozen=True, slots=True)
class LibrdkafkaReader(Reader):
    """One consumer of a load, with librdkafka as the client. It can be pickled and used in another process.

    Attributes:
        cluster: The cluster to read from.
        topic: Name of the topic.
        stretches: What to read.
        reading: How to read it.
    """

    cluster: RunningCluster
    topic: str
    stretches: tuple[Stretch, ...]
    reading: Reading

    @override
    def read(self, ready: Callable[[], int], watch: ReadWatch) -> Consumption:
        reading, clock = self.reading, SystemClock()
        properties = {**self.cluster.connection, **reading.properties}
        counter = ReadCounter(self.stretches, keep_arrivals=reading.keep_arrivals)
        with quiet_interpreter(), closing(ConsumerClient(properties, self.topic, len(self.stretches))) as client:
            probe = HostProbe({}, self.cluster.local_brokers)
            start_ns = ready()
            started_at = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
            wait_s = int(reading.properties.get("fetch.wait.max.ms", _WAIT_MS)) / 1e3
            watchdog = Watchdog(
                clock,
                stall_patience_s=STALL_PATIENCE_S + wait_s,
                broker_alive=partial(any_runs, self.cluster.local_brokers),
                permanent=READING,
                silence=_SILENCE,
            )
            phases = Phases.lasting(reading.warmup_s, reading.measured_s)
            rest_ns = REST_NS if reading.start is Start.BEGINNING else 0
            load = ReadingLoad(client, self.stretches, counter, phases, clock, watchdog, probe, rest_ns)
            result = load.run(start_ns, watch)
        return Consumption(
            reading=reading,
            origin=ReadOrigin(
                client_version=f"librdkafka {capi.version()}",
                cluster=self.cluster.kind,
                topic=self.topic,
                partitions=len(self.stretches),
                started_at=started_at,
            ),
            series=result.series,
            counts=result.counts,
            resources=usage(result.before, result.after),
            activity=result.activity,
            ended_s=result.ended_s,
            stopped_early=result.stopped_early,
            arrivals=counter.arrivals(),
        )
