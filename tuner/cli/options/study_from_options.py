"""Makes a study from the options of `tuner run` and `tuner plan`, with or without a study file."""

import math
import re
import shlex
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from typing import Any, Final

import typer

from search_spaces.client import Client, client_of
from search_spaces.configs.guarantee import DURABILITY
from search_spaces.errors import ConfigError
from search_spaces.files.producer_file import FileClient, read_producer_file
from search_spaces.files.properties_file import named_source
from tuner.cli.options import common_options, target_options
from tuner.cli.options.study_options import StudyOptions
from tuner.execution.budgets import estimate
from tuner.execution.budgets.least_limits import check_limits, clock_text
from tuner.model.errors import LimitTooLow
from tuner.model.facts import IDENTITY
from tuner.model.identity import setting_changes, study_identity
from tuner.model.spec import Executor, Method, StudySpec
from tuner.model.study_files import STUDY_FILE
from tuner.storage.locations import storage_at, study_folder
from tuner.study_file import (
    QUICK_SUFFIX,
    StudyFileError,
    changed_text,
    knob_setting,
    name_in,
    parse_study,
    place_of,
    quick_sections,
    quick_text,
    read_study_file,
    renamed,
    sizes_in,
    study_text,
    with_name,
)

_KEYS: Final[Mapping[str, tuple[str, ...]]] = {
    "record_bytes": ("workload.record_bytes",),
    "name": ("study.name", "study"),
    "client": ("client",),
    "current": ("baseline",),
    "current_client": ("baseline_client",),
    "objectives": ("objectives",),
    "constraint": ("constraints",),
    "durability": ("durability",),
    "method": ("search.method",),
    "seed": ("search.seed",),
    "knob": ("space",),
    "compressibility": ("workload.compressibility_ratio",),
    "key_bytes": ("workload.key_bytes",),
    "partitions": ("workload.partitions",),
    "replication": ("workload.replication",),
    "rate": ("workload.paced.rate_records_per_s",),
    "seconds": ("workload.saturate.measured", "workload.paced.measured"),
    "warmup": ("workload.saturate.warmup", "workload.paced.warmup"),
    "bootstrap": ("target.bootstrap",),
    "command_config": ("target.command_config",),
    "container": ("target.container",),
    "brokers": ("target.brokers",),
    "topic": ("target.topic",),
    "like": ("target.like",),
    "trials": ("search.trials",),
    "repeats": ("search.repeats",),
    "racing": ("search.racing",),
    "hours": ("search.hours",),
    "until": ("search.until",),
    "max_bytes": ("search.max_bytes",),
    "goals": ("confirm.goals",),
    "rounds": ("confirm.rounds",),
    "max_rounds": ("confirm.max_rounds",),
    "width_ratio": ("confirm.width_ratio",),
    "nominees": ("confirm.nominees",),
    "nominee_repeats": ("confirm.nominee_repeats",),
    "undo_rounds": ("confirm.undo_rounds",),
    "allow_loss": ("confirm.allow_loss",),
    "new_broker": ("confirm.new_broker",),
    "spread_over": ("confirm.spread_over",),
    "executor": ("executor.kind",),
}
"""The keys of a study file that each option sets, by the option's name in Python."""
_WITH_A_FILE: Final = frozenset({"client", "search", "confirm", "executor"})
"""The sections of a given study file that options may change."""
_NEVER_CHANGED: Final = frozenset({"search.method", "search.seed"})
"""The keys of these sections that options may not change, because trials depend on them."""


