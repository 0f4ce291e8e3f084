"""Compares a new topic for each run with one topic for all runs: the scatter, and the carry-over to the next run.

python -m benchmarks.topics [--runs 60]

One embedded broker gets short loads of two configs, in random order: the client's defaults, and lz4 with large batches.
Some loads go to new topics, which are deleted after the load, as in the trials of a study. The others go to one topic,
whose records are deleted before each load. The carry-over is how many times as high the throughput is after the other
config as after the defaults.
"""

import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from random import Random
from statistics import fmean
from typing import Final

import numpy as np
from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient

from benchmarks.evidence import benchmark_parser, run_benchmark, whole_number
from objectives.ratios import ratio_text
from objectives.students_t import t_quantile
from runners.clusters.topics.owned_topics import Topic
from runners.load.isolated import Isolated
from runners.workload import RecordSizes, Workload
from search_spaces.configs.producer_config import ProducerConfig
from tuner.execution.open_target import OpenTarget, open_target
from tuner.model.target import Target

CONFIGS: Final = {
    "the defaults": ProducerConfig.parse({}),
    "lz4": ProducerConfig.parse({"compression.type": "lz4", "linger.ms": "5", "batch.size": "524288"}),
}
HEAD: Final = "| topics | config | MB/s, mean | scatter | carry-over (95 %) |\n| --- | --- | ---: | ---: | --- |"
_BASELINE, _OTHER = CONFIGS
_WARMUP_S: Final = 0.5
_MEASURED_S: Final = 1.5
_WARM_S: Final = 20.0
_BLOCKS: Final = 6
_EMPTYING_S: Final = 1.5
"""Seconds until the broker has deleted the files of deleted records; it checks for such files every second."""


@dataclass(frozen=True, slots=True)
class Load:
    """One measured load.

    Attributes:
        block: The block of loads that it belongs to.
        config: The name of the config.
        before: The name of the config of the load before it in the block; empty for the first one.
        mb_per_s: Throughput of values in MB/s.
    """

    block: int
    config: str
    before: str
    mb_per_s: float


def main() -> None:
    """Measure both kinds of topics in turn, in blocks."""
    parser = benchmark_parser(__doc__)
    parser.add_argument("--runs", type=whole_number, default=60, help="loads for each kind of topics")
    asked = parser.parse_args()
    workload = Workload(RecordSizes.fixed(1000), warmup_s=_WARMUP_S, measured_s=_MEASURED_S)
    loads: dict[str, list[Load]] = {"new topics": [], "one topic": []}
    with open_target(Target()) as opened:
        warm = Workload(workload.record_sizes, warmup_s=0.0, measured_s=_WARM_S)
        opened.runner().run(CONFIGS[_BASELINE], warm)
        for block in range(_BLOCKS):
            kind, one = (("new topics", _new_topics), ("one topic", _one_topic))[(block + 1) // 2 % 2]
            order = _order(2 * asked.runs // _BLOCKS, block)
            loads[kind] += _measured(opened, workload, order, block, one)
    print(HEAD)
    for kind, measured in loads.items():
        for name in CONFIGS:
            print(_row(kind, name, measured))


def _order(length: int, seed: int) -> list[str]:
    """Return the names of the configs in random order, each equally often."""
    order = [*CONFIGS] * (length // len(CONFIGS))
    Random(seed).shuffle(order)
    return order


_OnTopic = Callable[[OpenTarget, Workload], AbstractContextManager[Callable[[], AbstractContextManager[Topic]]]]


def _measured(
    opened: OpenTarget, workload: Workload, order: Sequence[str], block: int, topics: _OnTopic
) -> Iterator[Load]:
    with topics(opened, workload) as next_topic:
        before = ""
        for name in order:
            with next_topic() as topic:
                seen = Isolated(opened.on_topic(topic)).run(CONFIGS[name], workload)
            yield Load(block, name, before, seen.mb_per_s)
            before = name


@contextmanager
def _new_topics(opened: OpenTarget, workload: Workload) -> Iterator[Callable[[], AbstractContextManager[Topic]]]:
    """Give each load a topic of its own, which is deleted after the load."""
    yield lambda: opened.topic_for_run()(workload)


@contextmanager
def _one_topic(opened: OpenTarget, workload: Workload) -> Iterator[Callable[[], AbstractContextManager[Topic]]]:
    """Give all loads the same topic, and delete its records before each load."""
    admin = AdminClient(dict(opened.cluster.connection))

    @contextmanager
    def emptied() -> Iterator[Topic]:
        ends = [TopicPartition(topic.name, partition, -1) for partition in range(workload.partitions)]
        for deleted in admin.delete_records(ends).values():
            deleted.result()
        time.sleep(_EMPTYING_S)
        yield topic

    with opened.topic_for_run()(workload) as topic:
        yield emptied


def _row(kind: str, name: str, loads: Sequence[Load]) -> str:
    values = [load.mb_per_s for load in loads if load.config == name]
    return f"| {kind} | {name} | {fmean(values):.0f} | {_scatter(name, loads):.1%} | {_carry_over(name, loads)} |"


def _scatter(name: str, loads: Sequence[Load]) -> float:
    """Return the standard deviation of the logarithms around the mean of each block."""
    logs = [(load.block, math.log(load.mb_per_s)) for load in loads if load.config == name]
    blocks = {block: fmean(log for other, log in logs if other == block) for block, _ in logs}
    return math.sqrt(sum((log - blocks[block]) ** 2 for block, log in logs) / (len(logs) - len(blocks)))


def _carry_over(name: str, loads: Sequence[Load]) -> str:
    """Return a config's carry-over as text, with its 95 % interval: `1.02 (0.98 to 1.06)`.

    The logarithm of a throughput is modelled as the level of its block, plus the carry-over after the other config,
    plus noise.
    """
    known = [load for load in loads if load.config == name and load.before]
    blocks = sorted({load.block for load in known})
    columns = [[float(load.before == _OTHER), *(float(load.block == each) for each in blocks)] for load in known]
    design = np.array(columns)
    logs = np.log([load.mb_per_s for load in known])
    fitted = np.linalg.lstsq(design, logs)[0]
    left_over = logs - design @ fitted
    freedom = len(known) - design.shape[1]
    variance = float(left_over @ left_over) / freedom * float(np.linalg.inv(design.T @ design)[0, 0])
    half = t_quantile(0.95, freedom) * math.sqrt(variance)
    value, low, high = (ratio_text(math.exp(float(fitted[0]) + way * half)) for way in (0, -1, 1))
    return f"{value} ({low} to {high})"


if __name__ == "__main__":
    run_benchmark(main)
