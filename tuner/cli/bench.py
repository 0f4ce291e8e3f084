"""`tuner bench`: measure one config."""

import json
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from runners.librdkafka.librdkafka_runner import GENERATORS, Limits
from runners.measurement import Measurement
from runners.runner import go_on
from runners.workload import RecordSizes, Workload
from search_spaces.producer_config import ProducerConfig
from search_spaces.record_size import check_record
from tuner.cli import options
from tuner.cli.console import say
from tuner.cli.live import live_view
from tuner.cli.tables import print_measurement, print_spread
from tuner.course.open_target import open_session
from tuner.model.measurement_record import SCHEMA_VERSION, measurement_record


class Load(StrEnum):
    """Kinds of load."""

    SATURATE = "saturate"
    PACED = "paced"


Generator = StrEnum("Generator", {name.upper(): name for name in GENERATORS})  # type: ignore[misc]


def bench(
    config: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Producer properties to measure.", rich_help_panel="Config"),
    ] = None,
    pairs: Annotated[
        list[str] | None,
        typer.Option(
            "-X", metavar="KEY=VALUE", help="One producer property; may be repeated.", rich_help_panel="Config"
        ),
    ] = None,
    record_bytes: Annotated[
        str,
        typer.Option(
            metavar="N|N:W,...", help="Record size, or a mix such as 100:70,1000:30.", rich_help_panel="Workload"
        ),
    ] = "1000",
    key_bytes: Annotated[int, typer.Option(help="Size of record keys; 0 sends none.", rich_help_panel="Workload")] = 0,
    compressibility: Annotated[
        float, typer.Option(help="Share of each record that compresses away, 0 to 0.99.", rich_help_panel="Workload")
    ] = 0.0,
    seconds: Annotated[float, typer.Option(help="Seconds that are measured.", rich_help_panel="Workload")] = 10.0,
    warmup: Annotated[float, typer.Option(help="Seconds of load before that.", rich_help_panel="Workload")] = 3.0,
    load: Annotated[
        Load | None,
        typer.Option(
            help="As fast as possible, or at a fixed --rate. Paced when --rate is given.", rich_help_panel="Workload"
        ),
    ] = None,
    rate: Annotated[
        float | None, typer.Option(metavar="N", help="Records per second of a paced load.", rich_help_panel="Workload")
    ] = None,
    partitions: Annotated[int, typer.Option(help="Partitions of our topic.", rich_help_panel="Workload")] = 3,
    replication: Annotated[int, typer.Option(help="Replicas of each.", rich_help_panel="Workload")] = 1,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the payload.", rich_help_panel="Workload")] = 0,
    repeat: Annotated[int, typer.Option(min=1, help="Measure so many times and show the spread.")] = 1,
    bootstrap: options.Bootstrap = None,
    command_config: options.CommandConfig = None,
    container: options.Container = None,
    brokers: options.Brokers = 1,
    topic: Annotated[
        str | None,
        typer.Option(help="A topic of yours to write to; it is never deleted.", rich_help_panel="Target"),
    ] = None,
    like: Annotated[
        str | None,
        typer.Option(help="Make our topic like this one of yours.", rich_help_panel="Target"),
    ] = None,
    max_bytes: Annotated[
        str, typer.Option(metavar="SIZE", help="Stop before sending more than this.", rich_help_panel="Target")
    ] = "50GB",
    generator: Annotated[
        Generator,
        typer.Option(help="Load generator: librdkafka's C functions, or plain Python calls as a fallback."),
    ] = Generator.NATIVE,  # type: ignore[attr-defined]
    plot: Annotated[bool, typer.Option("--plot", help="Draw the latency distribution in text.")] = False,
    png: Annotated[Path | None, typer.Option(metavar="FILE", help="Draw it as a picture.")] = None,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Measure one producer config: how fast, how late, and what bound it.

    \b
    Examples:
        tuner bench
        tuner bench --config producer.properties --record-bytes 100 --bootstrap broker:9092
        tuner bench -X linger.ms=20 -X compression.type=lz4 --rate 20000
        tuner bench --record-bytes 100:70,1000:25,10000:5 --seconds 30 --json
    """
    measured = ProducerConfig.parse(options.config_values(config, pairs or []))
    workload = Workload(
        record_sizes=RecordSizes.parse(record_bytes),
        key_bytes=key_bytes,
        compressibility_ratio=compressibility,
        partitions=partitions,
        replication=replication,
        warmup_s=warmup,
        measured_s=seconds,
        rate_records_per_s=_rate(load, rate),
        seed=seed,
    )
    check_record(measured, workload.record_sizes.largest_bytes, key_bytes or None)
    limits = Limits(max_bytes=options.parse_size(max_bytes))
    target = options.target_of(bootstrap, command_config, container=container, brokers=brokers, topic=topic, like=like)
    if png is not None:
        _check_picture(png)
    silent = quiet or as_json
    with open_session(target, (lambda _: None) if silent else say) as session:
        if session.swept and not silent:
            say(f"deleted {len(session.swept)} topics that an earlier run left behind")
        runner = session.runner(str(generator), limits)
        runs: list[Measurement] = []
        for number in range(repeat):
            if silent:
                runs.append(runner.run(measured, workload, go_on))
                continue
            title = f"run {number + 1} of {repeat}" if repeat > 1 else "measuring"
            with live_view(title) as watch:
                runs.append(runner.run(measured, workload, watch))
    if as_json:
        records = [measurement_record(run) for run in runs]
        whole = (
            records[0] if repeat == 1 else {"schema_version": SCHEMA_VERSION, "kind": "measurements", "runs": records}
        )
        typer.echo(json.dumps(whole, indent=2))
    else:
        print_measurement(runs[-1], bootstrap or "HOST:9092", command_config, plot=plot)
        if repeat > 1:
            print_spread(runs)
    if png is not None:
        _draw(runs, png)


def _rate(load: Load | None, rate: float | None) -> float | None:
    if load is Load.PACED and rate is None:
        raise typer.BadParameter("--load paced needs --rate: how many records per second to offer")
    if load is Load.SATURATE and rate is not None:
        raise typer.BadParameter("--load saturate sends as fast as it can, so --rate can't be given with it")
    return rate


def _check_picture(png: Path) -> None:
    if png.suffix.lower() not in {".png", ".svg", ".pdf"}:
        raise typer.BadParameter(f"a picture's name must end in .png, .svg or .pdf, but got {png}")
    if not png.absolute().parent.is_dir():
        raise typer.BadParameter(f"the picture's folder must exist, but {png.absolute().parent} does not")


def _draw(runs: list[Measurement], png: Path) -> None:
    # Deferred: matplotlib takes half a second to import.
    from tuner.present.plots import draw_latency

    draw_latency(runs, png)
    say(f"picture written to {png}")
