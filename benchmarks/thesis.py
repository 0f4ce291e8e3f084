"""Repeats the experiments of a thesis on the Java producer in short measurements, and compares the results with it.

    python -m benchmarks.thesis [--rounds 5] [--seconds 2] [--warmup 1] [--client java]

The thesis: De Vos Meaker (2020), Analysing the Kafka Producer and Benchmarking its Performance, Vrije Universiteit
Amsterdam, tables 14 to 22. It measured the defaults of the Java client 2.4.1 at 10 to 100,000 B, and then changed
`acks`, `batch.size` with `linger.ms`, and `max.in.flight.requests.per.connection`. It measured each config once.

Here each config is measured in several rounds, in random order. The ratio to the defaults of the same round has a
confidence interval. The direction of a result holds here if the interval lies wholly on the thesis's side of 1. The
thesis measured for five minutes after one minute of warm-up.

Configs for which the thesis reached less than 2 MB/s are left out. Their batches hold a few records, so the records in
a full `buffer.memory` take more than 15 s to send.
"""

import random
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Final

from benchmarks.evidence import add_client, benchmark_parser, positive_number, run_benchmark, whole_number
from benchmarks.problems.table import Row, thesis_tables
from objectives.ratios import Ratio, ratio_of
from runners.measurements.measurement import Measurement
from runners.runner import Limits
from runners.workload import RecordSizes, Workload
from search_spaces.client import Client
from search_spaces.configs.producer_config import ProducerConfig
from tuner.execution.open_target import open_target
from tuner.model.target import Target
from tuner.present.console import say

DEFAULTS: Final[Mapping[str, str]] = {
    "acks": "1",
    "batch.size": "16384",
    "buffer.memory": "33554432",
    "enable.idempotence": "false",
    "linger.ms": "0",
    "max.in.flight.requests.per.connection": "5",
}
"""The defaults of the thesis's client, release 2.4.1. Later releases have other values for some of them."""
CHANGED: Final = ("acks", "batch.size", "linger.ms", "max.in.flight.requests.per.connection")
"""The properties that the thesis changes. They have the same names in Java and in the stored table."""
SIZES: Final = (10, 100, 1_000, 10_000, 100_000)
LEAST_MB_PER_S: Final = 2.0
SMALL_CHANGE: Final = 0.05
"""Results that differ by less than this from the defaults have no direction, because the thesis measured only once."""
MAX_BYTES: Final = 20 * 10**9


@dataclass(frozen=True, slots=True)
class Point:
    """One config at one record size, with the results of the thesis.

    Attributes:
        record_bytes: The record size.
        changes: The properties that differ from the defaults.
        mb_per_s: The thesis's throughput, in MB/s of values.
        latency_mean_ms: The thesis's mean latency: time in the client's buffer and time of the request.
    """

    record_bytes: int
    changes: tuple[tuple[str, str], ...]
    mb_per_s: float
    latency_mean_ms: float

    def config(self, client: Client) -> ProducerConfig:
        """Return the config in the client's properties."""
        return ProducerConfig.parse({**DEFAULTS, **dict(self.changes)}, client=client)


@dataclass(slots=True)
class Seen:
    """Our results at one point, one value per round.

    Attributes:
        mb_per_s: Throughput of values in MB/s.
        latency_mean_ms: The mean latency that the application sees.
        buffer_rounds: Number of rounds in which the latency was that of a full buffer: buffered bytes divided by
            throughput.
    """

    mb_per_s: list[float]
    latency_mean_ms: list[float]
    buffer_rounds: int = 0


def points() -> list[Point]:
    """Return the points of the thesis that can be measured in short phases, with the defaults of a size first."""
    found = [_point(row) for row in thesis_tables().rows]
    return sorted((each for each in found if each.mb_per_s >= LEAST_MB_PER_S), key=lambda each: each.record_bytes)


def _point(row: Row) -> Point:
    values = {name: row.config.values.get(name, DEFAULTS[name]) for name in CHANGED}
    changes = tuple((name, text) for name, text in values.items() if text != DEFAULTS[name])
    return Point(int(row.sizes.mean_bytes), changes, row.metrics["mb_per_s"], row.metrics["saturated_latency_mean_ms"])


