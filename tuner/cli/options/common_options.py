"""Options that several commands share, and the parsing of their values."""

import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeVar

import typer

from runners.java_client.key_stores import read_connection, secret_variables
from runners.quantities import clock_time, duration_s, size_bytes
from runners.reporting import enumerated
from runners.zones.link import Link
from search_spaces.client import Client
from search_spaces.configs.producer_config import ProducerConfig
from search_spaces.files.producer_file import FileClient, read_producer_file
from search_spaces.files.properties_file import named_source, parse_pairs
from search_spaces.properties.catalogue import Role
from search_spaces.properties.values import canonical_values
from tuner.model import spec
from tuner.model.errors import RequestRefused
from tuner.model.target import MOST_BROKERS, TOPIC_PATTERN, TOPIC_RULE, Target, check_addresses, without_login
from tuner.present.console import say

if TYPE_CHECKING:  # they import much, which the options of other commands must not wait for
    from runners.clusters.cluster import RunningCluster
    from tuner.results.study_results import SizeResults, StudyResults

Value = TypeVar("Value")
TARGET_PANEL: Final = "Target"
"""The panel of the help for the options about the cluster."""


def _parser(read: Callable[[str], Value]) -> Callable[[str], Value]:
    """Return a function that reads the value of an option as `read` does, and raises its error as `BadParameter`."""

    def parse(text: str) -> Value:
        try:
            return read(text)
        except ValueError as error:
            raise typer.BadParameter(f"{error}, but got {text!r}") from None

    return parse


parse_size: Final = _parser(size_bytes)
"""Returns the number of bytes that a text such as `64KiB`, `50GB` or `1000` stands for."""
parse_until: Final = _parser(clock_time)
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


def _bootstrap(text: str, default: str | bool = True) -> Any:
    """Return the option for the address of a cluster.

    Args:
        text: The help text.
        default: What holds without the option, in words; True if the text says it.
    """
    return typer.Option(metavar="HOST:PORT[,HOST:PORT]", help=text, show_default=default, rich_help_panel=TARGET_PANEL)


