"""One consumer of a load, with librdkafka as the client."""

from collections.abc import Callable
from dataclasses import dataclass

from typing_extensions import override

from runners.consumers.consumption import Consumption
from runners.consumers.reader import Reader
from runners.consumers.reading_load import ReadWatch
from runners.librdkafka import capi
from runners.librdkafka.source import LibrdkafkaSource
from runners.load.interpreter import quiet_interpreter


@dataclass(frozen=True, slots=True)
class LibrdkafkaReader(Reader):
    """One consumer of a load, with librdkafka as the client. It can be pickled and used in another process."""

    @override
    def read(self, ready: Callable[[], int], watch: ReadWatch) -> Consumption:
        properties = {**self.cluster.connection, **self.reading.properties}
        with quiet_interpreter():
            source = LibrdkafkaSource(properties, self.topic, self.ranges, self.reading)
            return self.read_from(source, f"librdkafka {capi.version()}", ready, watch)
