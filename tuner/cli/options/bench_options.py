"""The options of `tuner bench` in three groups: the producer's config, the load, and the target."""

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Final

import typer

from runners.reporting import counted
from runners.runner import Limits
from runners.workload import RecordSizes, Workload
from search_spaces.client import client_of
from search_spaces.configs.producer_config import ProducerConfig
from tuner.cli.options import common_options, target_options, workload_options
from tuner.model.target import Target

_CONFIG: Final = "Config"
_WORKLOAD: Final = "Workload"


class BenchLoad(StrEnum):
    """How records are sent: as fast as the client takes them, or at a fixed rate."""

    SATURATE = "saturate"
    PACED = "paced"


@dataclass(frozen=True, kw_only=True)
class ConfigOptions:
    """The options for the producer config."""

    config: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Properties file of the producer config.",
            show_default="the client's defaults",
            rich_help_panel=_CONFIG,
        ),
    ] = None
    client: workload_options.MeasuredClient = "librdkafka"
    pairs: Annotated[
        list[str] | None,
        typer.Option(
            "-X",
            metavar="KEY=VALUE",
            help="One producer property, such as linger.ms=20. The option may be repeated, and overrides --config.",
            rich_help_panel=_CONFIG,
        ),
    ] = None

    def producer_config(self) -> ProducerConfig:
        """Return the config that the options describe.

        Raises:
            ConfigError: The client is unknown, or the config is wrong.
        """
        return common_options.producer_config(self.config, self.pairs or [], client_of(self.client))


@dataclass(frozen=True, kw_only=True)
class LoadOptions:
    """The options for the load and for the topic that is created."""

    record_bytes: Annotated[str, workload_options.record_sizes(_WORKLOAD)] = "1000"
    key_bytes: Annotated[int, workload_options.key_bytes(_WORKLOAD)] = 0
    different_keys: Annotated[
        int | None,
        typer.Option(
            metavar="N", help="Number of different keys.", show_default="nearly all differ", rich_help_panel=_WORKLOAD
        ),
    ] = None
    most_frequent_key: Annotated[
        float,
        typer.Option(
            metavar="RATIO",
            help="Share of the records with the most frequent key, such as 0.2; the others follow as in Zipf's law.",
            rich_help_panel=_WORKLOAD,
        ),
    ] = 0.0
    compressibility: Annotated[float, workload_options.compressibility(_WORKLOAD)] = 0.0
    seconds: Annotated[float, workload_options.seconds(panel=_WORKLOAD)] = 10.0
    warmup: Annotated[float, workload_options.warmup(panel=_WORKLOAD)] = 3.0
    load: Annotated[
        BenchLoad | None,
        typer.Option(
            help="saturate sends as fast as the client takes records, for throughput. paced sends at --rate, for "
            "latency.",
            show_default="paced with --rate, else saturate",
            rich_help_panel=_WORKLOAD,
        ),
    ] = None
    rate: Annotated[
        float | None,
        typer.Option(metavar="N", help="Records per second of a paced load, such as 20000.", rich_help_panel=_WORKLOAD),
    ] = None
    peak: Annotated[
        float,
        typer.Option(
            metavar="RATIO",
            help="Rate of the bursts, as a multiple of --rate, such as 3. Half of the records then leave in bursts of "
            "about a second.",
            rich_help_panel=_WORKLOAD,
        ),
    ] = 1.0
    partitions: Annotated[int | None, workload_options.partitions(_WORKLOAD, "3")] = None
    replication: Annotated[int | None, workload_options.replication(_WORKLOAD, "1")] = None
    consumers: Annotated[
        int,
        typer.Option(
            min=0,
            help="Number of consumers that read the records while they are written, for the end-to-end latency.",
            rich_help_panel=_WORKLOAD,
        ),
    ] = 0
    seed: Annotated[int, workload_options.seed(_WORKLOAD)] = 0

    def check(self) -> None:
        """Check that no option lacks another one that it needs, and that no two options exclude each other.

        Raises:
            typer.BadParameter: An option is missing, or two exclude each other.
        """
        if self.peak != 1.0 and self.rate is None:
            raise typer.BadParameter("--peak needs --rate, the mean number of records per second")
        if self.most_frequent_key and self.different_keys is None:
            raise typer.BadParameter("--most-frequent-key needs --different-keys, the number of keys")
        if self.load is BenchLoad.PACED and self.rate is None:
            raise typer.BadParameter("--load paced needs --rate, the number of records per second to send")
        if self.load is BenchLoad.SATURATE and self.rate is not None:
            raise typer.BadParameter(
                "--load saturate and --rate exclude each other: a saturating load is sent as fast as possible"
            )

    def workload(self) -> Workload:
        """Return the load that the options describe.

        Raises:
            WorkloadRefused: A value is out of its range; the message names the option.
        """
        with workload_options.named_by_option():
            return Workload(
                record_sizes=RecordSizes.parse(self.record_bytes),
                key_bytes=self.key_bytes,
                different_keys=self.different_keys,
                most_frequent_key_ratio=self.most_frequent_key,
                compressibility_ratio=self.compressibility,
                partitions=3 if self.partitions is None else self.partitions,
                replication=1 if self.replication is None else self.replication,
                warmup_s=self.warmup,
                measured_s=self.seconds,
                rate_records_per_s=self.rate,
                peak_ratio=self.peak,
                consumers=self.consumers,
                seed=self.seed,
            )


