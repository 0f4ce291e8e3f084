"""Carries out the task of a study: runs it, confirms it again, verifies a config, or copies it to MLflow."""

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

from tuner.api import run_study
from tuner.execution.studies.run import measure_study
from tuner.model.errors import NoFeasibleConfig, StudyError
from tuner.model.facts import VERIFICATION
from tuner.model.goals import Goal
from tuner.model.spec import StudySpec
from tuner.present.comparisons.verification_view import verification_lines
from tuner.present.report import write_all_artifacts
from tuner.present.studies.study_view import StudyView
from tuner.results.comparisons.verification import Judgement, VerificationTerms
from tuner.results.recommendations.reasons import no_config_meets_constraints, nothing_measured
from tuner.results.recommendations.recommend import recommendations
from tuner.service.config import ServiceConfig
from tuner.service.queue.job import Task, TaskKind
from tuner.service.submission import spec_of
from tuner.storage.locations import storage_at
from tuner.tracking import sync


def carry_out(task: Task, text: str, folder: Path, config: ServiceConfig) -> None:
    """Carry out a task of a study.

    Args:
        task: The task.
        text: The study file as it was submitted.
        folder: The study's folder.
        config: The configuration of the service.

    Raises:
        NoFeasibleConfig: The study was run to its end, but no config can be recommended.
        StudyError: The study can't be run, confirmed or copied.
        RunnerError: The cluster can't be used.
    """
    # The study of a verification never searches, and is copied to MLflow as it is.
    searched = task.kind in (TaskKind.RUN, TaskKind.CONFIRM)
    spec, changes = spec_of(text, config, searched=searched)
    # `config` and `spec` hold the values. Ray, Java and the other processes that we start would inherit the variables.
    in_files = [name for target in spec.targets for name in target.secret_variables]
    for name in (*config.secret_variables, *in_files):
        os.environ.pop(name, None)
    with StudyView() as view:
        for change in changes:
            view.say(str(change))
        if changes:
            text = "\n".join([text, *(f"# {change}" for change in changes), ""])
        match task.kind:
            case TaskKind.RUN:
                study = run_study(spec, text=text, folder=folder, reporter=view, mlflow=config.mirrored)
                if not recommendations(study.results, tell=view.say):
                    unmeasured = all(size.baseline is None for size in study.results.sizes)
                    raise NoFeasibleConfig(
                        nothing_measured(spec) if unmeasured else no_config_meets_constraints(spec.name)
                    )
            case TaskKind.CONFIRM:
                again = _confirmed_with(spec, dict(task.options))
                run_study(again, text=text, folder=folder, reporter=view, mlflow=config.mirrored, searching=False)
            case TaskKind.VERIFY:
                _verify(spec, text, folder, dict(task.options), view)
            case TaskKind.SYNC:
                _sync(spec, folder)


def _confirmed_with(spec: StudySpec, settings: dict[str, Any]) -> StudySpec:
    """Return a study whose confirmation has other settings.

    Args:
        spec: The study.
        settings: The settings of `ConfirmSpec` that are replaced, as JSON values.
    """
    goals = {"goals": tuple(map(Goal, settings["goals"]))} if settings.get("goals") else {}
    return replace(spec, confirm=spec.confirm.changed({**settings, **goals}))


def _verify(spec: StudySpec, text: str, folder: Path, task: dict[str, Any], view: StudyView) -> None:
    """Measure a config alternating with the baseline, and keep the judgement with the results."""
    terms = VerificationTerms.from_json(task["terms"])
    spec = replace(terms.study(spec), rates_records_per_s=task["rates"])
    results = measure_study(spec, text, folder, view)
    judgement = Judgement.before(spec, terms, task["file"]).after(results, spec, terms)
    kept = {
        "record": judgement.as_json(),
        "text": "\n".join(verification_lines(judgement)),
        "unmeasured": judgement.unmeasured,
        "simulated": results.simulated,
    }
    with storage_at().drive(folder, spec.name, view.say) as store:
        store.set_fact(VERIFICATION, kept)


def _sync(spec: StudySpec, folder: Path) -> None:
    """Bring MLflow up to date with the study.

    Raises:
        StudyError: MLflow can't be written to.
    """
    outcome = sync(folder, spec.tracking, extra_artifacts=write_all_artifacts)
    if outcome.error is not None:
        raise StudyError(outcome.missing(spec.name))