@dataclass(frozen=True, kw_only=True)
class StudyFromOptions(StudyOptions):
    """The options of a command that describe a study, and the study that is made from them."""

    def study(self) -> tuple[StudySpec, str]:
        """Return the study that the options describe, and the text of its study file.

        Raises:
            typer.BadParameter: Options exclude each other, an option excludes a study file, or the value of an option
                is wrong. The message names the option.
            StudyFileError: The study file is wrong.
        """
        common_options.check_round_options(self.rounds, self.max_rounds)
        spec, text = self._from_options() if self.study_file is None else self._from_file(self.study_file)
        return replace(spec, ray=replace(spec.ray, address=self.ray_address or spec.ray.address)), text

    def new_or_same_study(self, say: Callable[[str], None] | None = None) -> tuple[StudySpec, str]:
        """Return the same study as `study`, with a name that no study with other settings has.

        Only a name that the program has chosen is changed. If a study of this name has other settings, `-2` is added to
        the name, or the next number for which there is no study or a study with the same settings.

        Args:
            say: Called with a sentence for the user if the name was changed.

        Raises:
            typer.BadParameter: As for `study`.
            StudyFileError: As for `study`.
        """
        spec, text = self.study()
        if self.name is not None or self.study_file is not None:
            return spec, text
        differing = _differing_settings(spec)
        if not differing:
            return spec, text
        candidates = (replace(spec, name=f"{spec.name}-{number}") for number in count(2))
        free = next(each for each in candidates if not _differing_settings(each))
        if say is not None:
            say(f"the study {spec.name} has other settings ({', '.join(differing)}), so this study is {free.name}")
        return free, changed_text(text, {"study": {"name": free.name}})

    def text_for_service(self, target: str | None) -> str:
        """Return the text of a study file for a service, which runs it on one of its own clusters.

        Args:
            target: The name of the cluster; None leaves the choice to the study file, or to the service.

        Raises:
            typer.BadParameter: As for `study`.
            StudyFileError: The study file is no valid YAML.
        """
        common_options.check_round_options(self.rounds, self.max_rounds)
        if self.study_file is not None:
            try:
                text = self.study_file.read_text(encoding="utf-8-sig")
            except (OSError, UnicodeDecodeError) as error:
                reason = error.strerror if isinstance(error, OSError) else error
                raise typer.BadParameter(
                    f"a study file must be readable text, but {self.study_file} is not: {reason}"
                ) from None
            default, _ = place_of(self.study_file)
            text = with_name(text, default) if default else text  # a service does not see the name of the file
            name = name_in(text, default, str(self.study_file))
            if name is None:  # this can't be a study file, and the service will say so
                return text
            return self._changed(text, name, self.study_file, {"target": target} if target else {})
        sections = self._sections_without_file(target or "service")
        if self.current is not None:  # the service can't read a file on this host, so its contents are sent
            with named_source(self.current.name):
                written_for = self.current_client or FileClient.AUTO
                file = read_producer_file(self.current, written_for, self._client)
                durability = str(sections.get("durability", "baseline"))
                file.check_floor(durability, DURABILITY.get(durability))
                sections["baseline"] = dict(file.values)
            sections.pop("baseline_client", None)
        return study_text({**sections, **({"target": target} if target else {})})

    @property
    def _client(self) -> Client:
        """The client that is searched and measured."""
        return client_of(self.client or "librdkafka")

    def default_name(self, target: str | None) -> str:
        """Return the default name of the study of a command without a study file.

        Args:
            target: The beginning of the name; None for `service`.
        """
        return str(self._sections_without_file(target or "service")["study"]["name"])

    def check_limits(self, spec: StudySpec) -> None:
        """Refuse a new study that has too little time or too few bytes to search and confirm all of its record sizes.

        Args:
            spec: The study that the options describe.

        Raises:
            typer.BadParameter: A limit is too low. The message names the lowest value, and says how to make the study
                smaller.
        """
        try:
            check_limits(spec)
        except LimitTooLow as error:
            raise typer.BadParameter(self._too_low(error)) from None

    def _too_low(self, error: LimitTooLow) -> str:
        smaller = "Fewer rounds (--rounds), one goal (--goal) or fewer record sizes make the study smaller, too"
        key = error.key.removeprefix("search.")
        if key != "max_bytes":
            smaller = f"{smaller}; `tuner plan` shows how long it takes"
            if not self.quick:
                quick_s = estimate.least_s(replace(self, quick=True).study()[0])
                smaller = f"With --quick, the study takes at least {clock_text(quick_s)}. {smaller}"
        where, least = "", f"--{key.replace('_', '-')} {error.least}"
        if self.study_file is not None and getattr(self, key) is None:
            where, least = f"{self.study_file}, {error.key}: ", f"{error.least} there, or {least}"
        return f"{where}{error.rule}; give at least {least}. {smaller}"

    def _from_options(self) -> tuple[StudySpec, str]:
        """Return the study of a command without a study file, and the text of a study file with its settings."""
        text = study_text(self._sections_without_file(self.bootstrap or self.container or "embedded"))
        with naming_options():
            spec = parse_study(
                text,
                name="study",
                folder=Path.cwd(),
                origin="the command line",
                advice="give --current-client java",
            )
            return spec, text

    def _sections_without_file(self, target: str) -> dict[str, Any]:
        """Return the sections of the study file of a command without a study file.

        Args:
            target: The beginning of the study's name if the user gave no name.
        """
        target_options.check_topic_options(self.topic, self.like, self.partitions, self.replication)
        target_options.check_simulated(
            self.executor,
            bootstrap=self.bootstrap,
            command_config=self.command_config,
            container=self.container,
            brokers=self.brokers,
        )
        sizes = sizes_in("100,1000" if self.record_bytes is None else self.record_bytes)
        name = self.name
        if name is None:
            made = "-".join(map(str, (target, *sizes)))
            name = re.sub(r"[^A-Za-z0-9_.-]+", "-", made).strip("-")[:80]
        sections = self._sections()
        sections["study"] = {"name": f"{name}{QUICK_SUFFIX}" if self.quick else name}
        sections.setdefault("workload", {})["record_bytes"] = sizes
        if self.method is Method.GRID:
            named = sections.get("space", {})
            if not named:
                raise typer.BadParameter(
                    "--method grid measures all combinations of the values of some properties, so name them: --knob "
                    "linger.ms=0,5,20 --knob batch.size=16384,262144"
                )
            sections["space"] = {**{knob.name: "off" for knob in self._client.knobs if knob.name not in named}, **named}
        return quick_sections(sections) if self.quick else sections

    def _from_file(self, file: Path) -> tuple[StudySpec, str]:
        """Return the study of a study file, with the limits and the confirmation that the options set."""
        begun = study_folder(file.name) / STUDY_FILE
        if (file.is_dir() or not file.exists()) and begun.is_file():
            raise typer.BadParameter(
                f"STUDY.YAML must be a study file, but {file} is a study; to resume it, run the command that began it "
                f"again, or: tuner run {shlex.quote(str(begun))}"
            )
        spec, text = read_study_file(file)
        changed = self._changed(text, spec.name, file)
        if changed == text:
            return spec, text
        with naming_options():
            return (
                parse_study(changed, name=spec.name, folder=place_of(file)[1], origin=str(file)),
                changed,
            )

    def _changed(self, text: str, name: str, file: Path, more: Mapping[str, Any] | None = None) -> str:
        """Return the text of a study file with the settings of the options; the same text if no option is given.

        With another client, the study gets another name.
        """
        for option, keys in _KEYS.items():
            changeable = keys[0].partition(".")[0] in _WITH_A_FILE and keys[0] not in _NEVER_CHANGED
            if not changeable and getattr(self, option) not in (None, []):
                raise typer.BadParameter(
                    f"--{option.replace('_', '-')} and a study file exclude each other: write the setting into {file}"
                )
        sections: dict[str, Any] = {**self._sections(), **(more or {})}
        search = sections.get("search", {})
        # A time limit replaces the limits in time and trials of the file. A number of trials replaces only `trials`.
        if self.hours is not None or self.until is not None:
            sections["search"] = {"hours": None, "until": None, **({} if self.quick else {"trials": None}), **search}
        if self.executor not in (None, Executor.RAY):
            zones = {"placement": None, "consumer_zone": None}
            sections["executor"] = {"kind": self.executor, "ray_address": None, **zones}
        if self.client is not None and changed_text(text, {"client": self.client}) != changed_text(text, {}):
            name = f"{name}-{self._client.kind}"
            text = renamed(text, name)
        if self.quick:
            text = quick_text(text, f"{name}{QUICK_SUFFIX}")
        return changed_text(text, sections) if sections else text

    def _sections(self) -> dict[str, Any]:
        """Return the settings of the given options by section and key of a study file."""
        sections: dict[str, Any] = {}
        for option, keys in _KEYS.items():
            value = getattr(self, option)
            if value in (None, []) or option in ("record_bytes", "name"):
                continue
            value = _knobs(value) if option == "knob" else value
            if isinstance(value, float) and not math.isfinite(value):
                value = str(value)  # YAML would call it .nan or .inf, and so would the error that refuses it
            for key in keys:
                *outer, last = key.split(".")
                section = sections
                for part in outer:
                    section = section.setdefault(part, {})
                section[last] = value
        return sections


