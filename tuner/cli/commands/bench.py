"""`tuner bench` measures one config."""

from collections.abc import Sequence
from contextlib import nullcontext
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from runners.librdkafka.librdkafka_runner import GENERATORS
from runners.measurements.measurement import Measurement
from runners.reporting import counted, silent
from runners.runner import Runner, go_on
from runners.workload import RecordSizes, Workload
from search_spaces.client import ClientKind, client_of
from search_spaces.configs.producer_config import ProducerConfig
from search_spaces.configs.record_size import check_record
from tuner.cli.options import common_options as options
from tuner.cli.options import workload_options
from tuner.cli.output import Force, check_picture, write_picture
from tuner.cli.printing import check_one_form, print_csv, print_json
from tuner.course.open_target import open_alone
from tuner.model.document import document
from tuner.model.measurement_json import measurement_json
from tuner.model.target import Target
from tuner.present.console import say
from tuner.present.csv_text import csv_of
from tuner.present.measurements.measurement_view import live_view, print_measurement, print_spread

_WORKLOAD: Final = "Workload"


class BenchLoad(StrEnum):
    """How records are sent: as fast as the client takes them, or at a fixed rate."""

    SATURATE = "saturate"
    PACED = "paced"


Generator = StrEnum("Generator", {name.upper(): name for name in GENERATORS})  # type: ignore[misc]


def bench(
    config: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Properties file of the producer config.",
            show_default="the client's defaults",
            rich_help_panel="Config",
        ),
    ] = None,
    client: workload_options.MeasuredClient = "librdkafka",
    pairs: Annotated[
        list[str] | None,
        typer.Option(
            "-X",
            metavar="KEY=VALUE",
            help="One producer property, such as linger.ms=20. The option may be repeated, and wins over --config.",
            rich_help_panel="Config",
        ),
    ] = None,
    record_bytes: Annotated[str, workload_options.record_sizes(_WORKLOAD)] = "1000",
    key_bytes: Annotated[int, workload_options.key_bytes(_WORKLOAD)] = 0,
    different_keys: Annotated[
        int | None,
        typer.Option(
            metavar="N", help="Number of different keys.", show_default="nearly all differ", rich_help_panel=_WORKLOAD
        ),
    ] = None,
    most_frequent_key: Annotated[
        float,
        typer.Option(
            metavar="RATIO",
            help="Share of the records with the most frequent key, such as 0.2; the others follow as in Zipf's law.",
            rich_help_panel=_WORKLOAD,
        ),
    ] = 0.0,
    compressibility: Annotated[float, workload_options.compressibility(_WORKLOAD)] = 0.0,
    seconds: Annotated[float, workload_options.seconds(panel=_WORKLOAD)] = 10.0,
    warmup: Annotated[float, workload_options.warmup(panel=_WORKLOAD)] = 3.0,
    load: Annotated[
        BenchLoad | None,
        typer.Option(
            help="saturate sends as fast as the client takes records, for throughput. paced sends at --rate, for "
            "latency.",
            show_default="paced with --rate, else saturate",
            rich_help_panel=_WORKLOAD,
        ),
    ] = None,
    rate: Annotated[
        float | None,
        typer.Option(metavar="N", help="Records per second of a paced load, such as 20000.", rich_help_panel=_WORKLOAD),
    ] = None,
    peak: Annotated[
        float,
        typer.Option(
            metavar="RATIO",
            help="Rate of the bursts, as a multiple of --rate, such as 3. Half of the records then leave in bursts of "
            "about a second.",
            rich_help_panel=_WORKLOAD,
        ),
    ] = 1.0,
    partitions: Annotated[int | None, workload_options.partitions(_WORKLOAD, "3")] = None,
    replication: Annotated[int | None, workload_options.replication(_WORKLOAD, "1")] = None,
    consumers: Annotated[
        int,
        typer.Option(
            min=0,
            help="Number of consumers that read the records while they are written, for the end-to-end latency.",
            rich_help_panel=_WORKLOAD,
        ),
    ] = 0,
    seed: Annotated[int, workload_options.seed(_WORKLOAD)] = 0,
    repeat: Annotated[
        int, typer.Option(min=1, help="Number of measurements; with more than one, their spread is shown too.")
    ] = 1,
    bootstrap: options.Bootstrap = None,
    command_config: options.CommandConfig = None,
    container: options.Container = None,
    brokers: options.Brokers = None,
    zone_delay: options.ZoneDelay = None,
    zone_bandwidth: options.ZoneBandwidth = None,
    topic: Annotated[
        str | None,
        typer.Option(
            help="Topic of yours to write to, such as scratch. Its records stay, and it is never deleted. Without this "
            "option, a topic is created and deleted again.",
            rich_help_panel=options.TARGET_PANEL,
        ),
    ] = None,
    like: Annotated[
        str | None,
        typer.Option(
            help="Topic of yours, such as orders, whose partitions, replication and settings the created topic gets.",
            rich_help_panel=options.TARGET_PANEL,
        ),
    ] = None,
    max_bytes: Annotated[str, workload_options.max_bytes(options.TARGET_PANEL)] = "50GB",
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
    as_json: options.Json = False,
    as_csv: options.Csv = False,
    quiet: options.Quiet = False,
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
    check_one_form(json=as_json, csv=as_csv)
    _check_needed(peak, rate, most_frequent_key, different_keys)
    options.check_topic_options(topic, like, partitions, replication)
    chosen = client_of(client)
    measured = ProducerConfig.parse(options.config_values(config, pairs or [], chosen), chosen)
    with workload_options.named_by_option():
        workload = Workload(
            record_sizes=RecordSizes.parse(record_bytes),
            key_bytes=key_bytes,
            different_keys=different_keys,
            most_frequent_key_ratio=most_frequent_key,
            compressibility_ratio=compressibility,
            partitions=3 if partitions is None else partitions,
            replication=1 if replication is None else replication,
            warmup_s=warmup,
            measured_s=seconds,
            rate_records_per_s=_rate(load, rate),
            peak_ratio=peak,
            consumers=consumers,
            seed=seed,
        )
    check_record(measured, workload.record_sizes.largest_bytes, key_bytes or None)
    limits = workload_options.limits_of(max_bytes, workload.record_sizes.largest_bytes)
    link = options.link_of(zone_delay, zone_bandwidth)
    target = options.target_of(
        bootstrap, command_config, container=container, brokers=brokers, topic=topic, like=like, link=link
    )
    if generator == "python" and chosen.kind is ClientKind.JAVA:
        raise typer.BadParameter("--generator python measures librdkafka only; leave it or --client java out")
    _check_target(target, workload.replication)
    check_picture(png, force=force)
    alone = quiet or as_json or as_csv
    with open_alone(target, "tuner bench", say, silent if alone else say, chosen) as opened:
        runs = _measure(opened.runner(str(generator), limits), measured, workload, repeat, alone=alone)
    if as_csv:
        print_csv(csv_of(map(measurement_json, runs)))
    elif as_json:
        print_json(_json(runs))
    else:
        print_measurement(runs[-1], bootstrap or "HOST:9092", command_config, plot=plot)
        if repeat > 1:
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
        with nullcontext(go_on) if alone else live_view(title) as watch:
            runs.append(runner.run(config, workload, watch))
    return runs