Study = Annotated[
    str, typer.Argument(metavar="STUDY", help="Name of a study, such as overnight, or its folder, studies/overnight.")
]
_YOURS: Final = "Address of your cluster, such as broker:9092."
Bootstrap = Annotated[
    str | None,
    _bootstrap(f"{_YOURS} Without it, the tuner starts a real Kafka broker on this machine and removes it at the end."),
]
ClusterBootstrap = Annotated[str | None, _bootstrap(_YOURS, "no cluster")]
TopicBootstrap = Annotated[
    str | None, _bootstrap("Address of the cluster, such as broker:9092. The option is required.", False)
]
StartedOrBootstrap = Annotated[str | None, _bootstrap(_YOURS, "a broker on this machine")]
CommandConfig = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Properties file with the connection settings of your cluster (security.protocol, sasl.*, ssl.*), such as "
        "client.properties. See docs/how-to/security.md.",
        rich_help_panel=TARGET_PANEL,
    ),
]
Container = Annotated[
    str | None,
    typer.Option(
        metavar="IMAGE",
        help="Start the broker in a container of this image, such as apache/kafka:4.1.0. This needs a Docker engine.",
        rich_help_panel=TARGET_PANEL,
    ),
]
Brokers = Annotated[
    int | None,
    typer.Option(
        min=1,
        max=MOST_BROKERS,
        help="Number of brokers to start on this machine without --bootstrap.",
        show_default="1",
        rich_help_panel=TARGET_PANEL,
    ),
]
Topic = Annotated[
    str | None,
    typer.Option(
        help="Topic of yours to write to, such as scratch. Its records stay, and it is never deleted. Without this "
        "option, each measurement gets a new topic, which is deleted again.",
        rich_help_panel=TARGET_PANEL,
    ),
]
Like = Annotated[
    str | None,
    typer.Option(
        help="Topic of yours, such as orders, whose partitions, replication and settings each created topic gets.",
        rich_help_panel=TARGET_PANEL,
    ),
]
MixEnvironments = Annotated[
    bool,
    typer.Option(
        "--mix-environments",
        help="Continue although earlier measurements were made on another host, with another version of the client, or "
        "on another cluster. The report then says so.",
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


def check_bootstrap(addresses: str) -> None:
    """Check that the value of `--bootstrap` names a host and a port for each broker.

    Raises:
        typer.BadParameter: A host or a port is missing.
    """
    try:
        check_addresses(addresses)
    except ValueError as error:
        raise typer.BadParameter(f"--bootstrap: {error}, but got {without_login(addresses)!r}") from None


def check_topic(name: str | None, where: str) -> None:
    """Check that an option or an argument names a topic as Kafka allows; None stands for one that was not given.

    Args:
        name: The name of the topic.
        where: The option or the argument, such as `--topic`.

    Raises:
        typer.BadParameter: No topic can have this name.
    """
    if name is not None and not re.fullmatch(TOPIC_PATTERN, name):
        raise typer.BadParameter(f"{where}: {TOPIC_RULE}, but got {name!r}")


def check_round_options(rounds: int | None, max_rounds: int | None) -> None:
    """Check that `--max-rounds` allows the rounds of `--rounds`; None stands for an option that was not given.

    Raises:
        typer.BadParameter: The maximum is too low.
    """
    with as_usage_error(RequestRefused):
        spec.check_rounds(rounds, max_rounds, ROUNDS)


@contextmanager
def users_cluster(bootstrap: str, command_config: Path | None) -> Iterator["RunningCluster"]:
    """Yield the user's cluster, and close the connections to it at the end.

    The arguments and the errors are those of `target_of`.
    """
    cluster = target_of(bootstrap, command_config).cluster()
    try:
        yield cluster.start()
    finally:
        cluster.stop()


def target_of(
    bootstrap: str | None,
    command_config: Path | None,
    *,
    container: str | None = None,
    brokers: int | None = None,
    topic: str | None = None,
    like: str | None = None,
    link: Link | None = None,
) -> Target:
    """Return the Kafka cluster that the options describe: a running cluster, or brokers that are still to be started.

    Args:
        bootstrap: Address of the user's cluster; None to start brokers on this machine.
        command_config: File with the connection settings of that cluster.
        container: Image to start the broker from.
        brokers: How many brokers to start; None for one.
        topic: The user's topic to write to.
        like: The user's topic whose settings the created topics get.
        link: The network link between the client and the brokers that are started; None for no link.

    Raises:
        typer.BadParameter: An option needs `--bootstrap` and it is missing, two options exclude each other,
            `--bootstrap` has no port, or no image or topic can have the given name.
        ConfigError: The connection file is wrong; the message names file, line and key.
    """
    if topic is not None and like is not None:
        raise typer.BadParameter(
            "--topic and --like exclude each other: --topic writes to your topic, --like only copies its settings"
        )
    if link is not None and (bootstrap is not None or container is not None):
        raise typer.BadParameter(
            "--zone-delay and --zone-bandwidth are for brokers that the tuner starts on this machine; leave out "
            f"--{'container' if bootstrap is None else 'bootstrap'}"
        )
    if bootstrap is None:
        for option, value in (("--command-config", command_config), ("--topic", topic), ("--like", like)):
            if value is not None:
                raise typer.BadParameter(
                    f"{option} needs --bootstrap: the option is about your cluster, so give the cluster's address"
                )
        if container is not None and container.split() != [container]:
            raise typer.BadParameter(
                f"it must name an image without blanks, such as apache/kafka:4.1.0, but got {container!r}",
                param_hint="'--container'",
            )
        if container is not None and brokers is not None:
            raise typer.BadParameter("a container runs one broker; leave --brokers or --container out")
        return Target(container=container, brokers=brokers or 1, link=link)
    check_bootstrap(bootstrap)
    check_topic(topic, "--topic")
    check_topic(like, "--like")
    if container is not None:
        raise typer.BadParameter(
            "--bootstrap and --container exclude each other: give the address of a running cluster, or the image of a "
            "broker to start"
        )
    if brokers is not None:
        raise typer.BadParameter(
            "--brokers is for brokers that the tuner starts, but --bootstrap names a running cluster; leave one of "
            "them out"
        )
    connection: dict[str, str] = {}
    variables: tuple[str, ...] = ()
    if command_config:
        with named_source(command_config.name):
            connection, variables = read_connection(command_config, os.environ), secret_variables(command_config)
    return Target(bootstrap=bootstrap, connection=connection, topic=topic, like=like, secret_variables=variables)


def check_topic_options(topic: str | None, like: str | None, partitions: int | None, replication: int | None) -> None:
    """Refuse `--partitions` and `--replication` beside `--topic` or `--like`, where they would have no effect.

    Args:
        topic: The value of `--topic`; None if it is not given, as for the others.
        like: The value of `--like`.
        partitions: The value of `--partitions`.
        replication: The value of `--replication`.

    Raises:
        typer.BadParameter: Options exclude each other.
    """
    existing = next((f"--{name}" for name, value in (("topic", topic), ("like", like)) if value is not None), None)
    without_effect = [
        f"--{name}" for name, value in (("partitions", partitions), ("replication", replication)) if value is not None
    ]
    if existing is not None and without_effect:
        raise typer.BadParameter(
            f"{existing} can't be given with {enumerated(without_effect)}: the partitions and the replication are "
            f"those of the topic that {existing} names; leave {existing} or {enumerated(without_effect)} out"
        )


def check_simulated(executor: spec.Executor | None, **target: object) -> None:
    """Refuse options for a cluster beside `--executor simulated`, where they would have no effect.

    Args:
        executor: The value of `--executor`; None if it is not given, as for the others.
        **target: The values of the options for the cluster, by their names in Python.

    Raises:
        typer.BadParameter: Options exclude each other.
    """
    without_effect = [f"--{name.replace('_', '-')}" for name, value in target.items() if value is not None]
    if executor is spec.Executor.SIMULATED and without_effect:
        raise typer.BadParameter(
            f"--executor simulated uses no cluster, so it can't be given with {enumerated(without_effect)}; leave "
            f"--executor simulated or {enumerated(without_effect)} out"
        )


def link_of(delay: str | None, bandwidth: str | None) -> Link | None:
    """Return the link that `--zone-delay` and `--zone-bandwidth` describe; None if neither is given.

    Raises:
        typer.BadParameter: A value can't be read, or is out of its range.
    """
    if delay is None and bandwidth is None:
        return None
    with as_usage_error(typer.BadParameter, ValueError, option="--zone-delay"):
        delay_ms = 0.0 if delay is None else 1e3 * parse_duration(delay)
        Link.symmetric(delay_ms)
    with as_usage_error(typer.BadParameter, ValueError, option="--zone-bandwidth"):
        return Link.symmetric(delay_ms, None if bandwidth is None else parse_size(bandwidth) / 1e6)


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
