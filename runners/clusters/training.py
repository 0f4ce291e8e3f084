"""Load for a broker that is being trained: Java writes down which of its code is busy, for later brokers to know.

A broker's first minute is slow, since Java compiles busy code as it finds it. What it found in a training is kept
beside the classes (JEP 515, Java 25). Measured on 2 cores, records of 1,000 B, the client's defaults and a compressing
config in turn, 3 s each, three new brokers of either kind in turn: the defaults' first three measurements were 191 to
214, 312 to 401 and 313 to 355 MB/s without load in the training, 298 to 402, 362 to 467 and 345 to 445 MB/s with it.
"""

import os
import time
from collections.abc import Mapping
from typing import Final

from confluent_kafka import Producer

from runners.clusters.topic_admin import TopicAdmin

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
