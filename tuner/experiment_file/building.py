"""Turns checked sections into an `ExperimentSpec`: makes its rows, and checks that settings fit together."""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from pydantic import ValidationError

from runners.errors import WorkloadRefused
from runners.reporting import counted
from search_spaces.configs.producer_config import ProducerConfig, check_record
from search_spaces.errors import ConfigError
from search_spaces.properties.catalogue import Role
from tuner.experiment_file.findings import finding_of, is_complete, selection_problem
from tuner.experiment_file.searches import Searches, best_of, is_searched
from tuner.experiment_file.sections import LOAD_KEYS, ExperimentFile, LoadSection, Settings
from tuner.model.experiment import ExperimentSpec, Search
from tuner.model.paper import FEWEST_FOR_TREND, Finding, PaperValue
from tuner.model.row import Row, RowValue, setting_text
from tuner.model.spec import RaySpec
from tuner.model.target import Target
from tuner.study_file.checking import FileKind
from tuner.study_file.errors import KeyPath, Problems, Refusal, Refused
from tuner.study_file.properties import Files, read_properties_of
from tuner.study_file.strict_yaml import Plain, fill_in
from tuner.study_file.targets import check_ray_address, target_of
from tuner.study_file.writing import QUICK_SUFFIX

_ROW: Final = "row"
_FILE_KIND: Final = FileKind(
    ExperimentFile,
    "an experiment file",
    "the shortest one is `about: acks` and `vary: {acks: [1, all]}`",
)


def build_experiment(
    written: Plain, name: str, files: Files, quick: bool, bootstrap: str | None = None
) -> ExperimentSpec:
    """Return the experiment that a file describes.

    Args:
        written: The content of the file.
        name: Name of the experiment if the file gives none.
        files: Reads the files that the experiment file names, and knows the problems and the environment variables.
        quick: Whether to return the quick version.
        bootstrap: Address of the user's cluster on which the experiment runs in place of the file's target; None if
            there is none. The experiment that is returned still has the target of the file.

    Raises:
        StudyFileError: The file is no valid experiment; the message names every problem.
    """
    file = _FILE_KIND.check(fill_in(written, files.environ, files.problems), files.problems)
    assert isinstance(written, dict), "the form of the file was checked"
    return ExperimentBuilder(file, name, files, files.problems, quick, written, bootstrap).experiment()


