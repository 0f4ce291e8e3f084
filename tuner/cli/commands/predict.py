"""`tuner predict` computes what a config would do. It uses the measurements of a study, and sends nothing."""

from dataclasses import replace
from functools import partial
from pathlib import Path
from textwrap import fill
from typing import Annotated, Final

import typer

from search_spaces.configs.producer_config import ProducerConfig
from search_spaces.files.properties_file import parse_pairs
from tuner.cli.options import common_options as options
from tuner.cli.options.options_from_dataclass import with_options
from tuner.cli.options.predict_options import PredictOptions
from tuner.cli.output import Force, check_picture, write_picture
from tuner.cli.printing import print_json
from tuner.model.errors import NothingToTell
from tuner.prediction.question import Changes, Question, Sweep, side_by_side
from tuner.prediction.retention import Retention
from tuner.prediction.source import Source, read_source
from tuner.present.console import OUT, say, warn
from tuner.present.predictions.prediction_view import (
    IN_INTERVAL,
    caveats,
    prediction_json,
    prediction_lines,
    sweep_lines,
)
from tuner.storage.home import find_study

_HEADING_LETTERS: Final = 90
"""How many letters of its heading a picture is wide."""


@with_options(PredictOptions)
def predict(
    study: options.Study,
    asked: PredictOptions,
    png: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="With --sweep: also draw throughput and latency as a picture: .png, .svg or .pdf."
        ),
    ] = None,
    force: Force = False,
    as_json: options.Json = False,
) -> None:
    """Predict what a config would do, from what a study has measured, without sending anything.

    A model of producer, network and broker is fitted to the trials of the study or experiment. Each metric has an
    interval: about 9 of 10 single measurements lie in it. The command refuses to predict a codec, acks or a
    replication factor that no trial had, or records of a very different size, and then ends with exit code 2.

    \b
    Examples:
        tuner predict overnight
        tuner predict overnight --what-if linger.ms=20
        tuner predict overnight -X linger.ms=20 -X compression.type=lz4
        tuner predict overnight --record-bytes 1000 --rate 50000 --partitions 12
        tuner predict overnight --rate 50000 --disk 2TB --brokers 3 --retention 7d
        tuner predict overnight --sweep linger.ms=0,1,5,20,100 --png linger.png
    """
    limits = asked.limits()
    if png is not None and asked.sweep is None:
        raise typer.BadParameter("--png draws a sweep, so it needs --sweep")
    check_picture(png, force=force)
    source = read_source(find_study(study), asked.record_bytes)
    begin = Question.of(source)
    if asked.config is not None:
        client = source.config.client
        begin = replace(begin, config=ProducerConfig.parse(options.config_values(asked.config, [], client), client))
    changes = Changes(
        asked.record_bytes,
        asked.rate,
        asked.partitions,
        asked.replication,
        asked.producers,
        asked.compressibility,
        parse_pairs(asked.pairs or []),
    )
    question = begin.changed(changes)
    if limits is not None:
        try:
            limits.check(question.workload)
        except ValueError as error:
            raise typer.BadParameter(f"{error} (--rate, --brokers)") from None
    for caveat in caveats(source) if as_json else ():  # the text begins with them
        warn(caveat)
    if asked.sweep is None:
        _show(source, question, limits, as_json=as_json)
        return
    try:
        wanted = Sweep.of(question, asked.sweep, changes)
    except ValueError as error:
        raise typer.BadParameter(f"--sweep: {error}") from None
    _show_sweep(source, wanted, png, force=force, as_json=as_json)


def _show(source: Source, asked: Question, limits: Retention | None, *, as_json: bool) -> None:
    calibration = source.calibrated()
    told = side_by_side(source, asked, calibration)
    *_, wanted = told.values()
    if isinstance(wanted, str):
        raise NothingToTell(f"{source.name} can't predict this: {wanted}")
    if as_json:
        print_json(prediction_json(source, calibration, told, limits))
        return
    OUT.show(*prediction_lines(source, calibration, told, limits))


def _show_sweep(source: Source, sweep: Sweep, png: Path | None, *, force: bool, as_json: bool) -> None:
    calibration = source.calibrated()
    told = sweep.answers(source, calibration)
    reasons = [each for each in told.values() if isinstance(each, str)]
    if len(reasons) == len(told):
        raise NothingToTell(f"{source.name} can't predict this: {reasons[-1]}")
    if as_json:
        print_json(prediction_json(source, calibration, told, setting=sweep.setting))
    else:
        OUT.show(*sweep_lines(source, sweep.setting, told))
    if png is not None:
        # Imported here, because importing matplotlib takes half a second.
        from tuner.present.report.sweep_picture import draw_sweep

        lines = [*caveats(source), f"predicted from {source.name}; {IN_INTERVAL}"]
        heading = "\n".join(fill(line, _HEADING_LETTERS) for line in lines)
        write_picture(png, partial(draw_sweep, sweep.setting, told, heading=heading), force=force)
        say(f"picture written to {png}")
