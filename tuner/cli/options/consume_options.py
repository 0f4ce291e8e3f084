"""The options of `tuner consume` in groups: the consumers, the target, and the topic that the tuner fills itself."""

from dataclasses import dataclass
from typing import Annotated, Final, assert_never

import typer

from runners.consumers.reading import Reading, Start
from runners.java_client import source
from runners.java_client.compiled import CompiledProgram
from runners.librdkafka.consumer import check_properties
from runners.reporting import Say
from runners.workload import RecordSizes, Workload
from search_spaces.client import Client, ClientKind, client_of, librdkafka
from search_spaces.configs.consumer_config import consumer_values
from search_spaces.configs.producer_config import ProducerConfig
from search_spaces.files.properties_file import named_source, parse_pairs
from tuner.cli.options import common_options, workload_options

OWN_TOPIC_PANEL: Final = "Topic of its own, without TOPIC"
"""The panel of the help for the options in `OwnTopicOptions`."""


@dataclass(frozen=True, kw_only=True)
class ConsumerOptions:
    """The options for the consumers."""

    consumers: Annotated[
        int, typer.Option(help="Number of consumers. Each has a process of its own and a share of the partitions.")
    ] = 1
    start: Annotated[
        Start,
        typer.Option(
            help="beginning reads what lies in the topic, as fast as possible. tail reads only what is written from "
            "now on."
        ),
    ] = Start.BEGINNING
    client: Annotated[
        str,
        typer.Option(
            metavar="librdkafka|java|java:VERSION",
            parser=workload_options.parse_client,
            help="The client that reads. java is the newest known version of Kafka's Java consumer; java:3.9.1 is "
            "version 3.9.1.",
        ),
    ] = "librdkafka"
    pairs: Annotated[
        list[str] | None,
        typer.Option(
            "-X",
            metavar="KEY=VALUE",
            help="One property of the consumer, such as fetch.min.bytes=100000. The option may be repeated.",
        ),
    ] = None
    seconds: Annotated[float, workload_options.seconds("--seconds", "--measured")] = 10
    warmup: Annotated[float, workload_options.warmup()] = 0.5

    def reading(self, tell: Say) -> Reading:
        """Return how the consumers read, after the client has checked their properties.

        Args:
            tell: Called with a sentence if something must be fetched or compiled first.

        Raises:
            WorkloadRefused: A value is out of its range; the message names the option.
            ConfigError: The client is unknown, or refuses a property.
        """
        with workload_options.named_by_option():
            with named_source("-X"):
                properties = _checked_properties(client_of(self.client), self.pairs or [], tell)
            return Reading(self.start, self.consumers, self.warmup, self.seconds, properties)


@dataclass(frozen=True, kw_only=True)
class OwnTopicOptions:
    """The options for the topic that is filled and read if the user names no topic."""

    amount: Annotated[
        str,
        typer.Option(
            "--fill",
            metavar="SIZE",
            help="Bytes of values that are written before they are read.",
            rich_help_panel=OWN_TOPIC_PANEL,
        ),
    ] = "2GB"
    record_bytes: Annotated[str, workload_options.record_sizes(OWN_TOPIC_PANEL)] = "1000"
    key_bytes: Annotated[int, workload_options.key_bytes(OWN_TOPIC_PANEL)] = 0
    compressibility: Annotated[float, workload_options.compressibility(OWN_TOPIC_PANEL)] = 0.0
    partitions: Annotated[int, workload_options.partitions(OWN_TOPIC_PANEL)] = 3
    replication: Annotated[int, workload_options.replication(OWN_TOPIC_PANEL)] = 1
    producer_pairs: Annotated[
        list[str] | None,
        typer.Option(
            "--producer",
            metavar="KEY=VALUE",
            help="One property of the producer that writes, such as compression.type=lz4. The option may be repeated.",
            rich_help_panel=OWN_TOPIC_PANEL,
        ),
    ] = None
    rate: Annotated[
        float | None,
        typer.Option(
            metavar="N",
            help="With --start tail, records per second that are written while they are read.",
            show_default="as fast as possible",
            rich_help_panel=OWN_TOPIC_PANEL,
        ),
    ] = None
    max_bytes: Annotated[
        str,
        typer.Option(
            metavar="SIZE",
            help="With --start tail, the highest number of bytes that may be written. Before more are written, the "
            "command ends with exit code 4.",
            rich_help_panel=OWN_TOPIC_PANEL,
        ),
    ] = "50GB"
    seed: Annotated[int, workload_options.seed(OWN_TOPIC_PANEL)] = 0

    def producer_config(self) -> ProducerConfig:
        """Return the config of the producer that writes.

        Raises:
            ConfigError: A property of the producer is wrong.
        """
        return common_options.producer_config(None, self.producer_pairs or [], librdkafka(), "--producer")

    def workload(self) -> Workload:
        """Return the records that are written, the partitions of the topic, and the rate.

        Raises:
            WorkloadRefused: A value is out of its range; the message names the option.
        """
        with workload_options.named_by_option():
            return Workload(
                RecordSizes.parse(self.record_bytes),
                self.key_bytes,
                self.compressibility,
                self.partitions,
                self.replication,
                rate_records_per_s=self.rate,
                seed=self.seed,
            )


def _checked_properties(client: Client, pairs: list[str], tell: Say) -> dict[str, str]:
    """Return the consumer properties that the user gave, after the client has checked them."""
    typed = parse_pairs(pairs)
    properties = consumer_values(typed, client)
    match client.kind:
        case ClientKind.LIBRDKAFKA:
            # An error names a property as the user typed it.
            check_properties({name: properties[client.catalogue.find(name).name] for name in typed})
        case ClientKind.JAVA:
            source.check_properties(CompiledProgram.prepare(client.version, tell), properties)
        case _:
            assert_never(client.kind)
    return properties
