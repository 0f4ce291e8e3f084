"""One consumer of a load, with librdkafka as the client."""

from collections.abc import Callable
from dataclasses import dataclass

from typing_extensions import override

from runners.clusters.cluster import RunningCluster
from runners.consumers.consumption import Consumption
from runners.consumers.reader import Reader, ReadWatch
from runners.consumers.reading import OffsetRange, Reading
from runners.consumers.reading_load import consume
from runners.librdkafka import capi
from runners.librdkafka.source import LibrdkafkaSource
from runners.load.interpreter import quiet_interpreter


@dataclass(frozen=True, slots=True)
class LibrdkafkaReader(Reader):
    """One consumer of a load, with librdkafka as the client. It can be pickled and used in another process.

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

    @override
    def read(self, ready: Callable[[], int], watch: ReadWatch) -> Consumption:
        cluster, reading = self.cluster, self.reading
        version = f"librdkafka {capi.version()}"
        with quiet_interpreter():
            source = LibrdkafkaSource({**cluster.connection, **reading.properties}, self.topic, self.ranges, reading)
            return consume(source, version, cluster, self.topic, self.ranges, reading, ready, watch)
