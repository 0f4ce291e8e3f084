"""The options of `tuner verify`, with and without a service."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final

import typer

from search_spaces.files.producer_file import FileClient
from tuner.cli.options import common_options, confirm_options, workload_options
from tuner.model.errors import RequestRefused
from tuner.results.comparisons.verification import check_required_gain, verification_rounds

FILE_CLIENT: Final = "give --file-client java"
"""How the user says that FILE is for the Java producer, in words."""


@dataclass(frozen=True, kw_only=True)
class VerifyOptions:
    """The arguments and options that `tuner verify` has with and without a service."""

    file: Annotated[Path, typer.Argument(metavar="FILE", help="Properties file of the producer config to verify.")]
    against: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Properties file of the baseline.",
            show_default="the client's defaults, or the baseline of --study",
        ),
    ] = None
    study: Annotated[
        str | None,
        typer.Option(
            "--study",
            metavar="STUDY",
            help="Measure as this study did, with its target, workload, phases, fixed rates and baseline.",
        ),
    ] = None
    record_bytes: Annotated[
        str | None,
        typer.Option(
            metavar="N[,N...]",
            help="Record sizes, such as 100,1000. The comparison is made for each size separately.",
            show_default="1000, or all of --study",
        ),
    ] = None
    client: Annotated[
        str | None,
        workload_options.client("that is measured, with both configs", default="librdkafka, or as --study"),
    ] = None
    file_client: Annotated[
        FileClient,
        typer.Option(
            help="The client that FILE is written for. If it is not --client, FILE is translated. auto: the client "
            "that the properties in FILE show, or else --client."
        ),
    ] = FileClient.AUTO
    rounds: Annotated[
        int | None,
        typer.Option(
            min=2,
            show_default="8, or less with a lower --max-rounds",
            help="Minimum number of rounds; there are fewer only if the outcome is certain before that. One round "
            "measures the baseline and the file once.",
        ),
    ] = None
    max_rounds: Annotated[int | None, confirm_options.max_rounds_option(2, "20", uncertain="result")] = None
    width_ratio: Annotated[float, confirm_options.width_ratio_option(True, example="0.1")] = 0.1
    min_gain: Annotated[
        float | None,
        typer.Option(
            metavar="X",
            help="Pass only if the whole confidence interval of every gain is at or above X, such as 1.1. Not with "
            "--tolerance-ratio.",
        ),
    ] = None
    tolerance_ratio: Annotated[
        float,
        typer.Option(min=0, max=0.99, help="How much worse than the baseline a result may be: 0.05 is 5 %."),
    ] = 0.0
    allow_weaker: Annotated[
        bool,
        typer.Option(
            "--allow-weaker",
            help="Only warn, and do not fail, if the file gives a weaker guarantee than the baseline, or if acks=0 on "
            "one side means that latencies can't be compared.",
        ),
    ] = False
    seconds: Annotated[float | None, workload_options.seconds(twice=True, default="10, or as --study")] = None
    warmup: Annotated[float | None, workload_options.warmup(twice=True, default="2, or as --study")] = None


def fewest_and_most_rounds(rounds: int | None, max_rounds: int | None) -> tuple[int, int]:
    """Return the minimum and maximum number of rounds from `--rounds` and `--max-rounds`; None if not given.

    Raises:
        typer.BadParameter: The maximum is below the number of rounds.
    """
    with common_options.as_usage_error(RequestRefused):
        return verification_rounds(rounds, max_rounds, common_options.ROUNDS)


def check_gain(options: VerifyOptions) -> None:
    """Check `--min-gain` and `--tolerance-ratio`.

    Raises:
        typer.BadParameter: A number is out of its range, or both options were given.
    """
    with common_options.as_usage_error(RequestRefused):
        check_required_gain(options.min_gain, options.tolerance_ratio, ("--min-gain", "--tolerance-ratio"))
