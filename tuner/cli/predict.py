"""`tuner predict` computes what a config would do. It uses the measurements of a study, and sends nothing."""

from pathlib import Path
from typing import Annotated, Final

import typer

from search_spaces.producer_config import ProducerConfig
from search_spaces.properties_file import parse_pairs
from tuner.cli import options
from tuner.cli.predict_options import Compressibility, Pairs, Partitions, Rate, RecordBytes, Replication
from tuner.model.errors import NothingToTell
from tuner.prediction.calibration import calibrate
from tuner.prediction.predicting import Disk
from tuner.prediction.question import LOAD_SETTINGS, Changes, Question, side_by_side
from tuner.prediction.source import Source, source_in
from tuner.present.console import OUT, warn
from tuner.present.prediction_view import prediction_lines, prediction_record, sweep_lines
from tuner.present.wording import SIMULATED
from tuner.storage.home import find_study

_MOST_POINTS: Final = 1_000
_SHOWN: Final = ("mb_per_s", "latency_p50_ms", "latency_p99_ms", "batch_records")


def predict(
    study: options.Study,
    pairs: Pairs = None,
    config: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Properties file of a producer.",
            show_default="the recommended config of the study, else its baseline",
        ),
    ] = None,
    record_bytes: RecordBytes = None,
    rate: Rate = None,
    partitions: Partitions = None,
    replication: Replication = None,
    compressibility: Compressibility = None,
    sweep: Annotated[
        str | None,
        typer.Option(
            metavar="SETTING=VALUES",
            help="Predict for each value of a property or of a load option: linger.ms=0,5,20 or partitions=1..24.",
        ),
    ] = None,
    disk: Annotated[
        int | None,
        typer.Option(
            metavar="SIZE",
            parser=options.parse_size,
            help="Size of a broker's disk, such as 2TB, to learn after how long it is full.",
        ),
    ] = None,
    brokers: Annotated[
        int | None,
        typer.Option(
            min=1, metavar="N", help="With --disk: number of brokers that share the records.", show_default="1"
        ),
    ] = None,
    as_json: options.Json = False,
) -> None:
    """Predict what a config would do, from what a study has measured, without sending anything.

    A model of producer, network and broker is fitted to the trials of the study or experiment. Each number has the
    interval in which one measurement would lie with a probability of 95 %. Nothing is told beyond what was measured:
    a codec or a replication factor that no trial had, or records of a very different size. The exit code is then 2.

    \b
    Examples:
        tuner predict overnight
        tuner predict overnight -X linger.ms=20 -X compression.type=lz4
        tuner predict overnight --record-bytes 1000 --rate 50000 --partitions 12
        tuner predict overnight --rate 50000 --disk 2TB --brokers 3
        tuner predict overnight --sweep linger.ms=0,1,5,20,100
    """
    if brokers is not None and disk is None:
        raise typer.BadParameter("--brokers tells how many disks there are, so it needs --disk")
    disks = None if disk is None else Disk(disk, brokers or 1)
    if disks is not None and sweep is not None:
        raise typer.BadParameter("--disk and --sweep exclude each other")
    source = source_in(find_study(study), record_bytes)
    base = source.config
    if config is not None:
        base = ProducerConfig.parse(options.config_values(config, [], base.client), base.client)
    changes = Changes(record_bytes, rate, partitions, replication, compressibility, parse_pairs(pairs or []))
    asked = Question(base, source.workload).changed(changes)
    if disks is not None and asked.workload.rate_records_per_s is None:
        raise typer.BadParameter("--disk needs a rate at which records are stored: give --rate")
    if source.simulated:
        warn(SIMULATED)
    if sweep is None:
        _show(source, asked, disks, as_json=as_json)
    else:
        _show_sweep(source, asked, sweep, as_json=as_json)


def _show(source: Source, asked: Question, disk: Disk | None, *, as_json: bool) -> None:
    calibration = calibrate(source.observations, source.start)
    told = side_by_side(source, asked, calibration)
    for each in told.values():
        if isinstance(each, str):
            raise NothingToTell(f"the measurements of {source.name} can't tell: {each}")
    if as_json:
        options.print_json(prediction_record(source, calibration, told, disk))
        return
    for line in prediction_lines(source, calibration, told, disk):
        OUT.print(line, markup=False, soft_wrap=True, highlight=False)


def _show_sweep(source: Source, asked: Question, sweep: str, *, as_json: bool) -> None:
    setting, equals, listed = sweep.partition("=")
    if not equals or not listed:
        raise typer.BadParameter(f"--sweep must be SETTING=VALUES, such as linger.ms=0,5,20, but got {sweep!r}")
    name = setting.replace("-", "_")
    setting = name if name in LOAD_SETTINGS else setting
    try:
        wanted = {value: asked.changed(Changes.of({setting: value})) for value in _values(listed)}
    except ValueError as error:
        raise typer.BadParameter(f"--sweep: {error}") from None
    calibration = calibrate(source.observations, source.start)
    told = {value: each.answer(source, calibration) for value, each in wanted.items()}
    if as_json:
        options.print_json(prediction_record(source, calibration, told))
        return
    OUT.print(f"{len(source.observations)} measurements of {source.name} calibrate the model", markup=False)
    for line in sweep_lines(setting, _SHOWN, told):
        OUT.print(line, markup=False, soft_wrap=True, highlight=False)


def _values(listed: str) -> list[str]:
    values = [each.strip() for each in listed.split(",")]
    low, dots, high = listed.partition("..")
    if dots and low.isdecimal() and high.isdecimal():
        values = [str(number) for number in range(int(low), min(int(high), int(low) + _MOST_POINTS) + 1)]
    if not all(values) or len(values) > _MOST_POINTS:
        raise typer.BadParameter(f"--sweep takes 1 to {_MOST_POINTS} values, but got {listed!r}")
    return values