@dataclass(frozen=True, kw_only=True)
class TargetOptions:
    """The options for the cluster, for a topic on it, and for the bytes that may be sent to it."""

    bootstrap: target_options.Bootstrap = None
    command_config: target_options.CommandConfig = None
    container: target_options.Container = None
    brokers: target_options.Brokers = None
    zone_delay: Annotated[
        str | None,
        typer.Option(
            metavar="DURATION",
            help="Delay of each direction between the client and the brokers that are started, such as 2ms, as if they "
            "were in another zone. A round trip takes twice as long.",
            show_default="no delay",
            rich_help_panel=target_options.TARGET_PANEL,
        ),
    ] = None
    zone_bandwidth: Annotated[
        str | None,
        typer.Option(
            metavar="SIZE",
            help="Bytes per second of each direction between the client and the brokers that are started, such as "
            "50MB.",
            show_default="no limit",
            rich_help_panel=target_options.TARGET_PANEL,
        ),
    ] = None
    topic: target_options.Topic = None
    like: target_options.Like = None
    max_bytes: Annotated[str, workload_options.max_bytes(target_options.TARGET_PANEL)] = "50GB"

    def limits(self, workload: Workload) -> Limits:
        """Return the limits of one measurement of a load.

        Raises:
            typer.BadParameter: `--max-bytes` is not a size, or allows not even one record.
        """
        return workload_options.limits_of(self.max_bytes, workload.record_sizes.largest_bytes)

    def target(self, replication: int) -> Target:
        """Return the cluster that the options describe.

        Args:
            replication: The replicas of each partition, for which brokers that are started must be enough.

        Raises:
            typer.BadParameter: Options need or exclude each other, or a value is wrong.
            ConfigError: The connection file is wrong.
        """
        target = target_options.target_of(
            self.bootstrap,
            self.command_config,
            container=self.container,
            brokers=self.brokers,
            topic=self.topic,
            like=self.like,
            link=target_options.link_of(self.zone_delay, self.zone_bandwidth),
        )
        brokers = 1 if target.container else target.brokers
        if target.bootstrap is None and replication > brokers:
            raise typer.BadParameter(
                f"--replication must be at most the number of brokers, but got {replication} with "
                f"{counted(brokers, 'broker')}; {'leave --container out and ' if target.container else ''}raise "
                "--brokers"
            )
        return target
