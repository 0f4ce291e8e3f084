"""One consumer of a load, with Kafka's Java client."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from typing_extensions import override

from runners.clusters.cluster import RunningCluster
from runners.consumers.consumption import Consumption
from runners.consumers.reader import Reader, ReadWatch
from runners.consumers.reading import OffsetRange, Reading
from runners.consumers.reading_load import consume
from runners.host.probe import ClientProcess
from runners.java_client.compiled import CompiledProgram
from runners.java_client.java_runner import COLLECTOR_THREADS
from runners.java_client.jvm import Jvm
from runners.java_client.source import HEAP_BYTES, JavaSource
from runners.load.interpreter import quiet_interpreter
from search_spaces.connection.java_connection import connection_for_java

_READING_THREAD: Final = "tuner-read"


@dataclass(frozen=True, slots=True)
class JavaReader(Reader):
    """One consumer of a load, with Kafka's Java client. It can be pickled and used in another process.

    The client's code runs in the thread that takes the records. So `ReadWindow.waiting_ratio` is the share of the time
    in which that thread was inside the client, and the verdict uses the thread's demand of CPU.

    Attributes:
        cluster: The cluster to read from.
        topic: Name of the topic.
        ranges: The offsets to read in each partition.
        reading: The settings of the load: when it starts and ends, and the consumer properties.
        version: The release of kafka-clients.
    """

    cluster: RunningCluster
    topic: str
    ranges: tuple[OffsetRange, ...]
    reading: Reading
    version: str

    @override
    def read(self, ready: Callable[[], int], watch: ReadWatch) -> Consumption:
        cluster, reading = self.cluster, self.reading
        program = CompiledProgram.prepare(self.version)
        program.check_login(cluster.connection.get("security.protocol", "plaintext"))
        connection = connection_for_java(cluster.connection, self.version)
        with quiet_interpreter(), Jvm(program, HEAP_BYTES) as jvm:
            source = JavaSource(jvm, connection, self.topic, self.ranges, reading)
            process = ClientProcess(jvm.pid, (_READING_THREAD,), collector=COLLECTOR_THREADS)
            version = f"kafka-clients {jvm.version}"
            return consume(source, version, cluster, self.topic, self.ranges, reading, ready, watch, process)
