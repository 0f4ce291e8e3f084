"""The options of `tuner run` and `tuner plan` that describe a study, with or without a study file."""

import datetime
import functools
import inspect
import math
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Annotated, Any, Final, get_type_hints

import typer

from search_spaces.producer_file import FileClient
from tuner.cli import options
from tuner.course import estimate
from tuner.course.budget import next_occurrence
from tuner.model.spec import ConfirmSpec, Executor, Goal, Method, NewBroker, StudySpec
from tuner.study_file import QUICK_SUFFIX, load_study, parse_study, quick_sections, quick_text, sizes_in, study_text

_FILE: Final = "Without a file"
_TARGET: Final = "Target"
_LONG: Final = "How long"
_CONFIRM: Final = "Confirmation"
_SLOW_MB_PER_S: Final = 1.0
"""A throughput that nearly every cluster reaches, to tell that a limit on bytes is certainly too low."""
_NOT_WITH_A_FILE: Final = (
    "record_bytes",
    "name",
    "current",
    "current_client",
    "objectives",
    "constraint",
    "durability",
    "method",
    "compressibility",
    "key_bytes",
    "partitions",
    "replication",
    "rate",
    "seconds",
    "warmup",
    "bootstrap",
    "command_config",
    "container",
    "brokers",
    "topic",
    "like",
)
"""The options for settings that a study file has and that its trials depend on, by their names in Python."""


