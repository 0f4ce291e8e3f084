"""Measures each config of a grid, for a table on which samplers and predictions are tested.

    python -m benchmarks.measured_grid FILE.csv [--record-bytes 1000] [--brokers 1] [--client librdkafka]
        [--rounds 1] [--seconds 1.5]

The grid has 168 configs, which are measured in random order on embedded brokers, with a replica on each. Each config
has a paced phase at 30 % of the throughput of the client's defaults, and then a saturating phase. The client's defaults
are measured first, after burn-in runs whose values are not used, and again after every ten configs. If FILE exists, the
benchmark repeats the burn-in runs and continues where FILE ends. A round of the whole grid takes about 15 minutes and
writes 40 GB to the brokers; with `--seconds 4` or with records of 10 kB, it takes 33 minutes. Each further round
measures all configs again, in another random order.
"""

import argparse
import csv
import itertools
import os
import random
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import Final

import psutil

from benchmarks.evidence import add_client, positive_number, whole_number
from objectives.metrics import metrics_of
from runners.clusters.cluster import LocalBroker
from runners.errors import WorkloadRefused
from runners.java_runtime.pinned_jars import KAFKA_VERSION
from runners.load.isolated import Isolated, end_reused_processes
from runners.runner import Runner
from runners.workload import RecordSizes, Workload
from search_spaces.client import Client, ClientKind
from search_spaces.configs.producer_config import ProducerConfig
from tuner.execution.open_target import OpenTarget, open_target
from tuner.execution.trials.steadiness import has_enough_burn_ins
from tuner.model.spec import RATE_RATIO
from tuner.model.target import Target

LINGER_MS = {
    ClientKind.LIBRDKAFKA: ("0", "0.1", "0.5", "2", "5", "20", "100"),
    ClientKind.JAVA: ("0", "1", "2", "5", "10", "20", "100"),  # whole milliseconds
}
BATCH_BYTES = ("16384", "131072", "1000000")
CODECS = ("none", "snappy", "lz4", "zstd")
IN_FLIGHT = {ClientKind.LIBRDKAFKA: ("1", "1000000"), ClientKind.JAVA: ("1", "5")}  # Java's idempotence allows 5
METRICS = (
    "mb_per_s",
    "latency_p50_ms",
    "latency_p99_ms",
    "latency_p999_ms",
    "held_rate_ratio",
    "delivered_ratio",
    "wire_bytes_per_value_byte",
    "client_cpu_ms_per_mb",
    "broker_cpu_ms_per_mb",
    "batch_records",
    "paced_batch_records",
    "stored_bytes_per_record",
)
"""The columns with values. Those before the last three are metrics of `objectives.metrics`.

`batch_records` is the mean number of records in a batch under the saturating load and `paced_batch_records` under the
paced one, and `stored_bytes_per_record` is what each broker stores of a record under the paced load, with its indexes.
"""
NAMES = ("linger.ms", "batch.size", "compression.type", "max.in.flight.requests.per.connection")
SEED, EVERY = 0, 10
_MOST_BURN_INS: Final = 20
"""A broker that has just started needs up to ten runs of the Java client until its throughput no longer rises."""
_BLOCK_BYTES: Final = 512
"""Unit of `st_blocks`. We count blocks, because an index file takes less disk space than its length."""


def main() -> None:
    """Measure the configs that FILE does not contain yet, until `--minutes` have passed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("file", type=Path)
    parser.add_argument("--record-bytes", type=whole_number, default=1000)
    parser.add_argument(
        "--brokers", type=whole_number, default=1, help="number of brokers, and of replicas of each partition"
    )
    add_client(parser)
    parser.add_argument("--rounds", type=whole_number, default=1, help="how often each config is measured")
    parser.add_argument(
        "--seconds", type=positive_number, default=1.5, help="length of each phase, without 0.5 s of warm-up"
    )
    parser.add_argument(
        "--minutes", type=positive_number, default=60.0, help="after which no further config is measured"
    )
    asked = parser.parse_args()
    ends_s = time.monotonic() + 60 * asked.minutes
    client: Client = asked.client
    order = [config for number in range(asked.rounds) for config in _order(client, SEED + number)]
    written = asked.file.read_text() if asked.file.exists() else ""
    done = sum(line[:1].isdigit() for line in written.splitlines())
    try:
        load = load_of(asked.record_bytes, asked.brokers, asked.seconds)
    except WorkloadRefused as error:
        parser.error(str(error))
    if done and f"# how: {_how(load, asked.rounds)}\n" not in written:
        parser.error(f"{asked.file} was measured in another way than --seconds and --rounds say; see its line `# how`")
    with open_target(Target(brokers=asked.brokers), print, client) as opened:
        capacity = burn_in(opened, load)
        rate = _rate(written) or round(RATE_RATIO * capacity, 1)
        if not done:
            asked.file.write_text(_head(rate, client, load, asked.rounds))
        with asked.file.open("a", newline="") as file:
            out = csv.writer(file, lineterminator="\n")
            for index in range(done, len(order)):
                if time.monotonic() > ends_s:
                    break
                properties = {name: text for name, text in zip(NAMES, order[index], strict=True) if text}
                config = ProducerConfig.parse(properties, client=client)
                found = _measured(opened, config, replace(load, rate_records_per_s=rate))
                values = [f"{found[name]:.6g}" if name in found else "" for name in METRICS]
                out.writerow([asked.record_bytes, *order[index], *values])
                file.flush()
                print(f"{index + 1} of {len(order)}: {' '.join(order[index])}: {found.get('mb_per_s', 0):.1f} MB/s")
    end_reused_processes()


def _order(client: Client, seed: int) -> list[tuple[str, ...]]:
    """Return the cells of all configs in a random order, with the client's defaults first and after every ten configs.

    The client's defaults are four empty cells.
    """
    values = (LINGER_MS[client.kind], BATCH_BYTES, CODECS, IN_FLIGHT[client.kind])
    grid: list[tuple[str, ...]] = list(itertools.product(*values))
    random.Random(seed).shuffle(grid)
    found: list[tuple[str, ...]] = []
    for index, each in enumerate(grid):
        found += [("", "", "", ""), each] if index % EVERY == 0 else [each]
    return found


def load_of(record_bytes: int, brokers: int, measured_s: float = 1.5) -> Workload:
    """Return the saturating load of a table."""
    return Workload(
        RecordSizes.fixed(record_bytes),
        compressibility_ratio=0.5,
        partitions=3,
        replication=brokers,
        warmup_s=0.5,
        measured_s=measured_s,
    )


@contextmanager
def _runner(opened: OpenTarget, load: Workload) -> Iterator[tuple[Runner, str]]:
    """Yield a runner, and the name of its new topic."""
    with opened.topic_for_run()(load) as topic:
        yield Isolated(opened.on_topic(topic), reuses_process=True), topic.name


def burn_in(opened: OpenTarget, load: Workload) -> float:
    """Measure the client's defaults until their throughput no longer rises, and return it in records per second."""
    capacities: list[float] = []
    while not has_enough_burn_ins(capacities, _MOST_BURN_INS):
        with _runner(opened, load) as (runner, _):
            capacities.append(runner.run(ProducerConfig.parse({}, client=opened.client), load).records_per_s)
        print(f"burn-in run: {capacities[-1]:,.0f} records/s")
    return fmean(capacities[-2:])


