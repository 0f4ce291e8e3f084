"""What is made once per Kafka version and Java, so that every later broker starts in less than half the time.

Measured on 2 cores with Java 25: 4.2 s from launch to "Kafka Server started", 1.6 s with the AOT cache, and
half the CPU; formatting by Kafka's tool takes 2 s more.

A broker is put under load for it: Java writes down which of its code is busy, for later brokers to know. A broker's
first minute is slow, since Java compiles busy code as it finds it. What it found in a training is kept beside the
classes (JEP 515, Java 25). Measured on 2 cores, records of 1,000 B, the client's defaults and a compressing config in
turn, 3 s each, three new brokers of either kind in turn: the defaults' first three measurements were 191 to 214, 312 to
401 and 313 to 355 MB/s without load in the training, 298 to 402, 362 to 467 and 345 to 445 MB/s with it.
"""

import contextlib
import hashlib
import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from confluent_kafka import Producer

from runners.clusters.broker_layout import FirstStart, Node, broker_properties, new_id, properties_text
from runners.clusters.java import KafkaJava, java_environment, run_java
from runners.clusters.processes import free_ports
from runners.clusters.topic_admin import TopicAdmin
from runners.errors import BrokerDidNotStart, RunnerError
from runners.places import locked
from runners.reporting import Say, silent

_ARCHIVES_KEPT = 4
_TOOL_TIMEOUT_S = 60.0
_TRAINING_TIMEOUT_S = 60.0
_LOCK_TIMEOUT_S = 180.0
_STARTED = "Kafka Server started"
_POLL_S = 0.05
# `-XX:AOTCacheOutput` in one step. Source: JEP 514, Java 25.
_OLDEST_JAVA_WITH_AOT_CACHE = 25
_AOT_FLAGS = (
    # Java 25 finds its own cached call adapters under wrong names, warns on standard output, and makes them anew.
    "-XX:+UnlockDiagnosticVMOptions",
    "-XX:+IgnoreUnrecognizedVMOptions",
    "-XX:-AOTAdapterCaching",
    "-XX:-AOTStubCaching",
    # A cache that does not fit is a slower start, nothing to tell anybody.
    "-Xlog:aot*=off",
    "-Xlog:cds*=off",
)
_TOPIC: Final = "tuner-training"
_PARTITIONS: Final = 3
_SECONDS_EACH: Final = 4.0
_AT_ONCE: Final = 1000
"""Records between two looks at the clock."""

LOADS: Final[tuple[tuple[int, Mapping[str, str]], ...]] = (
    (1000, {}),
    (1000, {"compression.type": "lz4", "linger.ms": "20"}),
    (100, {"batch.size": "2000", "linger.ms": "0"}),
    (1000, {"compression.type": "zstd", "enable.idempotence": "true"}),
)
"""Record size in bytes, and config: large batches and small ones, compressed and not, idempotent and not."""


def first_start(kafka: KafkaJava, progress: Say = silent) -> FirstStart:
    """Read what the first start left, or do it now (some 35 s).

    Args:
        kafka: Java and jars.
        progress: Told when it has to be done now.

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
    """Flags of the JVM for a quick start of any of Kafka's classes; none where no first start has left a cache."""
    aot_cache = _aot_cache(kafka)
    there = aot_cache.exists() and aot_cache.stat().st_size > 0
    return (f"-XX:AOTCache={aot_cache}", *_AOT_FLAGS) if there else ()


def _aot_cache(kafka: KafkaJava) -> Path:
    """Java refuses a cache of another Java, or of jars with other times: a new name has it made anew.

    So has a training with other loads.
    """
    manifest = (kafka.root / "manifest.json").read_bytes()
    about = f"{kafka.java.path}\n{kafka.java.version}\n{kafka.class_path}\n{_AOT_FLAGS}\n{LOADS}\n".encode()
    return kafka.root / f"broker-{hashlib.sha256(about + manifest).hexdigest()[:12]}.aot"


