"""The functions that read an experiment file, and the experiments that come with the tuner."""

import itertools
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import resources
from pathlib import Path
from typing import Any, Final

from pydantic import ValidationError

from runners.errors import WorkloadRefused
from runners.ray_cluster import RayCluster
from search_spaces.errors import ConfigError, RuleBroken
from search_spaces.producer_config import ProducerConfig
from search_spaces.record_size import check_record
from search_spaces.roles import Role
from tuner.experiment_file.findings import finding_of, is_complete, paper_value_of
from tuner.experiment_file.searches import Searches, best_of, is_searched
from tuner.experiment_file.sections import (
    LOAD_KEYS,
    ExperimentFile,
    LoadSection,
    Settings,
)
from tuner.model.experiment import FEWEST_FOR_TREND, ExperimentSpec, Finding, Row, RowValue, Search, setting_text
from tuner.model.spec import SafetySpec, TrackingSpec
from tuner.model.target import Target
from tuner.study_file.building import check_ray_address, target_of
from tuner.study_file.checking import FileForm
from tuner.study_file.errors import (
    FileProblem,
    KeyPath,
    Problems,
    Refusal,
    Refused,
    StudyFileError,
    did_you_mean,
)
from tuner.study_file.loading import text_of
from tuner.study_file.properties import Files, read_properties_of
from tuner.study_file.strict_yaml import Plain, fill_in, read_yaml, refuse_passwords

PAPERS: Final = "papers"
"""The name of all experiments that come with the tuner and were described by a paper."""
_ONLY_TO_RUN: Final = frozenset({"tracking", "executor"})
_ONLY_TO_CONNECT: Final = frozenset({"command_config", "properties"})
QUICK_SUFFIX: Final = "-quick"
"""What is added to an experiment's name for its quick form, because its results are kept separately."""
_PACKAGE: Final = "tuner.experiments"
_ROW: Final = "row"
MOST_VALUES: Final = 10_000
"""How many values an experiment file may have: more than a study file, for the figures of a paper."""
_FORM: Final = FileForm(
    ExperimentFile,
    "an experiment file",
    "the shortest one is `about: acks` and `vary: {acks: [1, all]}`",
)


def named_experiments() -> dict[str, str]:
    """Return the text of each experiment file that comes with the tuner, by the experiment's name."""
    files = sorted(resources.files(_PACKAGE).iterdir(), key=lambda file: file.name)
    return {
        file.name.removesuffix(".yaml"): file.read_text(encoding="utf-8")
        for file in files
        if file.name.endswith(".yaml")
    }


def paper_experiments() -> list[str]:
    """Return the names of the experiments that come with the tuner and were described by a paper."""
    return [name for name in named_experiments() if read_experiment(name)[0].source]


def read_experiment(
    named: str, environ: Mapping[str, str] = os.environ, *, quick: bool = False
) -> tuple[ExperimentSpec, str]:
    """Read an experiment that comes with the tuner, or an experiment file.

    Args:
        named: The name of the experiment, or the path of a file.
        environ: Environment variables for `${NAME}`.
        quick: Whether to return the quick form.

    Returns:
        The experiment, and the text of its file, in which variables are not replaced by their values.

    Raises:
        StudyFileError: The file can't be read, or is no valid experiment; the message names every problem.
    """
    known = named_experiments()
    if named in known:
        text, name, folder, origin = known[named], named, None, f"the experiment {named}"
    else:
        path = Path(named)
        if not path.is_file():
            advice = did_you_mean(named, known)
            rule = f"it must be a file, or one of the experiments that come with the tuner: {', '.join(known)}"
            raise StudyFileError(named, [FileProblem(0, "", f"{rule}; {advice}" if advice else rule)])
        text, name, folder, origin = text_of(path, "an experiment file"), path.stem, path.parent, named
    spec = parse_experiment(text, name=name, folder=folder, origin=origin, environ=environ, quick=quick)
    return spec, text


def parse_experiment(
    text: str,
    *,
    name: str,
    folder: Path | None,
    origin: str,
    environ: Mapping[str, str] = os.environ,
    quick: bool = False,
) -> ExperimentSpec:
    """Read the text of an experiment file.

    Args:
        text: The text, in YAML.
        name: Name of the experiment if the text gives none.
        folder: Folder to which paths are relative; None if the text must not name local files.
        origin: Name of the text in messages.
        environ: Environment variables for `${NAME}`.
        quick: Whether to return the quick form.

    Raises:
        StudyFileError: The text is no valid experiment; the message names every problem.
    """
    problems = Problems(origin, MOST_VALUES)
    written = read_yaml(text, problems)
    refuse_passwords(written, problems)
    return _built(written, name, Files(folder, problems), problems, quick, environ)


