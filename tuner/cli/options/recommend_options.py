"""The options of `tuner recommend` and `tuner explain`, with and without a service.

`tuner cost` and `tuner export` have some of them, too.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from tuner.cli.options import common_options
from tuner.cli.options.workload_options import parse_record_sizes
from tuner.cli.output import Force
from tuner.model.goals import Goal
from tuner.present.export import Format
from tuner.results.recommendations.recommendation import Conditions

RecordBytes = Annotated[
    str | None,
    typer.Option(
        metavar="N|N:W,...",
        parser=parse_record_sizes,
        help="Record size, such as 1000, or mix of sizes, such as 100:70,1000:30.",
        show_default="all of the study",
    ),
]
AskedGoal = Annotated[
    Goal | None,
    typer.Option(
        help="What the config should be best at.",
        show_default="balanced if it is proven, else the proven config with the greatest mean gain",
    ),
]


@dataclass(frozen=True, kw_only=True)
class ExplainOptions:
    """The options that select a recommendation, with and without a service."""

    record_bytes: RecordBytes = None
    goal: AskedGoal = None
    max_p99_ms: Annotated[
        float | None,
        typer.Option(
            "--max-p99-ms",
            min=0,
            metavar="X",
            help="Consider only configs whose p99 latency is at most this many milliseconds, such as 10.",
        ),
    ] = None
    min_mb_per_s: Annotated[
        float | None,
        typer.Option(
            "--min-mb-per-s",
            min=0,
            metavar="Y",
            help="Consider only configs whose throughput is at least this many megabytes per second, such as 50.",
        ),
    ] = None
    allow_loss: Annotated[
        float | None,
        typer.Option(
            "--allow-loss",
            min=0,
            max=1,
            metavar="RATIO",
            help="The part of any objective that a balanced config may give up: 0.1 is 10 %. The output calls a "
            "metric outside the goal 'not worse' or 'at most N % worse' if its loss is at most RATIO.",
            show_default="confirm.allow_loss of the study file",
        ),
    ] = None

    @property
    def conditions(self) -> Conditions:
        """The user's conditions for the config, in addition to the study's own constraints."""
        return Conditions.named(vars(self))


@dataclass(frozen=True, kw_only=True)
class RecommendOptions(ExplainOptions):
    """The options that `tuner recommend` has with and without a service."""

    form: Annotated[
        Format,
        typer.Option(
            "--format",
            help="Format of the output. For people: table. For programs: properties, env, json. For clients built on "
            "librdkafka: librdkafka (JSON). For the Java client: java (properties) and spring; if the study measured "
            "that client, also quarkus, connect, streams, strimzi-connect and strimzi-connector.",
        ),
    ] = Format.TABLE
    as_json: common_options.Json = False
    everything: Annotated[
        bool,
        typer.Option(
            "--all",
            help="Also print the properties of the config that have the client's default value. The formats for the "
            "Java client always print them.",
        ),
    ] = False
    output: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write to this file instead of to standard output.")
    ] = None
    force: Force = False


def chosen_format(form: Format, *, as_json: bool) -> Format:
    """Return the format of the output: `--json` is short for `--format json`.

    Raises:
        typer.BadParameter: Both options were given, and they differ.
    """
    if not as_json:
        return form
    if form not in (Format.TABLE, Format.JSON):
        raise typer.BadParameter(f"--json means --format json, but got --format {form}; leave one of them out")
    return Format.JSON
