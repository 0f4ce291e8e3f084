"""Options for the cluster that is measured or read, and the cluster that they describe."""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from runners.java_client.key_stores import read_connection, secret_variables
from runners.reporting import enumerated
from runners.zones.link import Link
from search_spaces.files.properties_file import named_source
from tuner.cli.options.common_options import as_usage_error, parse_duration, parse_size
from tuner.model.spec import Executor
from tuner.model.target import MOST_BROKERS, TOPIC_PATTERN, TOPIC_RULE, Target, check_addresses, without_login

if TYPE_CHECKING:  # it imports much, which the options of other commands must not wait for
    from runners.clusters.cluster import RunningCluster

TARGET_PANEL: Final = "Target"
"""The panel of the help for the options about the cluster."""


def _bootstrap(text: str, default: str | bool = True) -> Any:
    """Return the option for the address of a cluster.

    Args:
        text: The help text.
        default: What holds without the option, in words; True if the text says it.
    """
    return typer.Option(metavar="HOST:PORT[,HOST:PORT]", help=text, show_default=default, rich_help_panel=TARGET_PANEL)


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


def check_simulated(executor: Executor | None, **target: object) -> None:
    """Refuse options for a cluster beside `--executor simulated`, where they would have no effect.

    Args:
        executor: The value of `--executor`; None if it is not given, as for the others.
        **target: The values of the options for the cluster, by their names in Python.

    Raises:
        typer.BadParameter: Options exclude each other.
    """
    without_effect = [f"--{name.replace('_', '-')}" for name, value in target.items() if value is not None]
    if executor is Executor.SIMULATED and without_effect:
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
