"""The options of `tuner confirm`, with and without `--server`, and those that `tuner run` has, too."""

from dataclasses import dataclass
from typing import Annotated, Any

import typer

from tuner.cli.options.workload_options import Default, Panel
from tuner.model.goals import Goal


def max_rounds_option(least: int, default: str, panel: Panel = None, uncertain: str = "gain") -> Any:
    """Return the option for the maximum number of rounds.

    Args:
        least: The smallest number that the user may give.
        default: The default of the option, in words.
        panel: The panel of the help that shows the option; None for the panel of all other options.
        uncertain: The quantity for which further rounds are measured, in words.
    """
    return typer.Option(
        min=least,
        help=f"Maximum number of rounds, used where the {uncertain} is still uncertain.",
        show_default=default,
        rich_help_panel=panel,
    )


def width_ratio_option(default: Default, panel: Panel = None, example: str = "0.05") -> Any:
    """Return the option for the width of the interval at which the rounds end; see `max_rounds_option` for the rest."""
    return typer.Option(
        min=0.001,
        help=f"Largest width of the gain's confidence interval, as a share of the gain, such as {example}. Rounds are "
        "added until the interval is narrower or --max-rounds is reached.",
        show_default=default,
        rich_help_panel=panel,
    )


def undo_rounds_option(default: str, panel: Panel = None) -> Any:
    """Return the option for the rounds that show what each change brings; see `max_rounds_option` for the arguments."""
    return typer.Option(
        min=0,
        help="Number of rounds that measure copies of a winner, each with one property set back to the baseline's "
        "value. They show what each change brings.",
        show_default=default,
        rich_help_panel=panel,
    )


@dataclass(frozen=True, kw_only=True)
class ConfirmOptions:
    """The options that `tuner confirm` has with and without a service."""

    goals: Annotated[
        list[Goal] | None,
        typer.Option(
            "--goal",
            help="What is confirmed: the winner for throughput, latency or both (balanced). The option may be "
            "repeated.",
            show_default="confirm.goals of the study file",
        ),
    ] = None
    rounds: Annotated[
        int | None,
        typer.Option(
            min=2,
            help="Minimum number of rounds. One round measures the baseline and each winner once.",
            show_default="confirm.rounds of the study file",
        ),
    ] = None
    max_rounds: Annotated[int | None, max_rounds_option(2, "confirm.max_rounds of the study file")] = None
    width_ratio: Annotated[float | None, width_ratio_option("confirm.width_ratio of the study file")] = None
    undo_rounds: Annotated[int | None, undo_rounds_option("confirm.undo_rounds of the study file")] = None
