"""Measures each config of a grid once, for a table on which samplers are compared.

python -m benchmarks.measured_grid FILE.csv [--client librdkafka] [--minutes 8]

The grid has 168 configs, which are measured in random order with records of 1 kB on an embedded broker. Each config has
a paced phase at 30 % of the throughput of the client's defaults, and then a saturating phase. The client's defaults are
measured first, after burn-in runs whose values are not used, and again after every ten configs. If FILE exists, the
benchmark repeats the burn-in runs and continues where FILE ends. The whole grid takes about 15 minutes and writes 40 GB
to the broker.
"""

import argparse
import csv
import itertools
import os
import random
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import fmean

import psutil

from objectives.outcome import metrics_of
from runners.runner import Runner
from runners.workload import RecordSizes, Workload
from runners.wrappers import Isolated, end_kept
from search_spaces.client import Client, Kind, client_of
from search_spaces.producer_config import ProducerConfig
from tuner.course.open_target import OpenTarget, open_target
from tuner.model.target import Target
from tuner.search.schedule import is_stable

LINGER_MS = {
    Kind.LIBRDKAFKA: ("0", "0.1", "0.5", "2", "5", "20", "100"),
    Kind.JAVA: ("0", "1", "2", "5", "10", "20", "100"),  # whole milliseconds
}
BATCH_BYTES = ("16384", "131072", "1000000")
CODECS = ("none", "snappy", "lz4", "zstd")
IN_FLIGHT = {Kind.LIBRDKAFKA: ("1", "1000000"), Kind.JAVA: ("1", "5")}  # Java's idempotence allows 5
METRICS = ("mb_per_s", "latency_p50_ms", "latency_p99_ms", "latency_p999_ms", "held_rate_ratio", "delivered_ratio")
NAMES = ("linger.ms", "batch.size", "compression.type", "max.in.flight.requests.per.connection")
SEED, EVERY = 0, 10
LOAD = Workload(RecordSizes.fixed(1000), compressibility_ratio=0.5, partitions=3, warmup_s=0.5, measured_s=1.5)
RATE_RATIO = 0.3


def main() -> None:
    """Measure the configs that FILE does not contain yet, until `--minutes` have passed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("file", type=Path)
    parser.add_argument("--client", default="librdkafka", help="librdkafka, java, or java:VERSION")
    parser.add_argument("--minutes", type=float, default=60.0)
    asked = parser.parse_args()
    ends_s = time.monotonic() + 60 * asked.minutes
    client = client_of(asked.client)
    order = _order(client)
    done = sum(1 for line in asked.file.open() if line[0].isdigit()) if asked.file.exists() else 0
    with open_target(Target(), print, client) as opened:
        capacity = _burn_in(opened)
        rate = _rate(asked.file) or round(RATE_RATIO * capacity, 1)
        if not done:
            asked.file.write_text(_head(rate, client))
        with asked.file.open("a", newline="") as file:
            out = csv.writer(file, lineterminator="\n")
            for place in range(done, len(order)):
                if time.monotonic() > ends_s:
                    break
                properties = {name: text for name, text in zip(NAMES, order[place], strict=True) if text}
                config = ProducerConfig.parse(properties, client=client)
                found = _measured(opened, config, rate)
                out.writerow(
                    [1000, *order[place], *(f"{found[name]:.6g}" if name in found else "" for name in METRICS)]
                )
                file.flush()
                print(f"{place + 1} of {len(order)}: {' '.join(order[place])}: {found.get('mb_per_s', 0):.1f} MB/s")
    end_kept()


def _order(client: Client) -> list[tuple[str, ...]]:
    """Return the cells of all configs in random order, with the client's defaults first and after every ten configs.

    The client's defaults are four empty cells.
    """
    values = (LINGER_MS[client.kind], BATCH_BYTES, CODECS, IN_FLIGHT[client.kind])
    grid: list[tuple[str, ...]] = list(itertools.product(*values))
    random.Random(SEED).shuffle(grid)
    found: list[tuple[str, ...]] = []
    for place, each in enumerate(grid):
        found += [("", "", "", ""), each] if place % EVERY == 0 else [each]
    return found


@contextmanager
def _runner(opened: OpenTarget, workload: Workload) -> Iterator[Runner]:
    with opened.lease()(workload) as topic:
        yield Isolated(opened.on_topic(topic), kept=True)


def _burn_in(opened: OpenTarget) -> float:
    capacities: list[float] = []
    while not is_stable(capacities, 5):
        with _runner(opened, LOAD) as runner:
            capacities.append(runner.run(ProducerConfig.parse({}, client=opened.client), LOAD).records_per_s)
        print(f"burn-in run: {capacities[-1]:,.0f} records/s")
    return fmean(capacities[-2:])


def _measured(opened: OpenTarget, config: ProducerConfig, rate: float) -> dict[str, float]:
    paced_load = Workload(
        LOAD.record_sizes,
        compressibility_ratio=LOAD.compressibility_ratio,
        partitions=LOAD.partitions,
        warmup_s=LOAD.warmup_s,
        measured_s=LOAD.measured_s,
        rate_records_per_s=rate,
    )
    with _runner(opened, paced_load) as runner:
        return metrics_of(paced=runner.run(config, paced_load), saturated=runner.run(config, LOAD))


def _rate(file: Path) -> float | None:
    lines = file.read_text().splitlines() if file.exists() else []
    return next((float(line.split(":")[1]) for line in lines if line.startswith("# rate_records_per_s")), None)


def _head(rate: float, client: Client) -> str:
    memory = psutil.virtual_memory().total / 1e9
    facts = {
        "title": "168 configs of 1 kB records on an embedded broker",
        "source": "measured with this project: python -m benchmarks.measured_grid",
        "client": f"{client.kind} {client.version}",
        "broker": "Kafka 4.3.1, one embedded broker on the same machine",
        "machine": f"{os.cpu_count()} cores, {memory:.0f} GB, shared by broker and load, {time.strftime('%Y-%m')}",
        "how": "each config once: paced 0.5 + 1.5 s, then saturating 0.5 + 1.5 s, on one topic; the defaults (no "
        "properties) after every 10 configs; random order, seed 0",
        "partitions": "3",
        "compressibility_ratio": "0.5",
        "rate_records_per_s": f"{rate}",
    }
    columns = ",".join(("record_bytes", *NAMES, *METRICS))
    return "".join(f"# {name}: {value}\n" for name, value in facts.items()) + columns + "\n"


if __name__ == "__main__":
    main()
