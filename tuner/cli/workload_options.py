"""Options of a load that several commands have, each with its help text. The commands show them in different panels."""

from typing import Annotated, Any

import typer

MeasuredClient = Annotated[
    str,
    typer.Option(
        metavar="librdkafka|java|java:VERSION",
        help="The client that is measured. java is the newest known version of Kafka's Java producer; java:3.9.1 "
        "is version 3.9.1.",
    ),
]


def record_sizes(panel: str) -> Any:
    """Return the option for a record size or a mix of sizes, shown in a panel of the help."""
    return typer.Option(
        metavar="N|N:W,...",
        help="Bytes of a record's value, or a mix of sizes with weights, such as 100:70,1000:30.",
        rich_help_panel=panel,
    )


def key_bytes(panel: str) -> Any:
    """Return the option for the size of the keys, shown in a panel of the help."""
    return typer.Option(help="Bytes of a record's key; 0 sends no keys.", rich_help_panel=panel)


def compressibility(panel: str) -> Any:
    """Return the option for the compressibility of the values, shown in a panel of the help."""
    return typer.Option(
        help="Share of each value that compression removes, from 0 (random bytes) to 0.99.", rich_help_panel=panel
    )


def partitions(panel: str) -> Any:
    """Return the option for the partitions of the one topic that the command creates, shown in a panel of the help."""
    return typer.Option(help="Partitions of the topic that is created.", rich_help_panel=panel)


def replication(panel: str) -> Any:
    """Return the option for the replicas of the one topic that the command creates, shown in a panel of the help."""
    return typer.Option(help="Replicas of each partition of the created topic.", rich_help_panel=panel)


def seed(panel: str) -> Any:
    """Return the option for the seed of the payload, shown in a panel of the help."""
    return typer.Option(min=0, help="Seed of the random bytes in the records.", rich_help_panel=panel)


def seconds(*names: str, panel: str | None = None) -> Any:
    """Return the option for the measured seconds.

    Args:
        names: The names of the option; by default the name of the parameter.
        panel: The panel of the help in which it is shown; None for the panel of all other options.
    """
    return typer.Option(*names, help="Seconds of load that are measured.", rich_help_panel=panel)


def warmup(panel: str | None = None) -> Any:
    """Return the option for the seconds before the measurement, shown in a panel of the help."""
    return typer.Option(help="Seconds of load before the measurement.", rich_help_panel=panel)