@dataclass(frozen=True, kw_only=True)
class StudyOptions:
    """The study that the options of a command describe. Each field is an argument or an option, with its help text."""

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
            help="Name of the study, which is also the name of its folder. By default it is made of the target and the "
            "record sizes.",
            rich_help_panel=_FILE,
        ),
    ] = None
    current: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Properties file that your producer uses today. It is the baseline, which every config is compared "
            "with. The file may be one for Kafka's Java producer. By default the baseline is the client without any "
            "property set.",
            rich_help_panel=_FILE,
        ),
    ] = None
    client: Annotated[
        str | None,
        typer.Option(
            metavar="librdkafka|java|java:VERSION",
            help="The client that is searched and measured. java is the newest known release of Kafka's Java producer; "
            "java:3.9.1 is this one.",
            show_default="librdkafka",
            rich_help_panel=_FILE,
        ),
    ] = None
    current_client: Annotated[
        FileClient | None,
        typer.Option(
            help="The client that the file of --current is for, which may be another one than --client. auto: its "
            "properties show it; if not, it is for --client.",
            show_default="auto",
            rich_help_panel=_FILE,
        ),
    ] = None
    objectives: Annotated[
        Goal | None,
        typer.Option(
            help="What to optimise. balanced optimises throughput and latency.",
            show_default="balanced",
            rich_help_panel=_FILE,
        ),
    ] = None
    constraint: Annotated[
        list[str] | None,
        typer.Option(
            metavar="BOUND",
            help="Bound that a recommended config must keep, such as 'latency_p99_ms <= 10' or "
            "'mb_per_s >= 0.9 x baseline'. The option may be repeated.",
            rich_help_panel=_FILE,
        ),
    ] = None
    durability: Annotated[
        str | None,
        typer.Option(
            metavar="baseline|any|leader|all|ordered|idempotent",
            help="The weakest guarantee that a config may give. baseline: no weaker than the baseline's.",
            show_default="baseline",
            rich_help_panel=_FILE,
        ),
    ] = None
    method: Annotated[
        Method | None,
        typer.Option(
            help="How new configs are proposed; docs/evidence/search.md compares the methods.",
            show_default="bayesian",
            rich_help_panel=_FILE,
        ),
    ] = None
    compressibility: Annotated[
        float | None,
        typer.Option(
            help="Share of each value that compression removes, from 0 (random bytes) to 0.99.",
            show_default="0.5",
            rich_help_panel=_FILE,
        ),
    ] = None
    key_bytes: Annotated[
        int | None,
        typer.Option(help="Bytes of a record's key; 0 sends no keys.", show_default="0", rich_help_panel=_FILE),
    ] = None
    partitions: Annotated[
        int | None,
        typer.Option(help="Partitions of the topics that are created.", show_default="3", rich_help_panel=_FILE),
    ] = None
    replication: Annotated[
        int | None,
        typer.Option(help="Replicas of each partition of the created topics.", show_default="1", rich_help_panel=_FILE),
    ] = None
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
    bootstrap: options.Bootstrap = None
    command_config: options.CommandConfig = None
    container: options.Container = None
    brokers: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=9,
            help="Number of brokers to start on this machine without --bootstrap.",
            show_default="1",
            rich_help_panel=_TARGET,
        ),
    ] = None
    topic: Annotated[
        str | None,
        typer.Option(
            help="Topic of yours to write to, such as scratch. Its records stay, and it is never deleted. Without this "
            "option, each trial gets a new topic.",
            rich_help_panel=_TARGET,
        ),
    ] = None
    like: Annotated[
        str | None,
        typer.Option(
            help="Topic of yours, such as orders, whose partitions, replication and settings the created topics get.",
            rich_help_panel=_TARGET,
        ),
    ] = None
    quick: Annotated[
        bool,
        typer.Option(
            "--quick",
            help="Take minutes: 12 trials of a few seconds, 6 rounds, p95 instead of p99. Only large gains can be "
            "proven in this time. The study is named NAME-quick, so that a longer study NAME can follow.",
            rich_help_panel=_LONG,
        ),
    ] = False
    trials: Annotated[
        int | None,
        typer.Option(min=1, help="Number of trials per record size, such as 40.", rich_help_panel=_LONG),
    ] = None
    hours: Annotated[
        float | None,
        typer.Option(min=0, help="Hours that the whole study may take, such as 8.", rich_help_panel=_LONG),
    ] = None
    until: options.Until = None
    max_bytes: Annotated[
        int | None,
        typer.Option(
            metavar="SIZE",
            parser=options.parse_size,
            help="Bytes of record values and keys that the whole study may send, such as 2TB.",
            rich_help_panel=_LONG,
        ),
    ] = None
    goals: Annotated[
        list[Goal] | None,
        typer.Option(
            "--goal",
            help="Goal whose winner is confirmed, such as latency. The option may be repeated. Fewer goals take less "
            "time.",
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
    max_rounds: Annotated[
        int | None,
        typer.Option(
            min=0,
            help="Maximum number of rounds, used where the gain is still uncertain.",
            show_default="20",
            rich_help_panel=_CONFIRM,
        ),
    ] = None
    ablation_rounds: Annotated[
        int | None,
        typer.Option(
            min=0,
            help="Number of rounds that measure copies of a winner, each with one property set back to the baseline's "
            "value. They show what each change brings.",
            show_default="2",
            rich_help_panel=_CONFIRM,
        ),
    ] = None
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
            parser=options.parse_duration,
            help="Time over which the rounds are spread, such as 6h, as speed differs between hours.",
            show_default="no pauses",
            rich_help_panel=_CONFIRM,
        ),
    ] = None
    executor: Annotated[
        Executor | None,
        typer.Option(
            help="Where the benchmarks run: ray in Ray workers, local without Ray; simulated computes invented "
            "numbers, to try a study without Kafka."
        ),
    ] = None
    ray_address: Annotated[
        str | None,
        typer.Option(
            envvar="RAY_ADDRESS",
            metavar="ADDRESS",
            help="Address of your Ray cluster, such as head:6379, or auto. Without it, Ray is started on this machine.",
        ),
    ] = None

    def study(self) -> tuple[StudySpec, str]:
        """Return the study that the options describe, and the text of its study file.

        Raises:
            typer.BadParameter: Options exclude each other, or an option excludes a study file.
            StudyFileError: The study file or the value of an option is wrong.
        """
        if self.max_rounds is not None and self.rounds is not None and self.max_rounds < self.rounds:
            raise typer.BadParameter(
                f"--max-rounds must be at least --rounds ({self.rounds}), but got {self.max_rounds}; raise the one or "
                "lower the other"
            )
        spec, text = self._from_options() if self.study_file is None else self._from_file(self.study_file)
        return replace(spec, ray_address=self.ray_address or spec.ray_address), text

    def check_limits(self, spec: StudySpec) -> None:
        """Refuse a new study that has too little time or too few bytes to search and confirm all of its record sizes.

        A simulated study is not refused, because it takes no time.

        Args:
            spec: The study that the options describe.

        Raises:
            typer.BadParameter: A limit is too low. The message gives the least value.
        """
        if spec.executor is Executor.SIMULATED:
            return
        search, least_s, now = spec.search, estimate.least_s(spec), datetime.datetime.now()
        rule = "a study must be able to search and confirm each of its record sizes"
        needs = f"this one takes at least {_time(least_s)}"
        smaller = "fewer rounds (--rounds), one goal (--goal) or fewer record sizes"
        if not self.quick:
            quick_s = estimate.least_s(replace(self, quick=True).study()[0])
            smaller = f"--quick, with which it takes at least {_time(quick_s)}, {smaller}"
        smaller = f", or make the study smaller: {smaller}; `tuner plan` shows how long it takes"
        if search.hours is not None and search.hours * 3600 < least_s:
            raise typer.BadParameter(
                f"{rule}: {needs}, but may take {search.hours:g} hours, which are {_time(search.hours * 3600)}; give "
                f"at least --hours {math.ceil(least_s / 36) / 100:g}{smaller}"
            )
        if search.until is not None:
            left_s = next_occurrence(search.until, now).timestamp() - now.timestamp()
            # A moment in the past is refused by `tuner.course`.
            if 0 < left_s < least_s:
                least = now + datetime.timedelta(seconds=least_s + 60)
                raise typer.BadParameter(
                    f"{rule}: {needs}, but starts no trial after {search.until}, which is in {_time(left_s)}; give at "
                    f"least --until '{least:%Y-%m-%d %H:%M}'{smaller}"
                )
        least_bytes = estimate.least_bytes(spec, _SLOW_MB_PER_S)
        if search.max_bytes is not None and search.max_bytes < least_bytes:
            raise typer.BadParameter(
                f"{rule}: at {_SLOW_MB_PER_S:g} MB/s, this one sends at least {least_bytes / 1e9:.3g} GB, and more on "
                f"a faster cluster, but may send {search.max_bytes / 1e9:.3g} GB; give at least --max-bytes "
                f"{math.ceil(least_bytes / 1e7) / 100:g}GB{smaller}"
            )

    def _from_options(self) -> tuple[StudySpec, str]:
        """Return the study of a command without a study file, and the text of a study file with its settings."""
        sizes = sizes_in(self.record_bytes or "100,1000")
        made = "-".join(map(str, (self.bootstrap or self.container or "embedded", *sizes)))
        name = self.name or re.sub(r"[^A-Za-z0-9_.-]+", "-", made).strip("-")[:80]
        phase = {"warmup": self.warmup, "measured": self.seconds}
        sections: Mapping[str, Any] = {
            "study": {"name": f"{name}{QUICK_SUFFIX}" if self.quick else name},
            "target": {
                "bootstrap": self.bootstrap,
                "command_config": self.command_config,
                "container": self.container,
                "brokers": self.brokers,
                "topic": self.topic,
                "like": self.like,
            },
            "workload": {
                "record_bytes": sizes,
                "key_bytes": self.key_bytes,
                "compressibility_ratio": self.compressibility,
                "partitions": self.partitions,
                "replication": self.replication,
                "saturate": phase,
                "paced": {**phase, "rate_records_per_s": self.rate},
            },
            "client": self.client,
            "baseline": self.current,
            "baseline_client": self.current_client,
            "durability": self.durability,
            "objectives": self.objectives,
            "constraints": self.constraint,
            "search": {
                "method": self.method,
                "trials": self.trials,
                "hours": self.hours,
                "until": self.until,
                "max_bytes": self.max_bytes,
            },
            "confirm": self._confirm(),
            "executor": {"kind": self.executor},
        }
        text = study_text(quick_sections(sections) if self.quick else sections)
        return parse_study(text, name="study", folder=Path.cwd(), origin="the command line", environ={}), text

    def _from_file(self, file: Path) -> tuple[StudySpec, str]:
        """Return the study of a study file, with the limits and the confirmation that the options set."""
        for field in _NOT_WITH_A_FILE:
            if getattr(self, field) not in (None, []):
                raise typer.BadParameter(
                    f"--{field.replace('_', '-')} and a study file exclude each other: write the setting into {file}"
                )
        spec, text = load_study(file)
        if self.quick:
            text = quick_text(text, f"{spec.name}{QUICK_SUFFIX}")
            spec = parse_study(text, name=spec.name, folder=file.parent, origin=str(file), environ=os.environ)
        changes: dict[str, Any] = {}
        # A time limit replaces the limits in time and trials of the file. A number of trials replaces only `trials`.
        if self.hours is not None or self.until is not None:
            changes = {"hours": self.hours, "until": self.until}
            changes["trials"] = self.trials or (spec.search.trials if self.quick else None)
        elif self.trials is not None:
            changes = {"trials": self.trials}
        if self.max_bytes is not None:
            changes["max_bytes"] = self.max_bytes
        confirm = self._confirm()
        confirm["spread_over_s"] = confirm.pop("spread_over")
        confirm["goals"] = tuple(self.goals) if self.goals else None
        confirm = {name: value for name, value in confirm.items() if value is not None}
        return replace(
            spec,
            search=replace(spec.search, **changes),
            confirm=replace(spec.confirm, **confirm),
            executor=self.executor or spec.executor,
        ), text

    def _confirm(self) -> dict[str, Any]:
        """Return the settings of the confirmation by their keys in a study file; None if an option is not given."""
        rounds = self.rounds
        if rounds is None and self.max_rounds is not None and self.study_file is None:
            rounds = min(self.max_rounds, ConfirmSpec().rounds)
        return {
            "goals": self.goals,
            "rounds": rounds,
            "max_rounds": self.max_rounds,
            "ablation_rounds": self.ablation_rounds,
            "allow_loss": self.allow_loss,
            "new_broker": self.new_broker,
            "spread_over": self.spread_over,
        }


def _time(seconds: float) -> str:
    return str(datetime.timedelta(seconds=math.ceil(seconds)))


def with_study_options(verb: Callable[..., None]) -> Callable[..., None]:
    """Return a verb whose command line has the options of `StudyOptions` before the verb's own options.

    Args:
        verb: A function with annotated parameters, which Typer makes a command of. Its first parameter gets the
            `StudyOptions` that the user gave.
    """
    own = list(inspect.signature(verb).parameters.values())[1:]
    hints = get_type_hints(StudyOptions, include_extras=True)
    shared = [
        inspect.Parameter(
            field.name, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=field.default, annotation=hints[field.name]
        )
        for field in fields(StudyOptions)
    ]

    @functools.wraps(verb)
    def called(**values: Any) -> None:
        given = {field.name: values.pop(field.name) for field in fields(StudyOptions)}
        verb(StudyOptions(**given), **values)

    # Typer reads the command line of a function from its signature and its annotations.
    called.__signature__ = inspect.Signature([*shared, *own])  # type: ignore[attr-defined]
    called.__annotations__ = {parameter.name: parameter.annotation for parameter in (*shared, *own)}
    return called
