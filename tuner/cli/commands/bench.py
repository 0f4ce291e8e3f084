"""`tuner bench` measures one config."""

from collections.abc import Sequence
from contextlib import nullcontext
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from runners.librdkafka.librdkafka_runner import GENERATORS
from runners.measurements.measurement import Measurement
from runners.reporting import silent
from runners.runner import Runner, go_on
from runners.workload import Workload
from search_spaces.client import ClientKind
from search_spaces.configs.producer_config import ProducerConfig, check_record
from tuner.cli.options import common_options, target_options
from tuner.cli.options.bench_options import ConfigOptions, LoadOptions, TargetOptions
from tuner.cli.options.options_from_dataclass import with_options
from tuner.cli.options.workload_options import check_consumers
from tuner.cli.output import Force, check_picture, print_result, write_picture
from tuner.execution.open_target import open_alone
from tuner.model.document import document
from tuner.model.measurement_json import measurement_json
from tuner.present.console import say
from tuner.present.measurements.live_windows import live_windows
from tuner.present.measurements.measurement_view import CELLS, print_measurement, print_spread, rest_of_line
from tuner.present.tables import csv_of

Generator = StrEnum("Generator", {name.upper(): name for name in GENERATORS})  # type: ignore[misc]


@with_options()
def bench(
    *,
    producer: ConfigOptions,
    load: LoadOptions,
    repeat: Annotated[
        int, typer.Option(min=1, help="Number of measurements; with more than one, their spread is shown too.")
    ] = 1,
    cluster: TargetOptions,
    generator: Annotated[
        Generator,
        typer.Option(
            help="Load generator. native calls librdkafka's C functions; python calls the client from Python, which is "
            "slower and works where native does not."
        ),
    ] = Generator.NATIVE,  # type: ignore[attr-defined]
    plot: Annotated[
        bool, typer.Option("--plot", help="Also print the latency distribution as a bar chart in text.")
    ] = False,
    png: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Also draw the latency distribution as a picture: .png, .svg or .pdf."),
    ] = None,
    force: Force = False,
    as_json: common_options.Json = False,
    as_csv: common_options.Csv = False,
    quiet: common_options.Quiet = False,
) -> None:
    """Measure one producer config: its throughput, its latency, and what limited it.

    \b
    Examples:
        tuner bench
        tuner bench --config producer.properties --record-bytes 100 --bootstrap broker:9092
        tuner bench -X linger.ms=20 -X compression.type=lz4 --rate 20000
        tuner bench --record-bytes 100:70,1000:25,10000:5 --seconds 30 --json
        tuner bench --rate 20000 --consumers 1         end-to-end latency
        tuner bench --rate 20000 --peak 3              half of the records in bursts
        tuner bench --repeat 5 --csv > runs.csv       one line for each measurement
        tuner bench --zone-delay 2ms --zone-bandwidth 50MB       as if the broker were in another zone
    """
    load.check()
    target_options.check_topic_options(cluster.topic, cluster.like, load.partitions, load.replication)
    config = producer.producer_config()
    workload = load.workload()
    if cluster.topic is None and cluster.like is None:
        check_consumers(workload.consumers, workload.partitions)
    check_record(config, workload.record_sizes.largest_bytes, workload.key_bytes or None)
    limits = cluster.limits(workload)
    target = cluster.target(workload.replication)
    if generator == "python" and config.client.kind is ClientKind.JAVA:
        raise typer.BadParameter("--generator python measures librdkafka only; leave it or --client java out")
    check_picture(png, force=force)
    alone = quiet or as_json or as_csv
    with open_alone(target, "tuner bench", say, silent if alone else say, config.client) as opened:
        runs = _measure(opened.runner(str(generator), limits), config, workload, repeat, alone=alone)
    records = [measurement_json(run) for run in runs]
    print_result(
        records[0] if repeat == 1 else document("measurements", runs=records),
        lambda: print_measurement(runs[-1], cluster.bootstrap or "HOST:9092", cluster.command_config, plot=plot),
        lambda: csv_of(records),
        as_json=as_json,
        as_csv=as_csv,
    )
    if repeat > 1 and not (as_json or as_csv):
        print_spread(runs)
    if png is not None:
        _draw(runs, png, force=force)


def _measure(
    runner: Runner, config: ProducerConfig, workload: Workload, repeat: int, *, alone: bool
) -> list[Measurement]:
    """Measure a config as often as the user asked for.

    Args:
        runner: The runner.
        config: The config.
        workload: The load.
        repeat: Number of measurements.
        alone: Whether the result is printed alone, without a live view.
    """
    runs: list[Measurement] = []
    for number in range(repeat):
        title = f"run {number + 1} of {repeat}" if repeat > 1 else "measuring"
        with nullcontext(go_on) if alone else live_windows(title, rest_of_line, CELLS) as watch:
            runs.append(runner.run(config, workload, watch))
    return runs


def _draw(runs: Sequence[Measurement], png: Path, *, force: bool) -> None:
    """Draw the latency distributions as a picture."""
    # Imported here, because importing matplotlib takes half a second.
    from tuner.present.report.latency_picture import draw_latency

    write_picture(png, partial(draw_latency, runs), force=force)
    say(f"picture written to {png}")