def _json(runs: Sequence[Measurement]) -> dict[str, Any]:
    """Return the JSON values of one measurement, or of several."""
    records = [measurement_json(run) for run in runs]
    if len(records) == 1:
        return records[0]
    return document("measurements", runs=records)


def _draw(runs: Sequence[Measurement], png: Path, *, force: bool) -> None:
    """Draw the latency distributions as a picture."""
    # Imported here, because importing matplotlib takes half a second.
    from tuner.present.report.latency_picture import draw_latency

    write_picture(png, partial(draw_latency, runs), force=force)
    say(f"picture written to {png}")


def _check_needed(peak: float, rate: float | None, most_frequent_key: float, different_keys: int | None) -> None:
    """Check that the options were given which others need."""
    if peak != 1.0 and rate is None:
        raise typer.BadParameter("--peak needs --rate, the mean number of records per second")
    if most_frequent_key and different_keys is None:
        raise typer.BadParameter("--most-frequent-key needs --different-keys, the number of keys")


def _check_target(target: Target, replication: int) -> None:
    """Check that brokers that are still to be started are enough for the replicas."""
    brokers = 1 if target.container else target.brokers
    if target.bootstrap is None and replication > brokers:
        raise typer.BadParameter(
            f"--replication must be at most the number of brokers, but got {replication} with "
            f"{counted(brokers, 'broker')}; {'leave --container out and ' if target.container else ''}raise --brokers"
        )


def _rate(load: BenchLoad | None, rate: float | None) -> float | None:
    if load is BenchLoad.PACED and rate is None:
        raise typer.BadParameter("--load paced needs --rate, the number of records per second to send")
    if load is BenchLoad.SATURATE and rate is not None:
        raise typer.BadParameter(
            "--load saturate and --rate exclude each other: a saturating load is sent as fast as possible"
        )
    return rate