@dataclass(frozen=True, slots=True)
class ExperimentBuilder:
    """Makes an experiment from the sections of its file, and notes settings that do not fit together.

    The attributes are the checked sections, and then the arguments of `build_experiment`.
    """

    file: ExperimentFile
    name: str
    files: Files
    problems: Problems
    quick: bool
    written: Mapping[str, Any]
    bootstrap: str | None

    @property
    def full_name(self) -> str:
        """The name of the experiment, with that of its version."""
        return (self.file.experiment or self.name) + (QUICK_SUFFIX if self.quick else "")

    def experiment(self) -> ExperimentSpec:
        """Return the experiment.

        Raises:
            StudyFileError: The file is no valid experiment; the message names every problem.
        """
        file = self.file
        target = target_of(file.target, ("target",), self.files)
        rows = tuple(self._rows())
        self.problems.stop_if_any()
        self._check_rows(rows, target)
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
        name, files, most = self.full_name, self.files, self._most_bytes
        target = {} if self.bootstrap is None else {"target": {"bootstrap": self.bootstrap}}
        return Searches({**self.written, **target}, name, self.quick, most, files, self.problems)

    @property
    def _most_bytes(self) -> int:
        """The largest number of bytes that a measurement may send."""
        return (self.file.quick if self.quick else self.file.safety).max_bytes_per_trial

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
            paper_values=tuple(PaperValue(each.row, each.values, each.source) for each in file.paper_values),
            differences=tuple(file.differences),
            tracking=file.tracking.spec(),
            safety=replace(file.safety.spec(), max_bytes_per_trial=self._most_bytes),
            searches=searches,
            ray=RaySpec(file.executor.ray_address, file.executor.ray_code, file.executor.ray_wait),
        )

    def _rows(self) -> Iterator[Row]:
        file = self.file
        vary = {**file.vary, **(file.quick.vary if self.quick else {})}
        if unknown := set(file.quick.vary) - set(file.vary):
            self.problems.add(("quick", "vary"), f"{', '.join(sorted(unknown))} must be a setting of the section vary")
        combinations = [dict(zip(vary, each, strict=True)) for each in itertools.product(*vary.values())]
        rows = []
        for position, row_settings in enumerate(file.rows or [{}]):
            for combination in combinations:
                key_path: KeyPath = ("rows", position) if file.rows else ("vary",) if file.vary else ("load",)
                row = self._row(row_settings, combination, key_path)
                if row is not None:
                    rows.append(row)
        yield from self._without_excluded(rows)

    def _without_excluded(self, rows: Sequence[Row]) -> list[Row]:
        """Return the rows that are not left out. Note a problem for each combination that leaves out no row."""
        of_quick = self.file.quick.exclude if self.quick else ()
        excluded: list[tuple[KeyPath, Mapping[str, Sequence[RowValue]], bool]] = [
            # A combination of the full version may have values that the quick version does not have.
            *((("exclude", position), each, not self.quick) for position, each in enumerate(self.file.exclude)),
            *((("quick", "exclude", position), each, True) for position, each in enumerate(of_quick)),
        ]
        left = list(rows)
        for key_path, values, needed in excluded:
            if needed and not any(_has_one_of_each(row, values) for row in rows):
                self.problems.add(
                    key_path, "a combination must leave out at least one row, but no row has these values; correct them"
                )
            left = [row for row in left if not _has_one_of_each(row, values)]
        if rows and not left:
            self.problems.add(("exclude",), "exclude must leave at least one row; name fewer combinations")
        return left

    def _row(self, row_settings: Settings, combination: Settings, key_path: KeyPath) -> Row | None:
        """Return a row. If settings are refused, note the problems and return None.

        Args:
            row_settings: The settings of the row in the section `rows`.
            combination: The settings of the row from the section `vary`.
            key_path: The key path of the settings in the file.
        """
        file, settings = self.file, {**row_settings, **combination}
        settings.pop(_ROW, None)
        load = {
            **{name: getattr(file.load, name) for name in file.load.model_fields_set},
            **(file.quick.load if self.quick else {}),
            **{name: value for name, value in settings.items() if name in LOAD_KEYS},
        }
        others = {name: value for name, value in settings.items() if name not in LOAD_KEYS}
        searched = is_searched(settings)
        best = best_of(settings, key_path, self.problems) if searched else None
        if searched and best is None:
            return None
        properties = {**file.config, **({} if searched else others)}
        try:
            section = _load(load)
            config = ProducerConfig.parse(read_properties_of(file.client, properties, Role.PRODUCER), file.client)
            workload = section.workload(file.seed)
            check_record(config, workload.record_sizes.largest_bytes, workload.key_bytes or None)
        except Refused as error:
            for refusal in error.refusals:
                self.problems.refuse(key_path, refusal, {**load, **properties}.get(str(*refusal.within[-1:])))
            return None
        except (ConfigError, WorkloadRefused) as error:
            self.problems.add(key_path, str(error))
            return None
        named = str(row_settings.get(_ROW, ""))
        varied = dict(settings)
        shown = combination if named else varied
        name = ", ".join(part for part in (named, _in_words(shown)) if part) or "the only row"
        if named:
            varied = {_ROW: named, **varied}
        self._check_readers(section, key_path)
        return Row(name, varied, config, workload, section.setup(), best)

    def _check_readers(self, load: LoadSection, key_path: KeyPath) -> None:
        """Check that a row without producers has stored records, and that consumers have partitions."""
        if not load.producers and not (load.stored_bytes and load.consumers):
            self.problems.add(key_path, "a row with `producers: 0` needs stored_bytes and consumers")
        most = self._most_bytes
        if load.stored_bytes > most:
            self.problems.add(
                key_path,
                f"stored_bytes <= safety.max_bytes_per_trial must hold, but {load.stored_bytes:,} > {most:,}; raise "
                "the limit",
            )
        if load.stored_bytes and self.file.target.topic is not None:
            self.problems.add(key_path, "stored_bytes needs a topic of its own; leave target.topic out")
        if load.consumer_zone is not None and not load.consumers:
            self.problems.add(
                key_path, "a row with consumer_zone needs consumers; set consumers, or leave consumer_zone out"
            )
        if (load.placement or load.consumer_zone is not None) and not load.producers:
            self.problems.add(key_path, "a row with `producers: 0` is measured on this host; leave its zones out")
        if len(load.placement) > load.producers > 0:
            self.problems.add(key_path, "each zone of placement needs at least one producer; raise producers")
        # The partitions of the user's own topic, or of a topic like it, are counted when the consumers begin to read.
        makes_topic = self.file.target.topic is None and self.file.target.like is None
        if makes_topic and load.consumers > load.partitions:
            self.problems.add(
                key_path,
                f"each consumer needs a partition of its own, but there are {load.consumers} consumers and "
                f"{counted(load.partitions, 'partition')}; raise partitions, or lower consumers",
            )

    def _check_rows(self, rows: Sequence[Row], target: Target) -> None:
        ours = target.bootstrap is None and self.bootstrap is None
        names: set[str] = set()
        for row in rows:
            if row.name in names:
                self.problems.add(
                    ("rows",), f"each row must have a name of its own, but two are named {row.name!r}; rename one"
                )
            names.add(row.name)
            if ours and row.workload.replication > target.brokers:
                self.problems.add(
                    ("target", "brokers"),
                    f"replication must be at most the number of brokers, but the row {row.name!r} asks for "
                    f"{row.workload.replication} replicas with {counted(target.brokers, 'broker')}; "
                    f"{'leave container out and ' if target.container else ''}raise target.brokers",
                )

    def _control(self, rows: Sequence[Row]) -> str:
        control = self.file.control
        if control is None:
            return rows[0].name
        names = [row.name for row in rows if row.matches(control)]
        if not names and self.quick:
            return rows[0].name
        if len(names) != 1:
            self.problems.add(
                ("control",),
                f"the control must be one row, but {len(names)} rows have these settings; give the settings of one row",
            )
            return rows[0].name
        return names[0]

    def _check_trend(self, rows: Sequence[Row], of: Settings, along: str, key_path: KeyPath) -> None:
        """Check that a trend has enough rows. The quick version may leave rows out."""
        numbers = {row.number(along) for row in rows if row.matches(of)} - {None, 0.0}
        if len(numbers) < FEWEST_FOR_TREND and not self.quick:
            self.problems.add(
                (*key_path, "along"),
                f"a trend needs rows with at least {FEWEST_FOR_TREND} different numbers of {along} above 0, but "
                f"{len(numbers)} were found",
            )

    def _findings(self, rows: Sequence[Row]) -> Iterator[Finding]:
        ids: set[str] = set()
        for position, section in enumerate(self.file.findings):
            key_path: KeyPath = ("findings", position)
            if section.id in ids:
                self.problems.add(
                    (*key_path, "id"), f"each finding needs an id of its own; {section.id} is listed twice"
                )
            ids.add(section.id)
            if not is_complete(section):
                self.problems.add(
                    key_path,
                    "a finding needs `of` and `over`, or `of` and `limit`, or `order` alone, or `along` with or "
                    "without `of`",
                )
                continue
            finding = finding_of(section)
            if section.along:
                self._check_trend(rows, section.of or {}, section.along, key_path)
                yield finding
                continue
            for compared in finding.comparisons:
                for selected in (compared.of, compared.over or compared.of):
                    if problem := selection_problem(selected, rows, quick=self.quick):
                        self.problems.add(key_path, problem)
            yield finding


def _load(values: Mapping[str, Any]) -> LoadSection:
    """Return the load with these settings, which may be values from YAML or converted values.

    Raises:
        Refused: A setting is wrong. The path in the error begins with the name of the setting.
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