def _measured(opened: OpenTarget, config: ProducerConfig, paced_load: Workload) -> dict[str, float]:
    with _runner(opened, paced_load) as (runner, topic):
        paced = runner.run(config, paced_load)
        stored_bytes = sum(_stored_bytes(each, topic) for each in opened.cluster.local_brokers)
        saturated = runner.run(config, replace(paced_load, rate_records_per_s=None))
    found = metrics_of(paced=paced, saturated=saturated)
    batches = {"batch_records": saturated, "paced_batch_records": paced}
    found |= {name: seen.activity.batch_records for name, seen in batches.items() if seen.activity is not None}
    if paced.counts.stored:
        found["stored_bytes_per_record"] = stored_bytes / paced.counts.stored / paced_load.replication
    return found


def _stored_bytes(broker: LocalBroker, topic: str) -> int:
    """Return the bytes that a topic takes on the disk of a broker."""
    assert broker.log_dir is not None, "a broker that the tuner starts has a folder"
    files = [each.stat() for each in broker.log_dir.glob(f"{topic}-*/*") if each.is_file()]
    return sum(min(each.st_size, each.st_blocks * _BLOCK_BYTES) for each in files)


def _rate(written: str) -> float | None:
    """Return the rate that the head of a table states; None if there is no table yet."""
    lines = written.splitlines()
    return next((float(line.split(":")[1]) for line in lines if line.startswith("# rate_records_per_s")), None)


def _head(rate: float, client: Client, load: Workload, rounds: int) -> str:
    title = f"168 configs, records of {load.record_sizes} B, {_brokers_in_words(load)}"
    columns = ",".join(("record_bytes", *NAMES, *METRICS))
    said = facts(title, "python -m benchmarks.measured_grid", _how(load, rounds), client, load)
    return f"{said}# rate_records_per_s: {rate}\n{columns}\n"


def _how(load: Workload, rounds: int) -> str:
    return (
        f"each config {'once' if rounds == 1 else f'once in each of {rounds} rounds'}: paced "
        f"{load.warmup_s:g} + {load.measured_s:g} s, then saturating as long, on one topic; the defaults "
        f"(no properties) after every 10 configs; random order, seed {SEED}"
    )


def facts(title: str, program: str, how: str, client: Client, load: Workload) -> str:
    """Return the head of a table of measurements, as `benchmarks.problems.table` reads it.

    Args:
        title: The title of the table.
        program: The command that measured it.
        how: A description of the measurement of each row.
        client: The client that was measured.
        load: The load. The head states the settings that are the same in all rows.
    """
    memory = psutil.virtual_memory().total / 1e9
    said = {
        "title": title,
        "source": f"measured with this project: {program}",
        "client": f"{client.kind} {client.version}",
        "broker": f"Kafka {KAFKA_VERSION}, {_brokers_in_words(load)} on the same machine",
        "machine": f"{os.cpu_count()} cores, {memory:.0f} GB, shared by broker and load, {time.strftime('%Y-%m')}",
        "how": how,
        "partitions": f"{load.partitions}",
        "replication": f"{load.replication}",
        "compressibility_ratio": f"{load.compressibility_ratio}",
    }
    return "".join(f"# {name}: {value}\n" for name, value in said.items())


def _brokers_in_words(load: Workload) -> str:
    return "one embedded broker" if load.replication == 1 else f"{load.replication} embedded brokers"


if __name__ == "__main__":
    main()