def direction(ratio: Ratio, thesis: float) -> str:
    """Return whether a ratio to the defaults has the direction that it has in the thesis.

    Args:
        ratio: The ratio that was measured here.
        thesis: The ratio of the thesis.
    """
    if abs(thesis - 1) < SMALL_CHANGE:
        return "no direction"
    if ratio.low <= 1 <= ratio.high:
        return "undecided"
    return "holds here" if (ratio.value > 1) == (thesis > 1) else "does not hold here"


def main() -> None:
    """Measure all points, and print a table for each record size."""
    parser = benchmark_parser(__doc__)
    add_client(parser, "java or java:VERSION", default="java")
    parser.add_argument("--rounds", type=whole_number, default=5)
    parser.add_argument("--seconds", type=positive_number, default=2.0)
    parser.add_argument("--warmup", type=positive_number, default=1.0)
    asked = parser.parse_args()
    if asked.rounds < 2:
        parser.error(f"--rounds must be at least 2, because an interval needs two rounds, but got {asked.rounds}")
    client, order = asked.client, random.Random(0)
    seen = {point: Seen([], []) for point in points()}
    with open_target(Target(), say, client) as opened:
        runner = opened.runner(limits=Limits(max_bytes=MAX_BYTES))
        for size in SIZES:
            here = [point for point in seen if point.record_bytes == size]
            load = Workload(RecordSizes.fixed(size), partitions=1, warmup_s=asked.warmup, measured_s=asked.seconds)
            runner.run(here[0].config(client), load)  # a burn-in run, because broker and client are slow at first
            for number in range(asked.rounds):
                order.shuffle(here)
                for point in here:
                    _add(seen[point], runner.run(point.config(client), load))
                print(f"  {size:,} B, round {number + 1} of {asked.rounds}", file=sys.stderr)
    verdicts: Counter[str] = Counter()
    for size in SIZES:
        verdicts += _print_size(size, {point: each for point, each in seen.items() if point.record_bytes == size})
    print(f"{client.label}; throughput and latency together: ", end="")
    print(", ".join(f"{count} {verdict}" for verdict, count in sorted(verdicts.items())))


def _add(seen: Seen, found: Measurement) -> None:
    seen.mb_per_s.append(found.mb_per_s)
    seen.latency_mean_ms.append(found.latency.mean_us / 1e3)
    buffered_bytes = int(found.config.values["buffer.memory"])
    full_ms = buffered_bytes / found.mb_per_s / 1e3
    seen.buffer_rounds += abs(found.latency.mean_us / 1e3 / full_ms - 1) < 0.2


def _print_size(size: int, seen: Mapping[Point, Seen]) -> Counter[str]:
    """Print the table of one record size, and return how often each verdict stands in it."""
    (defaults,) = (point for point in seen if not point.changes)
    print(f"\n{size:,} B records:\n")
    print(
        "| config | MB/s: thesis | here | ratio to the defaults: thesis | here (95 %) | | "
        "mean latency, ms: thesis | here | ratio: thesis | here (95 %) | | a full buffer's latency |"
    )
    print("| --- " + "| ---: | ---: | ---: | --- | --- " * 2 + "| ---: |")
    verdicts: Counter[str] = Counter()
    for point, found in seen.items():
        cells = [
            *_compared(point.mb_per_s, defaults.mb_per_s, found.mb_per_s, seen[defaults].mb_per_s),
            *_compared(
                point.latency_mean_ms,
                defaults.latency_mean_ms,
                found.latency_mean_ms,
                seen[defaults].latency_mean_ms,
            ),
        ]
        verdicts.update(cell for cell in (cells[4], cells[9]) if cell)
        name = " ".join(f"{key}={value}" for key, value in point.changes) or "the defaults"
        print(f"| {name} | {' | '.join(cells)} | {found.buffer_rounds} of {len(found.mb_per_s)} |")
    return verdicts


def _compared(
    thesis: float, thesis_defaults: float, here: Sequence[float], here_defaults: Sequence[float]
) -> list[str]:
    """Return the five cells that compare a value with the thesis's. The last three are empty for the defaults."""
    both = [f"{thesis:.4g}", f"{median(here):.4g}"]
    if here is here_defaults:
        return [*both, "", "", ""]
    ratio, their_ratio = ratio_of(here, here_defaults), thesis / thesis_defaults
    return [*both, f"{their_ratio:.2f}", str(ratio), direction(ratio, their_ratio)]


if __name__ == "__main__":
    run_benchmark(main)
