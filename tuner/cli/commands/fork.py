"""`tuner fork` begins a new study with the trials of another study."""

import shlex
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import typer

from runners.reporting import counted
from tuner.cli.options import common_options
from tuner.cli.options.study_arguments import NewName, NewStudyFile
from tuner.cli.output import print_json
from tuner.execution.studies.forking import ForkedTrials, begin_fork
from tuner.model.errors import RequestRefused
from tuner.model.facts import IDENTITY, NAME
from tuner.model.spec import Executor, StudySpec
from tuner.model.study_files import STUDY_FILE
from tuner.present.console import say
from tuner.results.study_results import refuse_experiment
from tuner.storage.folder_files import write_for_everybody
from tuner.storage.locations import find_study, storage_at, study_folder
from tuner.storage.protocols import ResultsStore
from tuner.study_file import parse_study, read_study_file, renamed


def fork(
    study: common_options.Study,
    name: NewName,
    study_file: NewStudyFile = None,
    as_json: common_options.Json = False,
) -> None:
    """Begin a new study with those trials of another study that fit the new settings.

    Workload (except record sizes), target, baseline and executor must be the same. You can change the record sizes,
    search space, durability, objectives, constraints, and the sections search and confirm. Nothing is measured, and the
    old study stays as it is. `tuner run` then continues the new study. The trials that were taken over count towards
    search.trials, but not towards the limits in hours and bytes.

    \b
    Examples:
        tuner fork overnight low-latency low-latency.yaml
        tuner fork overnight overnight-2
    """
    storage = storage_at()
    folder, source_folder = study_folder(name), find_study(study, storage=storage)
    with closing(storage.read(source_folder)) as source:
        refuse_experiment(source.facts(), source_folder)
        spec, text = _new_study(name, study_file, source)
        if spec.name != name:
            raise typer.BadParameter(
                f"a study file must name the new study {name}, but {study_file or 'the old study file'} names "
                f"{spec.name}; write `study: {name}` into the file"
            )
        with common_options.as_usage_error(RequestRefused):
            taken = ForkedTrials.of(spec, str(source.facts().get(NAME, study)), source)
        if not begin_fork(storage, folder, spec, text, source, taken.trials, say):
            raise typer.BadParameter(f"the new study must have a new name, but there is already {folder}")
    if study_file is None and not (folder / STUDY_FILE).is_file():  # with a shared storage, the text is in the database
        folder.mkdir(parents=True, exist_ok=True)
        write_for_everybody(folder / STUDY_FILE, text.encode())
    say(f"{name}: {len(taken.trials)} of {counted(taken.source_trials, 'trial')} of {taken.source} taken over")
    say(f"to continue: tuner run {shlex.quote(str(study_file or folder / STUDY_FILE))}")
    if as_json:
        print_json(taken.as_json(name, folder))


def _new_study(name: str, study_file: Path | None, source: ResultsStore) -> tuple[StudySpec, str]:
    """Return the spec of the new study, and the text of its study file."""
    if study_file is not None:
        return read_study_file(study_file)
    text = renamed(source.study_file(), name)
    spec = parse_study(text, name=name, folder=Path.cwd(), origin="the old study file")
    if source.facts().get(IDENTITY, {}).get("executor") == "simulated":
        spec = replace(spec, executor=Executor.SIMULATED)
    return spec, text
