"""Measures how the time between a consumer's fetches grows with their size, and fits a straight line to it.

    python -m benchmarks.fetch_sizes [--partitions 1 3 6] [--rounds 3] [--seconds 1.5] [--megabytes 1500]

The line is f_c in the model of Wu, Shang and Wolter (2019, section IV-C). There, a fetch brings a few batches of each
partition. Here, batches are small, and max.partition.fetch.bytes limits the size of a fetch. For each number of
partitions, a topic is filled once, and one consumer reads it with each of these limits in turn.
"""

import random
import sys
from collections.abc import Sequence
from statistics import fmean
from typing import Final

from benchmarks.consumer_generator import CONSUMER
from benchmarks.evidence import benchmark_parser, positive_number, run_benchmark, whole_number
from benchmarks.predictions.packet_model import Packet, PacketModel
from runners.clusters.topics.owned_topics import Topic
from runners.consumer_runs.topic_consumption import KEPT, TopicConsumption, fill
from runners.consumers.reading import Reading
from runners.runner import DEFAULT_LIMITS
from runners.workload import RecordSizes, Workload
from search_spaces.configs.producer_config import ProducerConfig
from tuner.execution.open_target import OpenTarget, open_target
from tuner.model.target import Target
from tuner.present.console import say

_LIMITS: Final = (16_384, 32_768, 65_536, 131_072, 262_144, 524_288)
_RECORD_BYTES: Final = 1_000
_PRODUCER: Final = {"linger.ms": "10", "batch.size": "10000"}
_WARMUP_S: Final = 0.5
Fetches = tuple[Packet, float]
"""The mean fetch of a measurement, and its throughput in records per second."""


def main() -> None:
    """Measure with each number of partitions, and print a table."""
    parser = benchmark_parser(__doc__)
    parser.add_argument("--partitions", type=whole_number, nargs="+", default=[1, 3, 6], help="numbers of partitions")
    parser.add_argument("--rounds", type=whole_number, default=3)
    parser.add_argument("--seconds", type=positive_number, default=1.5, help="how long each measurement takes")
    parser.add_argument("--megabytes", type=positive_number, default=1_500.0, help="values in each topic, in MB")
    asked = parser.parse_args()
    print("| partitions | size of a fetch | fixed time | time per MB | R2 | error of the throughput |")
    print("| ---: | ---: | ---: | ---: | ---: | ---: |")
    order = random.Random(0)
    with open_target(Target(), say) as opened:
        for partitions in asked.partitions:
            topic = opened.topics.create(partitions, 1, KEPT)
            load, records = Workload(RecordSizes.fixed(_RECORD_BYTES)), int(asked.megabytes * 1e6 / _RECORD_BYTES)
            fill(opened.cluster, topic, ProducerConfig.parse(_PRODUCER), load, records, DEFAULT_LIMITS)
            limits = [limit for _ in range(asked.rounds) for limit in order.sample(_LIMITS, len(_LIMITS))]
            measured = [(limit, _fetches(opened, topic, limit, asked.seconds)) for limit in limits]
            opened.topics.delete(topic)
            _print(partitions, measured)
    print(
        "\nThe error is the mean error of the throughput at a limit, if the line is fitted to the other limits. "
        f"Limits are {_LIMITS[0] // 1024} to {_LIMITS[-1] // 1024} KiB, and records have {_RECORD_BYTES:,} B."
    )


def _fetches(opened: OpenTarget, topic: Topic, limit: int, seconds: float) -> Fetches:
    """Read the topic with this limit per partition. Return the mean size of a fetch, and the throughput."""
    properties = {**CONSUMER, "max.partition.fetch.bytes": str(limit)}
    reading = Reading(warmup_s=_WARMUP_S, measured_s=seconds, properties=properties)
    seen = TopicConsumption(opened.cluster, topic.name, reading, sole_writer=True).run()
    found = seen.activity
    if found is None or not found.fetch_records:
        sys.exit(f"the consumer must report its fetches, but with a limit of {limit:,} B it reported none")
    packet = Packet(found.fetch_records, found.fetch_records, found.fetch_bytes, found.fetch_records * _RECORD_BYTES)
    return packet, found.fetches_per_s * found.fetch_records


def _print(partitions: int, measured: Sequence[tuple[int, Fetches]]) -> None:
    line = _fitted([each for _, each in measured])
    errors = []
    for left_out in _LIMITS:
        others = _fitted([each for limit, each in measured if limit != left_out])
        errors += [abs(others.records_per_s(each) / rate - 1) for limit, (each, rate) in measured if limit == left_out]
    sizes = [packet.bytes / 1e3 for _, (packet, _) in measured]
    print(
        f"| {partitions} | {min(sizes):,.0f} to {max(sizes):,.0f} kB | {line.fixed_s * 1e3:.2f} ms "
        f"| {line.s_per_byte * 1e9:.2f} ms | {line.r_squared:.2f} | {fmean(errors):.0%} |",
        flush=True,
    )


def _fitted(fetches: Sequence[Fetches]) -> PacketModel:
    return PacketModel.fitted([packet for packet, _ in fetches], [rate for _, rate in fetches])


if __name__ == "__main__":
    run_benchmark(main)