@contextmanager
def naming_options(baseline: str = "--current") -> Iterator[None]:
    """Raise errors of a study file that was made from options as one error that names the options.

    Args:
        baseline: The option that names the baseline's properties file.

    Raises:
        ConfigError: The baseline's properties file is wrong.
        typer.BadParameter: The value of an option is wrong.
    """
    try:
        yield
    except StudyFileError as error:
        names = {
            problem: baseline if problem.key == "baseline" else option_of(problem.key) for problem in error.problems
        }
        message = "; ".join(dict.fromkeys(f"{name}: {problem.what}" for problem, name in names.items()))
        if set(names.values()) == {baseline}:  # the properties are wrong, not the command
            raise ConfigError(message) from None
        raise typer.BadParameter(message) from None


def option_of(key: str) -> str:
    """Return the option that sets a key of a study file, such as `--partitions`; the key itself if there is none."""
    if key == "target":  # at a service, the name of a cluster
        return "--target"
    if key.startswith("space."):
        knob = key.removeprefix("space.").partition(".choices[")[0]  # the message has the value, as it was typed
        return f"--knob {knob.removesuffix('.low').removesuffix('.high')}"
    for option, keys in _KEYS.items():
        if any(key == each or key.startswith((f"{each}.", f"{each}[")) for each in keys):
            return f"--{'goal' if option == 'goals' else option.replace('_', '-')}"
    return key


