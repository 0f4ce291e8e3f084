"""Export of a study to Optuna, for Optuna's plots and for optuna-dashboard."""

import datetime
import warnings
from typing import Any

import optuna
from optuna.exceptions import ExperimentalWarning
from optuna.storages import BaseStorage, get_storage
from optuna.study import StudyDirection
from optuna.trial import FrozenTrial, TrialState

from runners.reporting import first_line
from search_spaces.space.search_space import SearchSpace
from tuner.model.errors import StorageMisnamed, StorageUnreachable, StudyError
from tuner.model.facts import STUDY_ID, TARGET
from tuner.model.secrets_in_urls import masked, masked_url, secrets_in
from tuner.model.target import without_login
from tuner.model.trial import SEARCHING_KINDS, State, Trial
from tuner.results.study_results import SizeResults, StudyResults
from tuner.search.knob_space import KnobSpace, optuna_trial


class NotThisStudy(StudyError):
    """The Optuna storage already holds an Optuna study of this name that was not exported from this study."""


class OptunaStorageUnusable(StorageMisnamed):
    """Optuna can't store a study at the given database URL."""


def open_storage(url: str) -> BaseStorage:
    """Open the Optuna storage at a database URL, and create the database tables if they do not exist.

    Raises:
        OptunaStorageUnusable: The URL is malformed, its database driver is missing, or its file can't be used.
        StorageUnreachable: The database server does not answer, or refuses the tuner.
    """
    # Imported here because the import takes a fifth of a second; the package comes with Optuna.
    from sqlalchemy.engine import make_url
    from sqlalchemy.exc import OperationalError, SQLAlchemyError

    try:
        if url.startswith("sqlite") and (make_url(url).database or ":memory:") == ":memory:":
            raise ValueError("it names no file, so nothing would be kept")
        return get_storage(url)
    except (SQLAlchemyError, ImportError, ValueError) as error:
        text = masked(str(error), secrets_in(url)) or type(error).__name__
        of_server = isinstance(error, OperationalError) and not url.startswith("sqlite")
        shown = masked_url(url) if "://" in url else repr(without_login(url))
        raise (StorageUnreachable if of_server else OptunaStorageUnusable)(
            "Optuna needs a database URL at which it can store studies, for example sqlite:///optuna.db, but "
            f"{shown} can't be used: {first_line(Exception(text))}"
        ) from None


def export(
    results: StudyResults, size: SizeResults, space: SearchSpace, storage: BaseStorage | None = None
) -> optuna.Study:
    """Export the search of one record size as an Optuna study.

    The Optuna study has the trials of the baseline and of the search, in the order in which they were measured. A trial
    is COMPLETE with its measured values, PRUNED if it was stopped early or lacks a value, and FAIL if nothing was
    measured. Its user attributes include `number`, `kind`, `config`, `verdict`, `guarantee` and `feasible`.

    Args:
        results: The results of the study.
        size: The results of the record size.
        space: The search space of the record size.
        storage: Where the Optuna study is stored; by default in memory. Trials that are stored there already are not
            written again.

    Returns:
        The Optuna study.

    Raises:
        NotThisStudy: The storage already holds an Optuna study of this name that was not exported from this study.
    """
    name, knobs, study_id = f"{results.name} {size.record_bytes} B", KnobSpace(space), results.facts.get(STUDY_ID, "")
    study = optuna.create_study(
        study_name=name,
        storage=storage,
        directions=[StudyDirection[objective.direction.name] for objective in size.objectives],
        load_if_exists=True,
    )
    if not study.user_attrs and not study.trials:
        study.set_user_attr(STUDY_ID, study_id)
        study.set_user_attr("record_bytes", size.record_bytes)
        study.set_user_attr("target", results.facts.get(TARGET, ""))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ExperimentalWarning)
            study.set_metric_names([objective.metric for objective in size.objectives])
    elif study.user_attrs.get(STUDY_ID) != study_id:
        raise NotThisStudy(
            f"an Optuna study must be exported from one study only, but {name!r} in that storage was not exported from "
            f"{results.name}; give another storage, or delete {name!r} there"
        )
    known = {trial.user_attrs.get("number") for trial in study.get_trials(deepcopy=False)}
    searched = [trial for trial in size.trials if trial.kind in SEARCHING_KINDS]
    made = [_exported(trial, knobs) for trial in searched if trial.number not in known]
    study.add_trials([trial for trial in made if trial is not None])
    return study


def _exported(trial: Trial, knobs: KnobSpace) -> FrozenTrial | None:
    """Return the trial as an Optuna trial; None if its config lies outside the search space."""
    values = [value for value in trial.objectives if value is not None]
    state = TrialState.COMPLETE
    if trial.state is State.FAILED:
        state, values = TrialState.FAIL, []
    elif trial.stopped_early or not values or None in trial.objectives:
        state, values = TrialState.PRUNED, []
    attributes: dict[str, Any] = {
        "number": trial.number,
        "kind": str(trial.kind),
        "config": dict(trial.values),
        "guarantee": trial.guarantee,
        "verdict": trial.verdict,
        "because": trial.because,
        "feasible": trial.feasible,
        "stopped_early": trial.stopped_early,
        "error": trial.error,
        "metrics": dict(trial.metrics),
    }
    said = {name: value for name, value in attributes.items() if value != ""}
    exported = optuna_trial(trial, knobs, state, values or None, trial.violations, said)
    if exported is not None and trial.started_at:
        exported.datetime_start = datetime.datetime.fromisoformat(trial.started_at).astimezone().replace(tzinfo=None)
        exported.datetime_complete = exported.datetime_start + datetime.timedelta(seconds=trial.duration_s)
    return exported
