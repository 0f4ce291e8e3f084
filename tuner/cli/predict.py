"""`tuner predict` computes what a config would do. It uses the measurements of a study, and sends nothing."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from runners.workload import RecordSizes, Workload
from search_spaces.producer_config import ProducerConfig
from search_spaces.properties_file import parse_pairs
from tuner.cli import options
from tuner.model.errors import NothingToTell
from tuner.prediction.calibration import calibrate
from tuner.prediction.predicting import Prediction, outside
from tuner.prediction.predicting import predict as prediction_of
from tuner.prediction.source import Source, source_in
from tuner.present.console import OUT, warn
from tuner.present.prediction_view import prediction_lines, prediction_record, sweep_lines
from tuner.present.wording import SIMULATED
from tuner.storage.home import find_study

_LOAD: Final = ("record_bytes", "rate", "partitions", "replication", "compressibility")
_MOST_POINTS: Final = 1_000
_SHOWN: Final = ("mb_per_s", "latency_p50_ms", "latency_p99_ms", "batch_records")


def predict(
    study: options.Study,
    pairs: Annotated[
        list[str] | None,
        typer.Option(
            "-X", metavar="KEY=VALUE", help="A producer property to change, such as linger.ms=20. It may be repeated."
        ),
    ] = None,
    config: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Properties file of a producer.",
            show_default="the recommended config of the study, else its baseline",
        ),
    ] = None,
    record_bytes: Annotated[
        str | None, typer.Option(metavar="N", help="Bytes of a record's value.", show_default="the first of the study")
    ] = None,
    rate: Annotated[
        float | None,
        typer.Option(min=1, metavar="N", help="Records per second, for the latency.", show_default="the study's"),
    ] = None,
    partitions: Annotated[int | None, typer.Option(min=1, metavar="N", help="Partitions of the topic.")] = None,
    replication: Annotated[int | None, typer.Option(min=1, metavar="N", help="Replicas of each partition.")] = None,
    compressibility: Annotated[
        float | None,
        typer.Option(min=0, max=0.99, metavar="RATIO", help="Share of each value that compression removes."),
    ] = None,
    sweep: Annotated[
        str | None,
        typer.Option(
            metavar="SETTING=VALUES",
            help="Predict for each value of a property or of a load option: linger.ms=0,5,20 or partitions=1..24.",
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
        tuner predict overnight --sweep linger.ms=0,1,5,20,100
    """
    source = source_in(find_study(study), record_bytes)
    base = source.config
    if config is not None:
        base = ProducerConfig.parse(options.config_values(config, [], base.client), base.client)
    load = _Load(record_bytes, rate, partitions, replication, compressibility)
    asked = _Asked(base, source.workload).with_load(load).with_properties(parse_pairs(pairs or []))
    if source.simulated:
        warn(SIMULATED)
    if sweep is None:
        _show(source, asked, as_json=as_json)
    else:
        _show_sweep(source, asked, sweep, as_json=as_json)


@dataclass(frozen=True, slots=True)
class _Load:
    """The options that change the load; None keeps what the study has."""

    record_bytes: str | None
    rate: float | None
    partitions: int | None
    replication: int | None
    compressibility: float | None


@dataclass(frozen=True, slots=True)
class _Asked:
    """A config under a load that a prediction is asked for."""

    config: ProducerConfig
    workload: Workload

    def with_load(self, load: _Load) -> "_Asked":
        changes: dict[str, Any] = {
            "record_sizes": None if load.record_bytes is None else RecordSizes.parse(load.record_bytes),
            "rate_records_per_s": load.rate,
            "partitions": load.partitions,
            "replication": load.replication,
            "compressibility_ratio": load.compressibility,
        }
        given = {name: value for name, value in changes.items() if value is not None}
        return _Asked(self.config, replace(self.workload, **given))

    def with_properties(self, values: Mapping[str, str]) -> "_Asked":
        if not values:
            return self
        changed = ProducerConfig.parse({**self.config.values, **values}, self.config.client)
        return _Asked(changed, self.workload)

    def with_setting(self, name: str, value: str) -> "_Asked":
        """Return the same with another value of a load option or of a producer property."""
        if name not in _LOAD:
            return self.with_properties({name: value})
        kind: Any = {"record_bytes": str, "partitions": int, "replication": int}.get(name, float)
        try:
            return self.with_load(_Load(**{**dict.fromkeys(_LOAD), name: kind(value)}))
        except ValueError:
            raise typer.BadParameter(f"--sweep: {name} must be a number, but got {value!r}") from None


def _show(source: Source, asked: _Asked, *, as_json: bool) -> None:
    reasons = outside(source.observations, asked.config, asked.workload)
    if reasons:
        raise NothingToTell(f"the measurements of {source.name} can't tell: {'; '.join(reasons)}")
    calibration = calibrate(source.observations, source.start)
    told = {"asked": prediction_of(calibration, asked.config, asked.workload)}
    if (asked.config, asked.workload) == (source.config, source.workload):
        told = {source.named: told["asked"]}
    else:
        told = {source.named: prediction_of(calibration, source.config, source.workload), **told}
    if as_json:
        options.print_json(prediction_record(source, calibration, told))
        return
    for line in prediction_lines(source, calibration, told):
        OUT.print(line, markup=False, soft_wrap=True, highlight=False)


def _show_sweep(source: Source, asked: _Asked, sweep: str, *, as_json: bool) -> None:
    setting, equals, listed = sweep.partition("=")
    if not equals or not listed:
        raise typer.BadParameter(f"--sweep must be SETTING=VALUES, such as linger.ms=0,5,20, but got {sweep!r}")
    name = setting.replace("-", "_")
    setting = name if name in _LOAD else setting
    wanted = {value: asked.with_setting(setting, value) for value in _values(listed)}
    calibration = calibrate(source.observations, source.start)
    told: dict[str, Prediction | str] = {}
    for value, each in wanted.items():
        reasons = outside(source.observations, each.config, each.workload)
        told[value] = "; ".join(reasons) or prediction_of(calibration, each.config, each.workload)
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