def _prepare(kafka: KafkaJava, checkpoint: Path, aot_cache: Path) -> None:
    with tempfile.TemporaryDirectory(dir=kafka.root, prefix="first-") as folder:
        port, controller_port = free_ports("127.0.0.1", 2)
        node = Node(1, "127.0.0.1", port, controller_port, Path(folder), Path(folder) / "log")
        properties = node.folder / "server.properties"
        properties.write_text(properties_text(broker_properties(node, [node], {})), encoding="ascii")
        _format(kafka, node, properties)
        made = node.folder / "made.aot"
        if kafka.java.major >= _OLDEST_JAVA_WITH_AOT_CACHE:
            _train(kafka, properties, f"{node.host}:{node.port}", made)
        if not made.exists():
            made.touch()  # empty: it can't be had here, don't try at every start
        # Each Java runtime has its own (two checkouts have two); only the oldest give way.
        kept = sorted(kafka.root.glob("broker-*.aot"), key=lambda path: path.stat().st_mtime)
        for outdated in kept[: -(_ARCHIVES_KEPT - 1)]:
            outdated.unlink(missing_ok=True)
        made.replace(aot_cache)
        (node.log_dir / "bootstrap.checkpoint").replace(checkpoint)


def _format(kafka: KafkaJava, node: Node, properties: Path) -> None:
    command = kafka.command("kafka.tools.StorageTool", "format", "-c", str(properties), "-t", new_id())
    ran = run_java(command, _TOOL_TIMEOUT_S)
    if ran.returncode != 0 or not (node.log_dir / "bootstrap.checkpoint").exists():
        raise BrokerDidNotStart(
            f"Kafka's storage tool must format a log directory, but ended with status {ran.returncode}: "
            f"{(ran.stderr or ran.stdout).strip()[-2000:]}"
        )


def _train(kafka: KafkaJava, properties: Path, bootstrap: str, made: Path) -> None:
    """Run a broker under load, and have Java write down what it loaded and what was busy."""
    flags = [f"-XX:AOTCacheOutput={made}", *_AOT_FLAGS, "-Xms1g", "-Xmx1g", kafka.log_flag()]
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
                    with contextlib.suppress(RunnerError):  # less training is a slower first minute, no more
                        exercise(bootstrap)
                    broker.send_signal(signal.SIGTERM)
                    broker.wait(_TRAINING_TIMEOUT_S)
                    return
                time.sleep(_POLL_S)
        except subprocess.TimeoutExpired:
            made.unlink(missing_ok=True)
        finally:
            broker.kill()
            broker.wait()


def exercise(bootstrap: str) -> None:
    """Write to a topic of our own in each of some ways for a few seconds, and delete it.

    Args:
        bootstrap: Address of the broker that is being trained.

    Raises:
        BrokerLost: It does not answer.
        TargetRefused: It does not take the topic.
    """
    admin = TopicAdmin({"bootstrap.servers": bootstrap})
    for number, (record_bytes, config) in enumerate(LOADS):
        topic = f"{_TOPIC}-{number}"
        # Bounded in bytes, as a trial's topic is.
        bounds = {"segment.bytes": str(64 << 20), "retention.bytes": str(128 << 20), "file.delete.delay.ms": "0"}
        admin.create(topic, _PARTITIONS, 1, bounds)
        _write(bootstrap, topic, record_bytes, config)
        admin.delete([topic])


def _write(bootstrap: str, topic: str, record_bytes: int, config: Mapping[str, str]) -> None:
    producer = Producer({"bootstrap.servers": bootstrap, "queue.buffering.max.kbytes": 65536, "log_level": 0, **config})
    value = os.urandom(record_bytes // 2) + bytes(record_bytes - record_bytes // 2)
    ends_s = time.monotonic() + _SECONDS_EACH
    while time.monotonic() < ends_s:
        try:
            for _ in range(_AT_ONCE):
                producer.produce(topic, value)
            producer.poll(0)
        except BufferError:
            producer.poll(0.01)
    producer.purge()
    producer.flush(1.0)  # nobody asks what became of these records
