"""The first start of Kafka on a host: prepares files once, so that all later brokers start in less than half the time.

The files are Java's ahead-of-time (AOT) cache and the content of a formatted log directory. There is one set of files
for each Kafka version and Java runtime. Measured on 2 cores with Java 25: without the AOT cache, a broker needs 4.2 s
from its launch to "Kafka Server started". With the cache, a broker needs 1.6 s and half the CPU time. Formatting the
log directory with Kafka's tool would take 2 s more.

A broker is slow in its first minute, because Java has to find out which code runs often before it compiles that code.
To shorten this time, the first start trains a broker: it runs a broker under load, and Java stores in the AOT cache
which code ran often (JEP 515, Java 25).

Measured on 2 cores with records of 1,000 B, on three new brokers trained without load and three trained with load. The
client's defaults and a compressing config were sent in turn, for 3 s each. After training without load, the first three
throughputs of the defaults were 191 to 214, 312 to 401 and 313 to 355 MB/s. After training with load, they were 298 to
402, 362 to 467 and 345 to 445 MB/s.
"""

import contextlib
import hashlib
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from confluent_kafka import Producer

from runners.clusters.brokers.broker_layout import FirstStart, Node, broker_properties, new_id
from runners.clusters.brokers.ports import free_ports
from runners.clusters.topics.topic_admin import TopicAdmin
from runners.errors import BrokerDidNotStart, RunnerError
from runners.host_processes.locks import locked
from runners.java_runtime.java import KafkaJava, java_environment, run_java
from runners.reporting import Say
from search_spaces.files.properties_file import format_ascii_properties

_AOT_CACHES_KEPT = 4
_TOOL_TIMEOUT_S = 60.0
_TRAINING_TIMEOUT_S = 60.0
_LOCK_TIMEOUT_S = 180.0
_STARTED = "Kafka Server started"
_POLL_S = 0.05
_FOLDER_PREFIX: Final = "first-"
# Since Java 25, `-XX:AOTCacheOutput` creates the cache in a single run. Source: JEP 514.
_OLDEST_JAVA_WITH_AOT_CACHE = 25
_AOT_FLAGS = (
    # Java 25 looks up its cached call adapters under wrong names. It then prints warnings and builds them again.
    "-XX:+UnlockDiagnosticVMOptions",
    "-XX:+IgnoreUnrecognizedVMOptions",
    "-XX:-AOTAdapterCaching",
    "-XX:-AOTStubCaching",
    # If the cache does not fit, the start is only slower, so that no warning is needed.
    "-Xlog:aot*=off",
    "-Xlog:cds*=off",
)
_TOPIC: Final = "tuner-training"
_PARTITIONS: Final = 3
_SECONDS_PER_LOAD: Final = 4.0
_RECORDS_PER_CHECK: Final = 1000
"""The number of records that are sent between two checks of the clock."""

_LOADS: Final[tuple[tuple[int, Mapping[str, str]], ...]] = (
    (1000, {}),
    (1000, {"compression.type": "lz4", "linger.ms": "20"}),
    (100, {"batch.size": "2000", "linger.ms": "0"}),
    (1000, {"compression.type": "zstd", "enable.idempotence": "true"}),
)
"""The loads of the training: record size in bytes, and producer config.

Together they cover large and small batches, with and without compression, with and without idempotence.
"""


def first_start(kafka: KafkaJava, progress: Say) -> FirstStart:
    """Return the files that make Kafka start quickly, and prepare them first if this is the first start on this host.

    Preparing them takes about 35 seconds.

    Args:
        kafka: Java and Kafka's jars.
        progress: Receives a line if the files have to be prepared now.

    Raises:
        BrokerDidNotStart: Kafka's storage tool failed.
    """
    checkpoint = kafka.root / "bootstrap.checkpoint"
    aot_cache = _aot_cache(kafka)
    if not (checkpoint.exists() and aot_cache.exists()):
        with locked(kafka.root / "lock", _LOCK_TIMEOUT_S, progress):
            if not (checkpoint.exists() and aot_cache.exists()):
                progress("preparing Kafka for quick starts (once)")
                _prepare(kafka, checkpoint, aot_cache)
    return FirstStart(checkpoint=checkpoint.read_bytes(), flags=quick_flags(kafka))


def quick_flags(kafka: KafkaJava) -> tuple[str, ...]:
    """Return the JVM flags that start any of Kafka's classes quickly, with Java's ahead-of-time (AOT) cache.

    The result is empty if there is no AOT cache for this Java.
    """
    aot_cache = _aot_cache(kafka)
    there = aot_cache.exists() and aot_cache.stat().st_size > 0
    return (f"-XX:AOTCache={aot_cache}", *_AOT_FLAGS) if there else ()


def _aot_cache(kafka: KafkaJava) -> Path:
    """Return the path of Java's ahead-of-time (AOT) cache for this Java, Kafka's jars and the training loads.

    Java rejects a cache that was made by another Java, or with jars that have other modification times. The name of the
    file contains a hash of the Java runtime, the JVM flags, the jars with their times, and the training loads. So a
    change of any of them leads to a new cache.
    """
    manifest = (kafka.root / "manifest.json").read_bytes()
    about = f"{kafka.java.path}\n{kafka.java.version}\n{kafka.class_path}\n{_AOT_FLAGS}\n{_LOADS}\n".encode()
    return kafka.root / f"broker-{hashlib.sha256(about + manifest).hexdigest()[:12]}.aot"


