"""Reads the section `searches` of an experiment file: studies that run first, to find the configs of some rows."""

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from tuner.experiment_file.sections import LOAD_KEYS, Settings
from tuner.model.experiment import Search
from tuner.model.goals import Goal
from tuner.model.row import BestOf, Row
from tuner.model.spec import Executor
from tuner.study_file import parse_study
from tuner.study_file.errors import KeyPath, Problems, StudyFileError
from tuner.study_file.properties import Files
from tuner.study_file.sections import WorkloadSection
from tuner.study_file.writing import changed_text, searching_text

SEARCH, GOAL = "search", "goal"
"""The settings by which a row gets its config from a search."""
_RECORD_BYTES = "record_bytes"
_SHARED: Final = LOAD_KEYS & set(WorkloadSection.model_fields) - {_RECORD_BYTES}
"""The settings of a load that a study's workload has, too."""
_ZONES: Final = frozenset({"placement", "consumer_zone"})
"""The settings of a load that a study's executor has."""


def is_searched(settings: Settings) -> bool:
    """Return whether a row with these settings is measured with the result of a search."""
    return SEARCH in settings or GOAL in settings


def best_of(settings: Settings, key_path: KeyPath, problems: Problems) -> BestOf | None:
    """Return which search finds the config of a row. If settings are refused, note the problems and return None.

    Args:
        settings: All settings of the row.
        key_path: The key path of the settings in the file.
        problems: Collects the problems that are found.
    """
    goal = settings.get(GOAL)
    if SEARCH not in settings or goal not in list(Goal):
        rule = "a row that takes its config from a search needs `search`, the name of a search, and `goal`, which is"
        problems.add(key_path, f"{rule} {', '.join(Goal)}")
        return None
    if fixed := sorted(_SHARED & set(settings)):
        rule = "a row that takes its config from a search has the load that was searched, so it can't set"
        problems.add(key_path, f"{rule} {', '.join(fixed)}; put it into the section load")
        return None
    if more := sorted(set(settings) - LOAD_KEYS - {SEARCH, GOAL}):
        problems.add(key_path, f"a row that takes its config from a search can't set {', '.join(more)}")
        return None
    return BestOf(str(settings[SEARCH]), Goal(goal))


@dataclass(frozen=True, slots=True)
class Searches:
    """Reads the section `searches` of an experiment file.

    Attributes:
        written: The sections of the file, in which environment variables are not replaced.
        experiment: Name of the experiment.
        quick: Whether this is the quick version.
        max_bytes_per_trial: The largest number of bytes that a trial of a search may send.
        files: Reads the files that the experiment file names.
        problems: Collects the problems that are found.
    """

    written: Mapping[str, Any]
    experiment: str
    quick: bool
    max_bytes_per_trial: int
    files: Files
    problems: Problems

    def of(self, rows: Sequence[Row]) -> Iterator[Search]:
        """Yield the searches that these rows need. Each search has the record sizes of its rows."""
        sections_by_name = self.written.get("searches") or {}
        for name in sorted({row.best_of.search for row in rows if row.best_of is not None} - set(sections_by_name)):
            names = ", ".join(sections_by_name) or "none"
            self.problems.add(("rows",), f"the search {name!r} must be one of the section searches: {names}")
        for name, sections in sections_by_name.items():
            mine = [row for row in rows if row.best_of is not None and row.best_of.search == name]
            if not mine and not self.quick:
                self.problems.add(
                    ("searches", name),
                    f"a search needs a row that takes its config from it; add `search: {name}` to a row, or remove it",
                )
            if mine and (search := self._search(name, sections, mine)) is not None:
                yield search

    def _search(self, name: str, sections: Mapping[str, Any], rows: Sequence[Row]) -> Search | None:
        """Return a search. If it is refused, note the problem and return None."""
        sizes = list(dict.fromkeys(str(row.workload.record_sizes) for row in rows))
        study, key_path = f"{self.experiment}-{name}", ("searches", name)
        text = searching_text(
            self.written,
            study,
            sizes,
            sections,
            load=self._load(_SHARED),
            executor=self._executor(sections),
            max_bytes_per_trial=self.max_bytes_per_trial,
        )
        try:
            spec = parse_study(text, name=study, folder=self.files.folder, origin=study, environ=self.files.environ)
        except StudyFileError as error:
            for each in error.problems:
                self.problems.add(key_path, f"{_as_written(each.key)}: {each.what}")
            return None
        if spec.search.trials is None:
            self.problems.add((*key_path, "search"), "a search needs `trials`, so that its time is known")
            return None
        return Search(name, spec, text)

    def _executor(self, sections: Mapping[str, Any]) -> dict[str, Any]:
        """Return the section executor of a search.

        If the search runs in Ray's workers, it uses the experiment's Ray cluster and zones.
        """
        own = sections.get("executor") or {}
        if own.get("kind", Executor.RAY) != Executor.RAY:
            return dict(own)
        return {**(self.written.get("executor") or {}), **self._load(_ZONES), **own}

    def _load(self, keys: Set[str]) -> dict[str, Any]:
        """Return those settings of the load that have one of these keys."""
        quick = (self.written.get("quick") or {}).get("load") or {}
        load = {**(self.written.get("load") or {}), **(quick if self.quick else {})}
        return {key: value for key, value in load.items() if key in keys}


def _as_written(key: str) -> str:
    """Return the name of a study file's key in an experiment file, in which the baseline is the section `config`."""
    first, dot, rest = key.partition(".")
    return f"config{dot}{rest}" if first == "baseline" else key


def on_cluster(search: Search, bootstrap: str, command_config: Path | None) -> Search:
    """Return the search with another cluster than the one in its file.

    Args:
        search: The search.
        bootstrap: Address of the cluster.
        command_config: File with the connection settings.
    """
    name, text = search.study.name, changed_text(search.text, {"target": None})
    text = changed_text(text, {"target": {"bootstrap": bootstrap, "command_config": command_config}})
    return replace(search, text=text, study=parse_study(text, name=name, folder=Path.cwd(), origin=name))


def on_ray(search: Search, address: str) -> Search:
    """Return the search with another Ray cluster; a search that runs without Ray is returned unchanged."""
    if search.study.executor is not Executor.RAY:
        return search
    text = changed_text(search.text, {"executor": {"ray_address": address}})
    return replace(search, text=text, study=replace(search.study, ray=replace(search.study.ray, address=address)))
