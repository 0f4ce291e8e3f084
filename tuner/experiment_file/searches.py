"""Reads the searches of an experiment file: studies that run before the rows, which take their configs from them."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from search_spaces.errors import ConfigError
from tuner.experiment_file.sections import LOAD_KEYS, Settings
from tuner.model.experiment import BestOf, Row, Search
from tuner.model.spec import Goal
from tuner.study_file import parse_study
from tuner.study_file.errors import KeyPath, Problems, StudyFileError
from tuner.study_file.properties import Files
from tuner.study_file.sections import WorkloadSection
from tuner.study_file.writing import searching_text

SEARCH, GOAL = "search", "goal"
"""The settings of a row that takes its config from a search."""
_SHARED = sorted(LOAD_KEYS & set(WorkloadSection.model_fields) - {"record_bytes"})


def best_of(settings: Settings, place: KeyPath, problems: Problems) -> BestOf | None:
    """Return where a row gets its config from; None if the file has the config."""
    if SEARCH not in settings and GOAL not in settings:
        return None
    goal = settings.get(GOAL)
    if SEARCH not in settings or goal not in list(Goal):
        rule = "a row that takes its config from a search needs `search`, the name of a search, and `goal`, which is"
        problems.add(place, f"{rule} {', '.join(Goal)}")
        return None
    return BestOf(str(settings[SEARCH]), Goal(goal))


def searches_of(
    written: Mapping[str, Any],
    experiment: str,
    rows: Sequence[Row],
    files: Files,
    environ: Mapping[str, str],
    problems: Problems,
) -> Iterator[Search]:
    """Yield the searches that rows take their configs from. Each searches the record sizes of its rows.

    Args:
        written: The sections of the experiment file, in which environment variables are not replaced.
        experiment: Name of the experiment.
        rows: The rows that are measured.
        files: Where paths in the file are relative to.
        environ: Environment variables for `${NAME}`.
        problems: Collects the problems that are found.
    """
    asked = {row.best_of.search for row in rows if row.best_of is not None}
    known = written.get("searches") or {}
    for name in sorted(asked - set(known)):
        problems.add(
            ("rows",), f"the search {name!r} must be one of the section searches: {', '.join(known) or 'none'}"
        )
    for name, sections in known.items():
        sizes = [
            str(row.workload.record_sizes) for row in rows if row.best_of is not None and row.best_of.search == name
        ]
        if not sizes:
            continue
        study = f"{experiment}-{name}"
        text = searching_text(written, study, list(dict.fromkeys(sizes)), sections, _SHARED)
        place = ("searches", name)
        try:
            spec = parse_study(text, name=study, folder=files.folder, origin=study, environ=environ)
        except StudyFileError as error:
            for each in error.problems:
                problems.add(place, f"{each.key}: {each.what}")
        except ConfigError as error:
            problems.add(place, str(error))
        else:
            if spec.search.trials is None:
                problems.add((*place, "search"), "a search needs trials, so that the time of the experiment is known")
            else:
                yield Search(name, spec, text)