def _prepare(kafka: KafkaJava, checkpoint: Path, aot_cache: Path) -> None:
    """Format a log directory, run a broker under load, and keep the files that make later starts quick.

    Formatting writes the checkpoint with Kafka's feature levels. The run under load writes Java's ahead-of-time (AOT)
    cache.
    """
    # Only a killed process can have left these: nobody else prepares files while we hold the lock.
    for left in kafka.root.glob(f"{_FOLDER_PREFIX}*"):
        shutil.rmtree(left, ignore_errors=True)
    with tempfile.TemporaryDirectory(dir=kafka.root, prefix=_FOLDER_PREFIX) as folder:
        port, controller_port = free_ports("127.0.0.1", 2)
        node = Node(1, "127.0.0.1", port, controller_port, Path(folder), Path(folder) / "log")
        properties = node.folder / "server.properties"
        properties.write_text(format_ascii_properties(broker_properties(node, [node], {})), encoding="ascii")
        _format(kafka, node, properties)
        made = node.folder / "made.aot"
        if kafka.java.major >= _OLDEST_JAVA_WITH_AOT_CACHE:
            _train(kafka, properties, f"{node.host}:{node.port}", made)
        if not made.exists():
            made.touch()  # an empty file: this Java can't make a cache, so don't try again at every start
        # Each Java runtime has its own cache, and a host may have several runtimes. Only the oldest caches are deleted.
        kept = sorted(kafka.root.glob("broker-*.aot"), key=lambda path: path.stat().st_mtime)
        for outdated in kept[: -(_AOT_CACHES_KEPT - 1)]:
            outdated.unlink(missing_ok=True)
        made.replace(aot_cache)
        (node.log_dir / "bootstrap.checkpoint").replace(checkpoint)


def _format(kafka: KafkaJava, node: Node, properties: Path) -> None:
    command = kafka.command("kafka.tools.StorageTool", "format", "-c", str(properties), "-t", new_id())
    ran = run_java(command, _TOOL_TIMEOUT_S)
    if ran.returncode != 0 or not (node.log_dir / "bootstrap.checkpoint").exists():
        raise BrokerDidNotStart(
            f"Kafka's storage tool could not format a log directory and ended with status {ran.returncode}: "
            f"{(ran.stderr or ran.stdout).strip()[-2000:]}"
        )


def _train(kafka: KafkaJava, properties: Path, bootstrap: str, made: Path) -> None:
    """Run a broker under load, so that Java stores the classes that it loaded and its list of often-used code."""
    temporary = properties.parent / "tmp"  # Kafka's codecs unpack their native libraries there
    temporary.mkdir()
    heap = ("-Xms1g", "-Xmx1g")
    flags = [f"-XX:AOTCacheOutput={made}", *_AOT_FLAGS, *heap, f"-Djava.io.tmpdir={temporary}", kafka.log_flag()]
    output = properties.parent / "training.log"
    with output.open("wb") as log:
        broker = subprocess.Popen(
            kafka.command("kafka.Kafka", str(properties), flags=flags),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            env=java_environment(),
            cwd=properties.parent,
        )
        deadline = time.monotonic() + _TRAINING_TIMEOUT_S
        try:
            while broker.poll() is None and time.monotonic() < deadline:
                if _STARTED in output.read_text(encoding="utf-8", errors="replace"):
                    # Without load in the training, a broker's first minute is slower, and nothing else is lost.
                    with contextlib.suppress(RunnerError):
                        _send_loads(bootstrap)
                    broker.send_signal(signal.SIGTERM)
                    broker.wait(_TRAINING_TIMEOUT_S)
                    return
                time.sleep(_POLL_S)
        except subprocess.TimeoutExpired:
            made.unlink(missing_ok=True)
        finally:
            broker.kill()
            broker.wait()


def _send_loads(bootstrap: str) -> None:
    """Send each load of `_LOADS` to a broker for a few seconds. Each load gets a new topic, which is then deleted.

    Args:
        bootstrap: Address of the broker that is being trained.

    Raises:
        BrokerLost: The broker does not answer.
        TargetRefused: The broker refuses to create or delete the topic.
    """
    admin = TopicAdmin({"bootstrap.servers": bootstrap})
    for number, (record_bytes, config) in enumerate(_LOADS):
        topic = f"{_TOPIC}-{number}"
        # The topic is bounded in bytes, like the topic of a trial.
        bounds = {"segment.bytes": str(64 << 20), "retention.bytes": str(128 << 20), "file.delete.delay.ms": "0"}
        admin.create(topic, _PARTITIONS, 1, bounds)
        _write(bootstrap, topic, record_bytes, config)
        admin.delete([topic])


def _write(bootstrap: str, topic: str, record_bytes: int, config: Mapping[str, str]) -> None:
    producer = Producer({"bootstrap.servers": bootstrap, "queue.buffering.max.kbytes": 65536, "log_level": 0, **config})
    value = os.urandom(record_bytes // 2) + bytes(record_bytes - record_bytes // 2)
    ends_s = time.monotonic() + _SECONDS_PER_LOAD
    while time.monotonic() < ends_s:
        try:
            for _ in range(_RECORDS_PER_CHECK):
                producer.produce(topic, value)
            producer.poll(0)
        except BufferError:
            producer.poll(0.01)
    producer.purge()
    producer.flush(1.0)  # it does not matter whether these records are delivered