def parse_stored_experiment(text: str, *, name: str, bootstrap: str | None) -> ExperimentSpec:
    """Read the experiment file that was stored with results.

    What only a run needs is left out: the settings of connections, where MLflow is, and where the clients run. So
    neither the files nor the variables that these name need to be there.

    Args:
        text: The text, in YAML.
        name: Name of the experiment, with that of its form.
        bootstrap: Address of the cluster that was measured; None if the brokers were started for it.

    Raises:
        StudyFileError: The text is no valid experiment; the message names every problem.
    """
    problems = Problems(f"the experiment {name}", MOST_VALUES)
    written = read_yaml(text, problems)
    if isinstance(written, dict):
        written = {key: value for key, value in written.items() if key not in _ONLY_TO_RUN}
        if isinstance(target := written.get("target"), dict):
            target = {key: value for key, value in target.items() if key not in _ONLY_TO_CONNECT}
            written["target"] = {**target, "bootstrap": bootstrap} if "bootstrap" in target else target
    full_name, quick = name.removesuffix(QUICK_SUFFIX), name.endswith(QUICK_SUFFIX)
    spec = _built(written, full_name, Files(Path.cwd(), problems), problems, quick, os.environ)
    if bootstrap is None or spec.target.bootstrap is not None:
        return spec
    return replace(spec, target=Target(bootstrap))


def _built(
    written: Plain, name: str, files: Files, problems: Problems, quick: bool, environ: Mapping[str, str]
) -> ExperimentSpec:
    file = _FORM.check(fill_in(written, environ, problems), problems)
    assert isinstance(written, dict), "the form of the file was checked"
    return _Builder(file, name, files, problems, quick, written, environ).experiment()


