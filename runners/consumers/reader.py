"""One consumer of a load, which reads its share of a topic's partitions. Both clients' readers use this code."""

import datetime
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from typing import Final

from runners.clock import SystemClock
from runners.clusters.cluster import RunningCluster
from runners.consumers.consumption import Consumption, ReadOrigin
from runners.consumers.reading import OffsetRange, Reading
from runners.consumers.reading_load import ReadingLoad, ReadWatch
from runners.consumers.source import RecordSource
from runners.errors import BrokerLost, TargetRefused
from runners.host.probe import THIS_PROCESS, ClientProcess, HostProbe
from runners.load.watchdog import STALL_PATIENCE_S, Permanent, Watchdog, any_runs
from runners.runner import WindowSchedule

_PERMANENT: Final[Permanent] = (
    (
        frozenset(
            {
                *("TOPIC_AUTHORIZATION_FAILED", "CLUSTER_AUTHORIZATION_FAILED"),
                *("TopicAuthorizationException", "ClusterAuthorizationException"),
            }
        ),
        TargetRefused,
        "the user must have the right to read the topic, but the broker answered {}; grant READ on it",
    ),
    (
        frozenset(
            {
                *("UNKNOWN_TOPIC_OR_PART", "UNKNOWN_TOPIC_ID", "_UNKNOWN_TOPIC", "_UNKNOWN_PARTITION"),
                "UnknownTopicOrPartitionException",
            }
        ),
        BrokerLost,
        "the topic must exist for the whole load, but the broker answered {}; check whether the topic was deleted",
    ),
)
"""The errors of a broker's answers to a consumer that no retry can change."""
_SILENCE: Final = "no answer of a broker came for {silent_s:.0f} s; "
_WAIT_MS: Final = "500"
"""The default of `fetch.wait.max.ms`: how long a broker may delay its answer if there are no new records."""
_WAITS: Final = ("fetch.wait.max.ms", "fetch.max.wait.ms")
"""The names of that property in librdkafka and in the Java client."""


@dataclass(frozen=True, slots=True)
class Reader(ABC):
    """One consumer of a load on a topic. It can be pickled, and reads in the process that calls `read`.

    Attributes:
        cluster: The cluster to read from.
        topic: Name of the topic.
        ranges: The offsets to read in each partition.
        reading: The settings of the load: when it starts and ends, and the consumer properties.
    """

    cluster: RunningCluster
    topic: str
    ranges: tuple[OffsetRange, ...]
    reading: Reading

    @abstractmethod
    def read(self, ready: Callable[[], int], watch: ReadWatch) -> Consumption:
        """Open a client, wait for the common start, read, and return what was measured.

        Nothing of the client is left behind, even if an error is raised.

        Args:
            ready: Called when the client can begin. It returns when to begin, in nanoseconds of this host's monotonic
                clock.
            watch: Called with each window, in the calling thread. If it returns `STOP`, the load ends soon.

        Raises:
            RunnerError: There is no measurement.
        """

    def read_from(
        self,
        source: RecordSource,
        client_version: str,
        ready: Callable[[], int],
        watch: ReadWatch,
        process: ClientProcess = THIS_PROCESS,
    ) -> Consumption:
        """Wait for the common start, read with an open client, and return what was measured. The source is closed.

        Args:
            source: The client from which the records are taken.
            client_version: The client library and its version.
            ready: Called when the client can begin; it returns when to begin, on the benchmark's clock.
            watch: Called with each window; it can stop the load.
            process: The process that holds the client.

        Raises:
            RunnerError: The errors that `Watchdog` and the source raise.
        """
        clock, cluster, reading = SystemClock(), self.cluster, self.reading
        with closing(source):
            probe = HostProbe(cluster.local_brokers, process)
            start_ns = ready()
            started_at = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
            wait_ms = next((reading.properties[name] for name in _WAITS if name in reading.properties), _WAIT_MS)
            watchdog = Watchdog(
                clock,
                stall_patience_s=max(STALL_PATIENCE_S, reading.outage_s) + int(wait_ms) / 1e3,
                outage_s=reading.outage_s,
                broker_alive=partial(any_runs, cluster.local_brokers),
                permanent=_PERMANENT,
                silence=_SILENCE,
            )
            schedule = WindowSchedule.lasting(reading.warmup_s, reading.measured_s)
            load = ReadingLoad(source, schedule, clock, watchdog, probe)
            origin = ReadOrigin(
                client_version=client_version,
                cluster=cluster.kind,
                topic=self.topic,
                partitions=len(self.ranges),
                started_at=started_at,
            )
            return load.run(start_ns, watch, reading, origin)
