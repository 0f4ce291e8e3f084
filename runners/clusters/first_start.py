"""What is made once per Kafka version and Java, so that every later broker starts in less than half the time.

Measured on 2 cores with Java 25: 4.2 s from launch to "Kafka Server started", 1.6 s with the AOT cache, and
half the CPU; formatting by Kafka's tool takes 2 s more.
"""

import base64
import contextlib
import hashlib
import signal
import subprocess
import tempfile
import time
import uuid
from dataclasses import dataclass
from pathlib import Path

from runners.clusters.broker_properties import Node, broker_properties, properties_text
from runners.clusters.java import java_environment
from runners.clusters.kafka_java import KafkaJava
from runners.clusters.ports import free_ports
from runners.clusters.training import LOADS, exercise
from runners.errors import BrokerDidNotStart, RunnerError
from runners.locks import locked
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


@dataclass(frozen=True, slots=True)
class FirstStart:
    """What the first start has left.

    Attributes:
        checkpoint: Feature levels that a formatted log directory starts from.
        flags: Flags of the JVM for a quick start; none where Java is too old for them.
    """

    checkpoint: bytes
    flags: tuple[str, ...]

    def format_log_dir(self, node: Node, cluster_id: str) -> None:
        """Make the log directory of a node as `kafka-storage format` does.

        What Kafka's tool writes differs between clusters by the ids in `meta.properties` only; the feature
        levels in `bootstrap.checkpoint` depend on the version alone, so they are copied.

        Args:
            node: The node; its log directory must not exist.
            cluster_id: As `new_id` gives.
        """
        node.log_dir.mkdir(parents=True)
        (node.log_dir / "bootstrap.checkpoint").write_bytes(self.checkpoint)
        meta = {
            "version": "1",
            "cluster.id": cluster_id,
            "node.id": str(node.node_id),
            "directory.id": new_id(),
        }
        (node.log_dir / "meta.properties").write_text(properties_text(meta), encoding="ascii")


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


def new_id() -> str:
    """A random id as Kafka writes them: 16 bytes in URL-safe base 64, without a dash in front."""
    while (text := base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")).startswith("-"):
        pass
    return text


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
    ran = subprocess.run(
        command,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=_TOOL_TIMEOUT_S,
        stdin=subprocess.DEVNULL,
        env=java_environment(),
        check=False,
    )
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
