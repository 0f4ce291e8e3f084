"""Loads of a real Java process, to the broker in it that forgets all records.

`python -m tests.runners.java_client.loads` runs an endless load and writes the id of the Java process.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final

from runners.clock import SystemClock
from runners.host.probe import HostProbe
from runners.java_client.compiled import CompiledProgram
from runners.java_client.jvm import Jvm
from runners.java_client.load import JavaLoad, JavaResult
from runners.load.payload import payload_of
from runners.load.watchdog import Watchdog
from runners.runner import Watch, go_on
from runners.workload import RecordSizes, Workload

NEWEST: Final = "4.3.1"
HEAP_BYTES: Final = 512 << 20
_PATIENCE_S: Final = 60.0
_SERIALIZER: Final = "org.apache.kafka.common.serialization.ByteArraySerializer"
SERIALIZERS: Final = {"key.serializer": _SERIALIZER, "value.serializer": _SERIALIZER}
PACED: Final = Workload(
    RecordSizes.parse("50:1,150:1"), key_bytes=4, warmup_s=0.2, measured_s=0.8, rate_records_per_s=2_000, seed=7
)
ENDLESS: Final = Workload(RecordSizes.fixed(1_000), warmup_s=0.0, measured_s=3_600.0)


@contextmanager
def started(version: str = NEWEST, heap_bytes: int = HEAP_BYTES) -> Iterator[Jvm]:
    """Start a Java process, and end it after the block."""
    with Jvm(CompiledProgram.prepare(version), heap_bytes) as jvm:
        yield jvm


def load_of(jvm: Jvm, workload: Workload, max_bytes: int | None = None) -> JavaLoad:
    """Return a load that has not begun."""
    clock = SystemClock()
    watchdog = Watchdog(clock, stall_patience_s=_PATIENCE_S)
    return JavaLoad(jvm, payload_of(workload)[0], workload, clock, watchdog, HostProbe(), max_bytes)


def on_fake_broker(load: JavaLoad, properties: Mapping[str, str] | None = None, watch: Watch = go_on) -> JavaResult:
    """Run a load on the broker that forgets all records."""
    load.jvm.send({"do": "open fake broker"})
    address = f"127.0.0.1:{load.jvm.receive(_PATIENCE_S)['port']}"
    return load.run({**SERIALIZERS, **(properties or {}), "bootstrap.servers": address}, "topic", watch)


def main() -> None:
    """Run a load until this process is killed."""
    with started() as jvm:
        print(jvm.pid, flush=True)  # noqa: T201 - the test reads it
        on_fake_broker(load_of(jvm, ENDLESS), {"compression.type": "lz4"})


if __name__ == "__main__":
    main()
