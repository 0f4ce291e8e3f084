"""One consumer of a load, with Kafka's Java client."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from typing_extensions import override

from runners.consumers.consumption import Consumption
from runners.consumers.reader import Reader
from runners.consumers.reading_load import ReadWatch
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
        version: The release of kafka-clients.
    """

    version: str

    @override
    def read(self, ready: Callable[[], int], watch: ReadWatch) -> Consumption:
        program = CompiledProgram.prepare(self.version)
        program.check_login(self.cluster.connection.get("security.protocol", "plaintext"))
        connection = connection_for_java(self.cluster.connection, self.version)
        with quiet_interpreter(), Jvm(program, HEAP_BYTES) as jvm:
            source = JavaSource(jvm, connection, self.topic, self.ranges, self.reading)
            process = ClientProcess(jvm.pid, (_READING_THREAD,), collector=COLLECTOR_THREADS)
            return self.read_from(source, f"kafka-clients {jvm.version}", ready, watch, process)
