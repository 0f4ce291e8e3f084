"""`tuner predict` computes what a config would do. It uses the measurements of a study, and sends nothing."""

from functools import partial
from pathlib import Path
from textwrap import fill
from typing import Annotated, Final

import typer

from search_spaces.files.properties_file import named_source
from tuner.cli.options import common_options
from tuner.cli.options.options_from_dataclass import with_options
from tuner.cli.options.predict_options import PredictOptions, refuse_unpredicted, refused_by_option
from tuner.cli.output import Force, check_picture, print_result, write_picture
from tuner.prediction.prediction_source import read_source
from tuner.prediction.question import PredictionRequest
from tuner.present.console import OUT, say, warn_of_each
from tuner.present.predictions.prediction_view import (
    IN_INTERVAL,
    prediction_json,
    prediction_lines,
)
from tuner.storage.locations import find_study

_HEADING_LETTERS: Final = 90
"""How many letters of its heading a picture is wide."""


@with_options()
def predict(
    study: common_options.Study,
    options: PredictOptions,
    png: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="With --sweep: also draw throughput and latency as a picture: .png, .svg or .pdf."
        ),
    ] = None,
    force: Force = False,
    as_json: common_options.Json = False,
) -> None:
    """Predict what a config would do, from what a study has measured, without sending anything.

    A model of producer, network and broker is fitted to the trials of the study or experiment. Each metric has an
    interval: about 9 of 10 single measurements lie in it. The command ends with exit code 2 if the trials do not cover
    what it should predict: if no trial had this codec, acks or replication factor, or if the record size or the number
    of partitions or producers is very different.

    \b
    Examples:
        tuner predict overnight
        tuner predict overnight --what-if linger.ms=20
        tuner predict overnight -X linger.ms=20 -X compression.type=lz4
        tuner predict overnight --record-bytes 1000 --rate 50000 --partitions 12
        tuner predict overnight --rate 50000 --disk 2TB --brokers 3 --retention 7d
        tuner predict overnight --sweep linger.ms=0,1,5,20,100 --png linger.png
    """
    limits = options.limits()
    if png is not None and options.sweep is None:
        raise typer.BadParameter("--png draws a sweep, so it needs --sweep")
    check_picture(png, force=force)
    changes = options.changes()
    source = read_source(find_study(study), options.record_bytes)
    begin = source.config
    if options.config is not None:
        begin = common_options.producer_config(options.config, [], begin.client)
    with named_source("-X"):
        begin.updated(changes.properties)
    with refused_by_option():
        request = PredictionRequest.of(source, changes, begin, options.sweep, limits)
    if as_json:  # the text output begins with these warnings
        warn_of_each(source.warnings)
    _show(request, png, force=force, as_json=as_json)


def _show(request: PredictionRequest, png: Path | None, *, force: bool, as_json: bool) -> None:
    source = request.source
    calibration = source.calibrated()
    predictions = request.predictions(calibration)
    record = prediction_json(request, calibration, predictions)
    refuse_unpredicted(record)
    print_result(record, lambda: OUT.show(*prediction_lines(request, calibration, predictions)), as_json=as_json)
    if png is not None and request.setting is not None:
        # Imported here, because importing matplotlib takes half a second.
        from tuner.present.report.sweep_picture import draw_sweep

        lines = [*source.warnings, f"predicted from {source.name}; {IN_INTERVAL}"]
        heading = "\n".join(fill(line, _HEADING_LETTERS) for line in lines)
        write_picture(png, partial(draw_sweep, request.setting, predictions, heading=heading), force=force)
        say(f"picture written to {png}")
