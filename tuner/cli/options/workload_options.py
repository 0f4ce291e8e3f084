"""Options of a load that several commands have, each with its help text. The commands show them in different panels."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any, Final

import typer

from runners.errors import WorkloadRefused
from runners.reporting import counted
from runners.runner import Limits
from runners.workload import RecordSizes
from search_spaces.client import client_of
from search_spaces.errors import UnknownClient
from tuner.cli.options.common_options import as_usage_error, size_of

Panel = str | None
"""The panel of the help in which an option is shown; None for the panel of all other options."""
Default = str | bool
"""The default of an option in words; True to show the default of the parameter."""
_NAMES: Final = {
    "key_bytes": "--key-bytes",
    "different_keys": "--different-keys",
    "most_frequent_key_ratio": "--most-frequent-key",
    "compressibility_ratio": "--compressibility",
    "partitions": "--partitions",
    "replication": "--replication",
    "consumers": "--consumers",
    "warmup_s": "--warmup",
    "measured_s": "--seconds",
    "rate_records_per_s": "--rate",
    "peak_ratio": "--peak",
}
"""The option for each value of a load."""
_TWICE: Final = ", at full speed and again at the fixed rate"


def parse_client(text: str) -> str:
    """Return the value of an option for the client, if it names a client.

    Raises:
        typer.BadParameter: There is no such client, or no such version of it.
    """
    with as_usage_error(UnknownClient):
        client_of(text)
    return text


def parse_record_sizes(text: str) -> str:
    """Return the value of an option for one record size or mix of sizes, if records can have it.

    Raises:
        typer.BadParameter: The text is no size and no mix, or a size or weight is out of range.
    """
    with as_usage_error(WorkloadRefused):
        RecordSizes.parse(text)
    return text


def client(which: str = "that is measured", also: str = "", *, default: Default = True, panel: Panel = None) -> Any:
    """Return the option for the client.

    Args:
        which: Which client it is, in words.
        also: What the help text says at its end, after a blank.
        default: See `Default`.
        panel: See `Panel`.
    """
    return typer.Option(
        metavar="librdkafka|java|java:VERSION",
        parser=parse_client,
        help=f"The client {which}. java is the newest known version of Kafka's Java producer; java:3.9.1 is version "
        f"3.9.1.{also}",
        show_default=default,
        rich_help_panel=panel,
    )


MeasuredClient = Annotated[str, client()]


def record_sizes(panel: Panel = None, default: Default = True) -> Any:
    """Return the option for a record size or a mix of sizes."""
    return typer.Option(
        metavar="N|N:W,...",
        parser=parse_record_sizes,
        help="Bytes of a record's value, such as 1000 or 64KiB, or a mix of sizes with weights, such as "
        "100:70,1000:30.",
        show_default=default,
        rich_help_panel=panel,
    )


def key_bytes(panel: Panel, default: Default = True) -> Any:
    """Return the option for the size of the keys."""
    return typer.Option(help="Bytes of a record's key; 0 sends no keys.", show_default=default, rich_help_panel=panel)


def compressibility(panel: Panel, default: Default = True) -> Any:
    """Return the option for the compressibility of the values."""
    return typer.Option(
        help="Share of each value that compression removes, from 0 (random bytes) to 0.99.",
        show_default=default,
        rich_help_panel=panel,
    )


def partitions(panel: Panel = None, default: Default = True) -> Any:
    """Return the option for the partitions of the topics that the command creates."""
    return typer.Option(help="Partitions of each topic that is created.", show_default=default, rich_help_panel=panel)


def replication(panel: Panel = None, default: Default = True) -> Any:
    """Return the option for the replicas of the topics that the command creates."""
    return typer.Option(
        help="Replicas of each partition of the created topics.", show_default=default, rich_help_panel=panel
    )


def seed(panel: Panel) -> Any:
    """Return the option for the seed of the payload."""
    return typer.Option(min=0, help="Seed of the random bytes in the records.", rich_help_panel=panel)


def seconds(*names: str, panel: Panel = None, twice: bool = False, default: Default = True) -> Any:
    """Return the option for the measured seconds.

    Args:
        names: The names of the option; by default the name of the parameter.
        panel: See `Panel`.
        twice: Whether the command measures twice: at full speed and at the fixed rate.
        default: See `Default`.
    """
    text = f"Seconds of load that are measured{_TWICE if twice else ''}."
    return typer.Option(*names, help=text, show_default=default, rich_help_panel=panel)


def warmup(panel: Panel = None, *, twice: bool = False, default: Default = True) -> Any:
    """Return the option for the seconds before the measurement; see `seconds` for the arguments."""
    text = f"Seconds of load before the measurement{_TWICE if twice else ''}."
    return typer.Option(help=text, show_default=default, rich_help_panel=panel)


def max_bytes(panel: Panel = None) -> Any:
    """Return the option for the largest number of bytes that one measurement may send."""
    return typer.Option(
        metavar="SIZE",
        help="The highest number of bytes that one measurement may send. "
        "Before a measurement sends more, the command ends with exit code 4.",
        rich_help_panel=panel,
    )


def limits_of(max_bytes: str, largest_bytes: int) -> Limits:
    """Return the limits of a measurement.

    Args:
        max_bytes: The value of `--max-bytes`, such as `50GB`.
        largest_bytes: Bytes of the largest record that the measurement sends.

    Raises:
        typer.BadParameter: The text is not a size, or not even one record is allowed.
    """
    most = size_of("--max-bytes", max_bytes)
    if most < largest_bytes:
        raise typer.BadParameter(
            f"--max-bytes must allow at least one record of {largest_bytes:,} bytes, but got {most:,}"
        )
    return Limits(max_bytes=most)


def check_consumers(consumers: int, partitions: int) -> None:
    """Check that each consumer gets a partition of a topic that the tuner creates.

    Raises:
        typer.BadParameter: There are fewer partitions than consumers.
    """
    if consumers > partitions:
        raise typer.BadParameter(
            f"each consumer needs a partition of its own, but got {counted(consumers, 'consumer')} and "
            f"{counted(partitions, 'partition')}; raise --partitions, or lower --consumers"
        )


@contextmanager
def named_by_option() -> Iterator[None]:
    """Run the block, which checks a load, and name its values by their options in an error message.

    Raises:
        WorkloadRefused: The error from the block.
    """
    try:
        yield
    except WorkloadRefused as error:
        text = re.sub(rf"\b({'|'.join(_NAMES)})\b", lambda found: _NAMES[found[0]], str(error))
        raise WorkloadRefused(text) from None
