"""Ranks the topics of a broker with `tuner inspect --all`, and measures how long it takes and how much it reads.

    python -m benchmarks.inspection [--topics 200] [--runs 3]

The topics have one to six partitions. They are written with librdkafka, with batches of 16 kinds: 1, 3, 20 and 100
records, of 100 and of 1,000 B, not compressed or with lz4. The fewer records a batch has, and the less it is
compressed, the more there is to gain.
"""

import itertools
import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from statistics import fmean, median
from typing import Any, Final

import psutil
from confluent_kafka import Producer

from benchmarks.evidence import TUNER, benchmark_parser, run_benchmark, whole_number
from runners.clusters.brokers.embedded import EmbeddedCluster
from runners.clusters.cluster import RunningCluster
from runners.clusters.topics.topic_admin import TopicAdmin

GOAL_S: Final = 60.0
GOAL_MB: Final = 20.0
KINDS: Final = tuple(itertools.product((1, 3, 20, 100), (100, 1_000), ("none", "lz4")))
"""Records in a batch, their size in bytes, and the codec."""
_ROUNDS: Final = 40
_PREFIX: Final = "tuner-inspection-"
_WORDS: Final = ("accepted", "declined", "pending", "customer", "amount", "currency", "EUR", "USD", "address", "street")


def main() -> None:
    """Write the topics, rank them, and print tables. The exit code is 1 if a goal is missed."""
    parser = benchmark_parser(__doc__)
    parser.add_argument("--topics", type=whole_number, default=200)
    parser.add_argument("--runs", type=whole_number, default=3)
    asked = parser.parse_args()
    cluster = EmbeddedCluster()
    try:
        broker = cluster.start()
        kinds = {f"{_PREFIX}{number}": KINDS[number % len(KINDS)] for number in range(asked.topics)}
        _write(broker, kinds)
        runs = [_ranked(broker) for _ in range(asked.runs)]
    finally:
        cluster.stop()
    kept = _print_runs(runs, kinds)
    _print_kinds(runs[-1][0], kinds)
    sys.exit(0 if kept else 1)


def _write(broker: RunningCluster, kinds: Mapping[str, tuple[int, int, str]]) -> None:
    admin = TopicAdmin(broker.connection)
    partitions = {topic: 1 + number % 6 for number, topic in enumerate(kinds)}
    for topic in kinds:
        admin.begin_create(topic, partitions[topic], 1, {})
    for topic in kinds:
        admin.await_created(topic, partitions[topic])
    for kind in KINDS:
        records, size, codec = kind
        topics = [topic for topic, its in kinds.items() if its == kind]
        # A batch has exactly these records, because we flush the producer after them.
        producer = Producer({**broker.connection, "linger.ms": 1_000, "compression.type": codec})
        for batch in range(_ROUNDS):
            for topic in topics:
                for record in range(records):
                    producer.produce(topic, _value(batch * records + record, size), partition=batch % partitions[topic])
            producer.flush()
        print(f"  written: {len(topics)} topics with batches of {records} x {size} B, {codec}", file=sys.stderr)


def _value(number: int, size: int) -> bytes:
    """Return a value that compresses about as well as a typical record of an application."""
    text = json.dumps({"id": number * 7_919, _WORDS[number % 10]: _WORDS[number // 10 % 10], "of": number % 97})
    return (text + os.urandom(size // 4).hex()).encode().ljust(size, b".")[:size]


def _ranked(broker: RunningCluster) -> tuple[Mapping[str, Any], float, float]:
    """Return the command's output, the seconds that it took, and the megabytes sent over loopback meanwhile."""
    words = ["inspect", "--all", "--bootstrap", broker.bootstrap, "--json"]
    before, began = psutil.net_io_counters(pernic=True)["lo"].bytes_recv, time.perf_counter()
    ran = subprocess.run([TUNER, *words], stdout=subprocess.PIPE, check=True)
    took_s = time.perf_counter() - began
    return json.loads(ran.stdout), took_s, (psutil.net_io_counters(pernic=True)["lo"].bytes_recv - before) / 1e6


def _print_runs(
    runs: Sequence[tuple[Mapping[str, Any], float, float]], kinds: Mapping[str, tuple[int, int, str]]
) -> bool:
    print("| run | topics ranked | seconds | MB read | MB over loopback | batches read |")
    print("| ---: | ---: | ---: | ---: | ---: | ---: |")
    kept = True
    for number, (found, took_s, loopback_mb) in enumerate(runs, 1):
        read_mb, topics = found["received_bytes"] / 1e6, found["topics"]
        batches = sum(each["traffic"]["batches"] for each in topics)
        print(f"| {number} | {len(topics)} | {took_s:.1f} | {read_mb:.1f} | {loopback_mb:.1f} | {batches:,} |")
        kept = kept and took_s < GOAL_S and read_mb <= GOAL_MB and len(topics) == len(kinds)
    print(
        f"\nGoals: all {len(kinds)} topics in less than {GOAL_S:.0f} s with at most {GOAL_MB:.0f} MB read: "
        f"{'met' if kept else 'missed'}. Median {median(took_s for _, took_s, _ in runs):.1f} s.\n"
    )
    return kept


def _print_kinds(found: Mapping[str, Any], kinds: Mapping[str, tuple[int, int, str]]) -> None:
    ranks: dict[tuple[int, int, str], list[int]] = {}
    for rank, each in enumerate(found["topics"], 1):
        ranks.setdefault(kinds[each["topic"]], []).append(rank)
    topics = {each["topic"]: each for each in found["topics"]}
    print(
        "| batches as written | topics | records in a batch, as reported | codec, as reported | mean gain | mean rank |"
    )
    print("| --- | ---: | ---: | --- | ---: | ---: |")
    for kind, taken in sorted(ranks.items(), key=lambda item: fmean(item[1])):
        records, size, codec = kind
        own = [topics[topic] for topic, its in kinds.items() if its == kind and topic in topics]
        reported = fmean(each["traffic"]["records_per_batch"]["mean"] for each in own)
        codecs = "/".join(sorted({name for each in own for name in each["traffic"]["codecs"]}))
        gain = fmean(each["gain_ratio"] for each in own)
        row = (
            f"{records} x {size:,} B, {codec}",
            len(own),
            f"{reported:.1f}",
            codecs,
            f"{gain:.2%}",
            f"{fmean(taken):.0f}",
        )
        print(f"| {' | '.join(map(str, row))} |")


if __name__ == "__main__":
    run_benchmark(main)
