"""The entry to this package: reads experiment files, and lists the experiments that come with the tuner."""

import os
from collections.abc import Iterable, Mapping
from dataclasses import replace
from importlib import resources
from pathlib import Path
from typing import Any, Final

from tuner.experiment_file.building import build_experiment
from tuner.experiment_file.findings import check_selected_rows
from tuner.model.experiment import ExperimentSpec
from tuner.model.target import Target
from tuner.study_file.errors import (
    FileProblem,
    Problems,
    StudyFileError,
    did_you_mean,
)
from tuner.study_file.loading import check_name, place_of, text_of
from tuner.study_file.properties import Files
from tuner.study_file.strict_yaml import read_yaml, refuse_passwords
from tuner.study_file.writing import QUICK_SUFFIX

PAPERS: Final = "papers"
"""The name of all experiments that come with the tuner and were described by a paper."""
_ONLY_TO_RUN: Final = frozenset({"tracking", "executor"})
"""The sections that only a run of the experiment needs."""
_ONLY_TO_CONNECT: Final = frozenset({"command_config", "properties"})
"""The keys of the section `target` that are needed only to connect to the cluster."""
_PACKAGE: Final = "tuner.experiments"
MOST_VALUES: Final = 10_000
"""How many values an experiment file may have: more than a study file, for the figures of a paper."""


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
    named: str, environ: Mapping[str, str] = os.environ, *, quick: bool = False, bootstrap: str | None = None
) -> tuple[ExperimentSpec, str]:
    """Read an experiment that comes with the tuner, or an experiment file.

    Args:
        named: The name of the experiment, or the path of a file.
        environ: Environment variables for `${NAME}`.
        quick: Whether to return the quick version.
        bootstrap: Address of the user's cluster on which the experiment runs in place of the file's target.

    Returns:
        The experiment, and the text of its file, in which variables are not replaced by their values.

    Raises:
        StudyFileError: The file can't be read, or is no valid experiment; the message names every problem.
    """
    shipped = named_experiments()
    if named in shipped:
        text, name, folder, origin = shipped[named], named, None, f"the experiment {named}"
    else:
        path = Path(named)
        if path.is_dir() or not path.exists():
            raise StudyFileError(named, [FileProblem(0, "", _no_experiment(path, shipped))])
        (name, folder), text, origin = place_of(path), text_of(path, "an experiment file"), named
    spec = parse_experiment(
        text, name=name, folder=folder, origin=origin, environ=environ, quick=quick, bootstrap=bootstrap
    )
    return spec, text


def _no_experiment(path: Path, shipped: Iterable[str]) -> str:
    """Return why a path is neither a file nor the name of an experiment, and what to name instead."""
    named = str(path)
    if path.exists():
        return "an experiment file must be a file, but this is a folder; name a file in it"
    if path.suffix in (".yaml", ".yml") or path.name != named:
        return "there is no such file; check the path (`tuner experiment list` shows the experiments that need no file)"
    if named == PAPERS:
        return f"only `run` and `report` take all experiments of the papers; name one: {', '.join(shipped)}"
    advice = did_you_mean(named, shipped)
    rule = f"it must be a file, or one of the experiments that come with the tuner: {', '.join(shipped)}"
    return f"{rule}; {advice}" if advice else rule


def parse_experiment(
    text: str,
    *,
    name: str,
    folder: Path | None,
    origin: str,
    environ: Mapping[str, str] = os.environ,
    quick: bool = False,
    bootstrap: str | None = None,
) -> ExperimentSpec:
    """Read the text of an experiment file.

    Args:
        text: The text, in YAML.
        name: Name of the experiment if the text gives none.
        folder: Folder to which paths are relative; None if the text must not name local files.
        origin: Name of the text in messages.
        environ: Environment variables for `${NAME}`.
        quick: Whether to return the quick version.
        bootstrap: Address of the user's cluster on which the experiment runs in place of the file's target.

    Raises:
        StudyFileError: The text is no valid experiment; the message names every problem.
    """
    problems = Problems(origin, MOST_VALUES)
    written = read_yaml(text, problems)
    refuse_passwords(written, problems)
    if isinstance(written, dict) and not written.get("experiment"):
        check_name(name, "experiment", problems)
    spec = build_experiment(written, name, Files(folder, problems, environ), quick, bootstrap)
    own_name = spec.name.removesuffix(QUICK_SUFFIX) if quick else spec.name
    if own_name.endswith(QUICK_SUFFIX):
        problems.add(
            ("experiment",),
            f"the name of an experiment must not end in {QUICK_SUFFIX}, as the names of quick versions do, but it is "
            f"{own_name}; give another name here, or rename the file if this key is left out",
        )
    check_selected_rows(spec, problems, quick=quick)
    problems.stop_if_any()
    return spec


def parse_stored_experiment(text: str, *, name: str, bootstrap: str | None) -> ExperimentSpec:
    """Read the experiment file that was stored with results.

    Settings that only a run needs are left out: connections, the address of MLflow, and the hosts of the clients. So
    the files and variables that these settings name need not exist.

    Args:
        text: The text, in YAML.
        name: Name of the experiment, with that of its version.
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
        findings: Any = written.get("findings") or ()
        for finding in findings:
            if finding.get("order"):  # earlier releases accepted these keys beside it, and ignored them
                for part in (finding, *(finding.get("each") or ())):
                    part.pop("over", None)
                    part.pop("limit", None)
    own_name, quick = name.removesuffix(QUICK_SUFFIX), name.endswith(QUICK_SUFFIX)
    spec = build_experiment(written, own_name, Files(Path.cwd(), problems, os.environ), quick, bootstrap)
    if bootstrap is None or spec.target.bootstrap is not None:
        return spec
    return replace(spec, target=Target(bootstrap))