def _knobs(texts: list[str]) -> dict[str, Any]:
    """Return the section `space` of a study file from the values of `--knob`.

    Raises:
        typer.BadParameter: A value has no `=`, or a knob is named twice.
    """
    knobs: dict[str, Any] = {}
    for text in texts:
        name, equals, values = text.partition("=")
        name = name.strip()
        if not equals or not name or not values.strip():
            raise typer.BadParameter(f"--knob must read NAME=VALUES, such as linger.ms=0..20, but got {text!r}")
        if name in knobs:
            raise typer.BadParameter(f"--knob must name each property once, but {name} was given twice")
        knobs[name] = setting = knob_setting(values)
        low, high = (setting.get(key) if isinstance(setting, dict) else None for key in ("low", "high"))
        if isinstance(low, int | float) and isinstance(high, int | float) and low > high:
            before, _, after = values.strip().partition("..")
            last, comma, more = after.partition(",")
            raise typer.BadParameter(
                f"--knob {text}: the range must begin with the smaller number: {name}={last}..{before}{comma}{more}"
            )
    return knobs


def _differing_settings(spec: StudySpec) -> list[str]:
    """Return the keys whose values differ between a study and the trials that are stored under its name."""
    folder, storage = study_folder(spec.name), storage_at()
    if not storage.has(folder):
        return []
    with closing(storage.read(folder)) as store:
        identity = store.facts().get(IDENTITY)
        return [*setting_changes(study_identity(spec), identity)] if identity and store.trials(limit=1) else []
