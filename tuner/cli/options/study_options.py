"""The command line of a study: the options that `tuner run` and `tuner plan` have, with their help texts."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final

import typer

from search_spaces.files.producer_file import FileClient
from tuner.cli.options import common_options, confirm_options, target_options, workload_options
from tuner.model.goals import Goal
from tuner.model.spec import Executor, Method, NewBroker

_FILE: Final = "Without a file"
_HOW_LONG: Final = "How long"
_CONFIRM: Final = "Confirmation"


@dataclass(frozen=True, kw_only=True)
class StudyOptions:
    """The arguments and options that describe a study, each with its help text."""

    study_file: Annotated[
        Path | None,
        typer.Argument(metavar="STUDY.YAML", help="Study file; `tuner init overnight.yaml` writes a new one."),
    ] = None
    record_bytes: Annotated[
        str | None,
        typer.Option(
            metavar="N[,N...]",
            help="Record sizes, such as 100,1000, or one mix, such as 100:70,1000:30 (size:weight).",
            show_default="100,1000",
            rich_help_panel=_FILE,
        ),
    ] = None
    name: Annotated[
        str | None,
        typer.Option(
            help="Name of the study, which is also the name of its folder. By default it is built from the target and "
            "the record sizes.",
            rich_help_panel=_FILE,
        ),
    ] = None
    current: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Properties file that your producer uses today. It is the baseline, which every config is compared "
            "with. The file may be one for Kafka's Java producer. By default, the baseline is the client's "
            "defaults.",
            rich_help_panel=_FILE,
        ),
    ] = None
    client: Annotated[
        str | None,
        workload_options.client(
            "that is searched and measured",
            " With a study file for the other client, the study is named NAME-java or NAME-librdkafka.",
            default="librdkafka",
            panel=_FILE,
        ),
    ] = None
    current_client: Annotated[
        FileClient | None,
        typer.Option(
            help="The client that the file of --current is written for. If it is not --client, the file is translated. "
            "auto: the client that the properties in the file show, or else --client.",
            show_default="auto",
            rich_help_panel=_FILE,
        ),
    ] = None
    objectives: Annotated[
        Goal | None,
        typer.Option(
            help="What the search looks for: configs with more throughput, less latency, or both (balanced). --goal "
            "chooses which of the winners are measured again.",
            show_default="balanced",
            rich_help_panel=_FILE,
        ),
    ] = None
    constraint: Annotated[
        list[str] | None,
        typer.Option(
            metavar="CONSTRAINT",
            help="Constraint that a recommended config must meet, such as 'latency_p99_ms <= 10' or "
            "'mb_per_s >= 0.9 x baseline'. The option may be repeated.",
            rich_help_panel=_FILE,
        ),
    ] = None
    durability: Annotated[
        str | None,
        typer.Option(
            metavar="baseline|any|leader|all|ordered|idempotent",
            help="The weakest guarantee that a config may give. baseline: no weaker than the baseline's. any: also "
            "acks=0. leader: acks=1. all: acks=all. ordered: all, and records keep their order. idempotent: ordered, "
            "and no duplicates.",
            show_default="baseline",
            rich_help_panel=_FILE,
        ),
    ] = None
    method: Annotated[
        Method | None,
        typer.Option(
            help="How new configs are proposed; docs/evidence/search-methods.md compares the methods. grid measures "
            "all combinations of the values that --knob gives.",
            show_default="bayesian",
            rich_help_panel=_FILE,
        ),
    ] = None
    seed: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Seed of the search, such as 7. Another seed proposes other configs.",
            show_default="0",
            rich_help_panel=_FILE,
        ),
    ] = None
    knob: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=VALUES",
            help="How a property is searched: linger.ms=0..20 (a range), linger.ms=0..20,steps=5 (5 values of it in a "
            "grid), compression.type=lz4,zstd (a choice), acks=all (one value), linger.ms=off (as in the baseline) "
            "or on. The option may be repeated.",
            show_default="all knobs that `tuner plan` lists",
            rich_help_panel=_FILE,
        ),
    ] = None
    compressibility: Annotated[float | None, workload_options.compressibility(_FILE, "0.5")] = None
    key_bytes: Annotated[int | None, workload_options.key_bytes(_FILE, "0")] = None
    partitions: Annotated[int | None, workload_options.partitions(_FILE, "3")] = None
    replication: Annotated[int | None, workload_options.replication(_FILE, "1")] = None
    rate: Annotated[
        float | None,
        typer.Option(
            metavar="N",
            help="Records per second of the paced phase, which measures latency, such as 20000.",
            show_default="0.3 of what the baseline can send",
            rich_help_panel=_FILE,
        ),
    ] = None
    seconds: Annotated[
        float | None,
        typer.Option(
            help="Seconds that are measured in each of the two phases of a trial.",
            show_default="10",
            rich_help_panel=_FILE,
        ),
    ] = None
    warmup: Annotated[
        float | None,
        typer.Option(
            help="Seconds of load before the measurement in each phase.",
            show_default="2 in the paced phase, 3 in the saturating phase",
            rich_help_panel=_FILE,
        ),
    ] = None
    bootstrap: target_options.Bootstrap = None
    command_config: target_options.CommandConfig = None
    container: target_options.Container = None
    brokers: target_options.Brokers = None
    topic: target_options.Topic = None
    like: target_options.Like = None
    quick: Annotated[
        bool,
        typer.Option(
            "--quick",
            help="Finish in minutes: 10 trials of some seconds, 6 to 10 rounds, p95 instead of p99. Only large gains "
            "can be proven in this time. The study is named NAME-quick, so that a longer study NAME can follow.",
            rich_help_panel=_HOW_LONG,
        ),
    ] = False
    trials: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Number of trials per record size, such as 40. Some of them measure the baseline.",
            rich_help_panel=_HOW_LONG,
        ),
    ] = None
    repeats: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="How often a grid search measures each config, such as 3.",
            show_default="1",
            rich_help_panel=_HOW_LONG,
        ),
    ] = None
    racing: Annotated[
        bool | None,
        typer.Option(
            "--racing/--no-racing",
            help="Whether a trial is stopped early if it will probably not reach the front or meet a constraint (95 % "
            "intervals). With --no-racing, only a trial that delivers less than 80 % of the fixed rate is stopped; in "
            "a grid search, none.",
            show_default="--racing, but not in a grid search",
            rich_help_panel=_HOW_LONG,
        ),
    ] = None
    hours: Annotated[
        float | None,
        typer.Option(
            help="Hours within which the study normally ends, confirmation included, such as 8.",
            rich_help_panel=_HOW_LONG,
        ),
    ] = None
    until: Annotated[
        str | None,
        typer.Option(
            metavar="[DATE] HH:MM",
            parser=common_options.parse_until,
            help="Local time by which the study normally ends, such as 07:00. No trial of the search starts after it. "
            "When you resume an unfinished study with the same value, it means the same moment as before. Another "
            "value, such as '2026-11-25 07:00', sets a new time.",
            rich_help_panel=_HOW_LONG,
        ),
    ] = None
    max_bytes: Annotated[
        int | None,
        typer.Option(
            metavar="SIZE",
            parser=common_options.parse_size,
            help="Bytes of record values and keys that the whole study may send, such as 2TB.",
            rich_help_panel=_HOW_LONG,
        ),
    ] = None
    goals: Annotated[
        list[Goal] | None,
        typer.Option(
            "--goal",
            help="What is confirmed after the search: the winner for throughput, latency or both (balanced). The "
            "option may be repeated. Fewer goals take less time. --objectives chooses what the search looks for.",
            show_default="all three",
            rich_help_panel=_CONFIRM,
        ),
    ] = None
    rounds: Annotated[
        int | None,
        typer.Option(
            min=0,
            help="Minimum number of rounds. One round measures the baseline and each winner once. 0: no confirmation, "
            "and no gain is claimed.",
            show_default="8",
            rich_help_panel=_CONFIRM,
        ),
    ] = None
    max_rounds: Annotated[int | None, confirm_options.max_rounds_option(0, "20", _CONFIRM)] = None
    width_ratio: Annotated[float | None, confirm_options.width_ratio_option("0.1", _CONFIRM)] = None
    nominees: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Number of best configs per goal that are measured again before the winner is chosen, such as 5.",
            show_default="3",
            rich_help_panel=_CONFIRM,
        ),
    ] = None
    nominee_repeats: Annotated[
        int | None,
        typer.Option(
            min=0,
            help="Number of repeats of each of these best configs, such as 3.",
            show_default="2",
            rich_help_panel=_CONFIRM,
        ),
    ] = None
    undo_rounds: Annotated[int | None, confirm_options.undo_rounds_option("2", _CONFIRM)] = None
    allow_loss: Annotated[
        float | None,
        typer.Option(
            min=0,
            max=1,
            metavar="RATIO",
            help="The part of any objective that a balanced config may give up: 0.1 is 10 %.",
            show_default="0.1",
            rich_help_panel=_CONFIRM,
        ),
    ] = None
    new_broker: Annotated[
        NewBroker | None,
        typer.Option(
            help="Whether each round is measured on newly started brokers.",
            show_default="each round, but never with --bootstrap",
            rich_help_panel=_CONFIRM,
        ),
    ] = None
    spread_over: Annotated[
        float | None,
        typer.Option(
            metavar="DURATION",
            parser=common_options.parse_duration,
            help="Time over which the rounds are spread, such as 6h, because a cluster's speed differs between hours.",
            show_default="on your cluster, a part of --hours or --until",
            rich_help_panel=_CONFIRM,
        ),
    ] = None
    executor: Annotated[Executor | None, common_options.executor("a study")] = None
    ray_address: Annotated[
        str | None,
        typer.Option(
            envvar="RAY_ADDRESS",
            metavar="ADDRESS",
            help="Address of your Ray cluster, such as head:6379, or auto. Without it, Ray is started on this machine.",
        ),
    ] = None
