"""Options that several commands share, and the parsing of their values."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeVar

import typer

from runners.quantities import clock_time, duration_s, size_bytes
from search_spaces.client import Client
from search_spaces.configs.producer_config import ProducerConfig
from search_spaces.files.producer_file import FileClient, read_producer_file
from search_spaces.files.properties_file import named_source, parse_pairs
from search_spaces.properties.catalogue import Role
from search_spaces.properties.values import canonical_values
from tuner.model import spec
from tuner.model.errors import RequestRefused
from tuner.present.console import say

if TYPE_CHECKING:  # they import much, which the options of other commands must not wait for
    from tuner.results.study_results import SizeResults, StudyResults

Value = TypeVar("Value")


def _parser(read: Callable[[str], Value], advice: str = "") -> Callable[[str], Value]:
    """Return a function that reads the value of an option as `read` does, and raises its error as `BadParameter`."""

    def parse(text: str) -> Value:
        try:
            return read(text)
        except ValueError as error:
            raise typer.BadParameter(f"{error}, but got {text!r}{advice}") from None

    return parse


parse_size: Final = _parser(size_bytes)
"""Returns the number of bytes that a text such as `64KiB`, `50GB` or `1000` stands for."""
parse_until: Final = _parser(clock_time, "; put a date and its time in quotes, such as --until '2026-11-25 07:00'")
"""Returns a local time, such as `07:00` or `2026-11-25 07:00`, in the form that study files have."""
parse_duration: Final = _parser(duration_s)
"""Returns the seconds that a text such as `30s`, `5m` or `2h` stands for."""


def size_of(option: str, text: str) -> int:
    """Return the number of bytes that the value of an option stands for.

    Args:
        option: The option, such as `--max-bytes`, which an error names.
        text: Its value, such as `64KiB`.

    Raises:
        typer.BadParameter: The text is not a size.
    """
    with as_usage_error(typer.BadParameter, option=option):
        return parse_size(text)


def parse_tracking_uri(text: str) -> str:
    """Return the address of MLflow, if MLflow supports its scheme.

    Raises:
        typer.BadParameter: It does not.
    """
    # Imported here, because it imports much, which other commands must not wait for.
    from tuner.tracking.connection import TrackingError, check_uri

    with as_usage_error(TrackingError):
        check_uri(text)
    return text


def selected_sizes(results: "StudyResults", record_bytes: str | None) -> tuple["SizeResults", ...]:
    """Return the results of one record size; of all record sizes if `record_bytes` is None.

    Raises:
        typer.BadParameter: The study has no such record size.
    """
    with as_usage_error(ValueError, option="--record-bytes"):
        return results.selected_sizes(record_bytes)


@contextmanager
def as_usage_error(*kinds: type[Exception], option: str | None = None) -> Iterator[None]:
    """Turn errors of these kinds in the block into errors about the command line.

    Args:
        kinds: The kinds of errors.
        option: The option that the message names; None if the error's own text says enough.

    Raises:
        typer.BadParameter: The block raised an error of one of the kinds.
    """
    try:
        yield
    except kinds as error:
        raise typer.BadParameter(str(error), param_hint=option) from None


Study = Annotated[
    str, typer.Argument(metavar="STUDY", help="Name of a study, such as overnight, or its folder, studies/overnight.")
]
MixEnvironments = Annotated[
    bool,
    typer.Option(
        "--mix-environments",
        help="Continue although earlier measurements were made on another host, with another version of the client, or "
        "on another cluster. The results then say so.",
    ),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print only results, warnings and errors.")]
Json = Annotated[
    bool,
    typer.Option("--json", help="Print the result as JSON. Standard output then holds nothing else."),
]
TrackingUri = Annotated[
    str | None,
    typer.Option(
        metavar="URI",
        parser=parse_tracking_uri,
        help="Address of the MLflow server, such as http://mlflow:5000.",
        show_default="the study's tracking.uri, else MLFLOW_TRACKING_URI, else studies/mlflow.db",
    ),
]
Csv = Annotated[bool, typer.Option("--csv", help="Print the table as CSV.")]

ROUNDS: Final = ("--rounds", "--max-rounds")
"""The options for the minimum and the maximum number of rounds."""


def executor(tried: str = "the command", default: str | bool = True) -> Any:
    """Return the option for where the benchmarks run.

    Args:
        tried: What a user can try out without Kafka, in words, for the help.
        default: What holds without the option, in words; True if it is the default of the parameter.
    """
    return typer.Option(
        help="Where the benchmarks run: ray in Ray workers, local without Ray. With simulated, a model computes the "
        f"numbers, to try {tried} without Kafka.",
        show_default=default,
    )


def check_round_options(rounds: int | None, max_rounds: int | None) -> None:
    """Check that `--max-rounds` allows the rounds of `--rounds`; None stands for an option that was not given.

    Raises:
        typer.BadParameter: The maximum is too low.
    """
    with as_usage_error(RequestRefused):
        spec.check_rounds(rounds, max_rounds, ROUNDS)


def config_of_file(
    path: Path, written_for: FileClient, client: Client, *, silent: bool, advice: str = ""
) -> ProducerConfig:
    """Return the config in a producer's properties file, and print notes on how it was read unless `silent` is set.

    The other arguments and the errors are those of `read_producer_file`; an error names the file.
    """
    with named_source(str(path)):
        file = read_producer_file(path, written_for, client, advice=advice)
        config = file.config
    for note in () if silent else file.notes:
        say(note)
    return config


def producer_config(file: Path | None, pairs: list[str], client: Client, option: str = "-X") -> ProducerConfig:
    """Return the producer config of `--config` and `-X` for a client. A value given with `-X` overrides the file.

    Args:
        file: The file; None if there is none.
        pairs: The values of the option, as `KEY=VALUE`.
        client: The client.
        option: The option that gives the pairs, which an error names.

    Raises:
        ConfigError: The file or one of its entries can't be used, a pair is not of the form KEY=VALUE, or properties
            break a rule together.
    """
    values: dict[str, str] = {}
    if file:
        with named_source(file.name):
            producer_file = read_producer_file(file, client=client, complete=False)
        values = dict(producer_file.values)
        for note in producer_file.notes:
            say(note)
    with named_source(option):
        overrides = canonical_values(client.catalogue, parse_pairs(pairs, option), Role.PRODUCER)
    sources = ([file.name] if file else []) + ([option] if overrides else [])
    with named_source(" with ".join(sources)):
        return ProducerConfig.parse({**values, **overrides}, client)