@dataclass(frozen=True, slots=True)
class _Builder:
    """Makes an experiment from the sections of its file, and notes what does not fit together."""

    file: ExperimentFile
    name: str
    files: Files
    problems: Problems
    quick: bool
    written: Mapping[str, Any]
    environ: Mapping[str, str]

    @property
    def full_name(self) -> str:
        """The name of the experiment, with that of its form."""
        return (self.file.experiment or self.name) + (QUICK_SUFFIX if self.quick else "")

    def experiment(self) -> ExperimentSpec:
        file = self.file
        target = target_of(file.target, ("target",), self.files)
        rows = tuple(self._rows())
        self.problems.stop_if_any()
        self._check_rows(rows, target.brokers if target.bootstrap is None else None)
        control = self._control(rows)
        findings = tuple(self._findings(rows))
        check_ray_address(file.executor.ray_address, self.problems)
        searches = tuple(self._searches().of(rows))
        self.problems.stop_if_any()
        try:
            return self._spec(rows, control, findings, target, searches)
        except WorkloadRefused as error:
            self.problems.add(("rows",) if file.rows else ("load",), str(error))
            self.problems.stop_if_any()
            raise

    def _searches(self) -> Searches:
        most = (self.file.quick if self.quick else self.file.safety).max_bytes_per_trial
        name, files = self.full_name, self.files
        return Searches(self.written, name, self.quick, most, files, self.environ, self.problems)

    def _spec(
        self,
        rows: tuple[Row, ...],
        control: str,
        findings: tuple[Finding, ...],
        target: Target,
        searches: tuple[Search, ...],
    ) -> ExperimentSpec:
        file = self.file
        return ExperimentSpec(
            name=self.full_name,
            about=file.about,
            source=file.source or "",
            client=file.client,
            rows=rows,
            control=control,
            control_every=file.control_every,
            rounds=file.quick.rounds if self.quick else file.rounds,
            seed=file.seed,
            metrics=tuple(file.metrics),
            target=target,
            findings=findings,
            paper_values=tuple(paper_value_of(each) for each in file.paper_values),
            differences=tuple(file.differences),
            tracking=TrackingSpec(
                uri=file.tracking.uri, experiment=file.tracking.experiment, enabled=file.tracking.enabled
            ),
            safety=SafetySpec(
                max_bytes_per_trial=(file.quick if self.quick else file.safety).max_bytes_per_trial,
                min_free_disk_bytes=file.safety.min_free_disk,
                max_failures_in_a_row=file.safety.max_failures_in_a_row,
                broker_wait_s=file.safety.broker_wait,
            ),
            searches=searches,
            ray=self._ray(target),
        )

    def _ray(self, target: Target) -> RayCluster | None:
        asked = self.file.executor
        if asked.ray_address is None:
            return None
        return RayCluster(asked.ray_address, asked.ray_code, asked.ray_wait, target.of_this_host_only)

    def _rows(self) -> Iterator[Row]:
        file = self.file
        vary = {**file.vary, **(file.quick.vary if self.quick else {})}
        if unknown := set(file.quick.vary) - set(file.vary):
            self.problems.add(("quick", "vary"), f"{', '.join(sorted(unknown))} must be a setting of the section vary")
        combinations = [dict(zip(vary, each, strict=True)) for each in itertools.product(*vary.values())]
        rows = []
        for position, given in enumerate(file.rows or [{}]):
            for combination in combinations:
                place: KeyPath = ("rows", position) if file.rows else ("vary",) if file.vary else ("load",)
                row = self._row(given, combination, place)
                if row is not None:
                    rows.append(row)
        yield from self._without_excluded(rows)

    def _without_excluded(self, rows: Sequence[Row]) -> list[Row]:
        """Return the rows that are not left out. Note a problem for each combination that leaves out no row."""
        excluded: list[tuple[KeyPath, Mapping[str, Sequence[RowValue]], bool]] = [
            # A combination of the full form may have values that the quick form does not have.
            *((("exclude", position), each, not self.quick) for position, each in enumerate(self.file.exclude)),
            *((("quick", "exclude", position), each, True) for position, each in enumerate(self._quick_exclude())),
        ]
        left = list(rows)
        for place, values, needed in excluded:
            if needed and not any(_has_one_of_each(row, values) for row in rows):
                self.problems.add(place, "a combination must leave out at least one row, but no row has these values")
            left = [row for row in left if not _has_one_of_each(row, values)]
        if rows and not left:
            self.problems.add(("exclude",), "at least one row must be left")
        return left

    def _row(self, given: Settings, combination: Settings, place: KeyPath) -> Row | None:
        """Return a row; or note which settings are refused, and return None.

        Args:
            given: The settings of the row in the section `rows`.
            combination: The settings of the row from the section `vary`.
            place: Where the settings stand in the file.
        """
        file, settings = self.file, {**given, **combination}
        settings.pop(_ROW, None)
        load = {name: getattr(file.load, name) for name in file.load.model_fields_set} | dict(self._quick_load())
        load |= {name: value for name, value in settings.items() if name in LOAD_KEYS}
        others = {name: value for name, value in settings.items() if name not in LOAD_KEYS}
        searched = is_searched(settings)
        best = best_of(settings, place, self.problems) if searched else None
        if searched and best is None:
            return None
        properties = {**file.config, **({} if searched else others)}
        try:
            section = _load(load, file.load)
            config = ProducerConfig.parse(read_properties_of(file.client, properties, Role.PRODUCER), file.client)
            workload = section.workload(file.seed)
            check_record(config, workload.record_sizes.largest_bytes, workload.key_bytes or None)
        except Refused as error:
            for refusal in error.refusals:
                self.problems.refuse(place, refusal, {**load, **properties}.get(str(*refusal.within[-1:])))
            return None
        except (ConfigError, RuleBroken, WorkloadRefused) as error:
            self.problems.add(place, str(error))
            return None
        named = str(given.get(_ROW, ""))
        varied = dict(settings)
        shown = combination if named else varied
        name = ", ".join(part for part in (named, _in_words(shown)) if part) or "the only row"
        if named:
            varied = {_ROW: named, **varied}
        self._check_readers(section, place)
        return Row(name, varied, config, workload, section.setup(), best)

    def _check_readers(self, load: LoadSection, place: KeyPath) -> None:
        """Check that a row without producers has stored records, and that consumers have partitions."""
        if not load.producers and not (load.stored_bytes and load.consumers):
            self.problems.add(place, "a row with `producers: 0` needs stored_bytes and consumers")
        most = (self.file.quick if self.quick else self.file.safety).max_bytes_per_trial
        if load.stored_bytes > most:
            self.problems.add(
                place,
                f"stored_bytes <= safety.max_bytes_per_trial must hold, but {load.stored_bytes:,} > {most:,}; raise "
                "the limit",
            )
        if load.stored_bytes and self.file.target.topic is not None:
            self.problems.add(place, "stored_bytes needs a topic of its own; leave target.topic out")
        if load.consumer_zone is not None and not load.consumers:
            self.problems.add(place, "a row with consumer_zone needs consumers")
        if (load.placement or load.consumer_zone is not None) and not load.producers:
            self.problems.add(place, "a row with `producers: 0` is measured on this host; leave its zones out")
        if len(load.placement) > load.producers > 0:
            self.problems.add(place, "each zone of placement needs at least one producer; raise producers")
        if load.consumers > load.partitions:
            self.problems.add(
                place,
                f"each consumer needs a partition of its own, but {load.consumers} consumers have {load.partitions}",
            )

    def _quick_load(self) -> Settings:
        return self.file.quick.load if self.quick else {}

    def _quick_exclude(self) -> Sequence[Mapping[str, Sequence[RowValue]]]:
        return self.file.quick.exclude if self.quick else ()

    def _check_rows(self, rows: Sequence[Row], brokers: int | None) -> None:
        seen: set[str] = set()
        for row in rows:
            if row.name in seen:
                self.problems.add(("rows",), f"each row must have a name of its own, but two are named {row.name!r}")
            seen.add(row.name)
            if brokers is not None and row.workload.replication > brokers:
                self.problems.add(
                    ("target", "brokers"),
                    f"replication must be at most the number of brokers, but the row {row.name!r} asks for "
                    f"{row.workload.replication} replicas; raise target.brokers",
                )

    def _control(self, rows: Sequence[Row]) -> str:
        asked = self.file.control
        if asked is None:
            return rows[0].name
        found = [row.name for row in rows if row.matches(asked)]
        if not found and self.quick:
            return rows[0].name
        if len(found) != 1:
            self.problems.add(("control",), f"the control must be one row, but {len(found)} rows have these settings")
            return rows[0].name
        return found[0]

    def _check_trend(self, rows: Sequence[Row], of: Settings, along: str, place: KeyPath) -> None:
        """Check that a trend has rows enough. The quick form may leave rows out."""
        numbers = {row.number(along) for row in rows if row.matches(of)} - {None, 0.0}
        if len(numbers) < FEWEST_FOR_TREND and not self.quick:
            self.problems.add(
                (*place, "along"),
                f"a trend needs rows with at least {FEWEST_FOR_TREND} different numbers of {along} above 0, but "
                f"{len(numbers)} were found",
            )

    def _findings(self, rows: Sequence[Row]) -> Iterator[Finding]:
        seen: set[str] = set()
        for position, each in enumerate(self.file.findings):
            place: KeyPath = ("findings", position)
            if each.id in seen:
                self.problems.add((*place, "id"), f"each finding needs an id of its own; {each.id} is listed twice")
            seen.add(each.id)
            if not is_complete(each):
                rule = (
                    "a finding needs `of` and `over`, or `of` and `limit`, or `order`, or `along` with or without `of`"
                )
                self.problems.add(place, rule)
                continue
            finding = finding_of(each)
            if each.along:
                self._check_trend(rows, each.of or {}, each.along, place)
                yield finding
                continue
            for compared in finding.comparisons:
                for selected in (compared.of, compared.over or compared.of):
                    count = sum(row.matches(selected) for row in rows)
                    if count > 1 or not (count or self.quick):
                        self.problems.add(
                            place, f"one row must have the settings {_in_words(selected)}, but {count} rows have them"
                        )
            yield finding


