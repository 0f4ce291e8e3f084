"""What several verbs share: options, how their texts become values, and how results become JSON."""

import json
from pathlib import Path
from typing import Annotated

import typer

from search_spaces.connection import ConnectionConfig
from search_spaces.properties_file import parse_pairs, read_properties
from tuner.model.quantities import size_bytes
from tuner.model.target import Target


def parse_size(text: str) -> int:
    """Bytes of a text such as `64KiB`, `50GB` or `1000`."""
    try:
        return size_bytes(text)
    except ValueError as error:
        raise typer.BadParameter(f"{error}, but got {text!r}") from None


def check_folder(file: Path | None, what: str = "file") -> None:
    """Refuse a file that could not be written for want of its folder; None is no file to be written.

    Raises:
        typer.BadParameter: There is no such folder.
    """
    if file is not None and not file.absolute().parent.is_dir():
        raise typer.BadParameter(f"the {what}'s folder must exist, but {file.absolute().parent} does not")


def print_json(record: object, indent: int | None = 2) -> None:
    """Print a result as one JSON document."""
    typer.echo(json.dumps(record, indent=indent))


Study = Annotated[str, typer.Argument(metavar="STUDY", help="Name of a study, or its folder.")]
Bootstrap = Annotated[
    str | None,
    typer.Option(
        metavar="HOST:PORT[,HOST:PORT]",
        help="Address of your cluster. Without it, a real Kafka broker is started on this machine for the run.",
        rich_help_panel="Target",
    ),
]
CommandConfig = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Properties file with how to connect to it (security.protocol, sasl.*, ssl.*); "
        "see docs/how-to/security.md.",
        rich_help_panel="Target",
    ),
]
Container = Annotated[
    str | None,
    typer.Option(
        metavar="IMAGE",
        help="Run the broker in a container of this image, such as apache/kafka:4.1.0; needs a Docker engine.",
        rich_help_panel="Target",
    ),
]
Brokers = Annotated[
    int,
    typer.Option(min=1, max=9, help="Brokers to start when there is no --bootstrap.", rich_help_panel="Target"),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print results and errors only.")]
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON on standard output, nothing else there.")]


def target_of(
    bootstrap: str | None,
    command_config: Path | None,
    *,
    container: str | None = None,
    brokers: int = 1,
    topic: str | None = None,
    like: str | None = None,
) -> Target:
    """The target that the options describe.

    Raises:
        typer.BadParameter: Options that need `--bootstrap` stand without it, or exclude each other.
        ConfigError: The connection file is wrong; the message names file, line and key.
    """
    if topic is not None and like is not None:
        raise typer.BadParameter("--topic writes to that topic as it is, so --like can't be given with it")
    if bootstrap is None:
        for option, value in (("--command-config", command_config), ("--topic", topic), ("--like", like)):
            if value is not None:
                raise typer.BadParameter(f"{option} is about a cluster of yours: give its address with --bootstrap")
        return Target(container=container, brokers=brokers)
    if container is not None:
        raise typer.BadParameter("--bootstrap names a cluster that runs, so --container can't be given with it")
    connection = ConnectionConfig.parse(read_properties(command_config)).values if command_config else {}
    connection.pop("bootstrap.servers", None)
    return Target(bootstrap=bootstrap, connection=connection, topic=topic, like=like)


def config_values(file: Path | None, pairs: list[str]) -> dict[str, str]:
    """Producer properties of `--config` and `-X`; the latter win.

    Raises:
        ConfigError: The file or a pair can't be read.
    """
    values = read_properties(file) if file else {}
    return {**values, **parse_pairs(pairs)}