def _load(values: Mapping[str, Any], defaults: LoadSection) -> LoadSection:
    """Return the load with these settings, which may be values as a file writes them or values already read.

    Raises:
        Refused: A setting is refused. The path of the refusal begins with the setting.
    """
    unread = {name: value for name, value in values.items() if isinstance(value, str | int | float)}
    read = {name: value for name, value in values.items() if name not in unread}
    try:
        section = LoadSection.model_validate(unread)
    except ValidationError as error:
        refusals: list[Refusal] = []
        for misfit in error.errors(include_url=False):
            inner = misfit.get("ctx", {}).get("error")
            for each in inner.refusals if isinstance(inner, Refused) else (Refusal(misfit["msg"]),):
                refusals.append(Refusal(each.rule, each.advice, each.detail, (str(misfit["loc"][0]), *each.within)))
        raise Refused(*refusals) from None
    return section.model_copy(update=read)


def _has_one_of_each(row: Row, values: Mapping[str, Sequence[RowValue]]) -> bool:
    """Return whether a row has, for each setting, one of the listed values."""
    return all(any(row.matches({name: value}) for value in listed) for name, listed in values.items())


def _in_words(settings: Settings) -> str:
    return " ".join(f"{name}={setting_text(value)}" for name, value in settings.items() if name != _ROW)
