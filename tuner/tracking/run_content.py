"""The content of a run in MLflow, and what the runs of studies and of experiments have in common."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from search_spaces.errors import ConfigError
from tuner.model.facts import BROKER_VERSION, CLIENT_VERSION, STUDY_ID
from tuner.model.progress import StudyState
from tuner.model.trial import Trial
from tuner.tracking import tags

TRIAL_NUMBER: Final = "trial_number"
"""A metric, because MLflow sorts metrics as numbers and tags as texts."""
RUNNING, FINISHED, FAILED, KILLED = "RUNNING", "FINISHED", "FAILED", "KILLED"

# Source: MLflow's own limits, mlflow/utils/validation.py of 3.17: 6,000 for params, 8,000 for tags.
_MOST_CHARACTERS: Final = 6_000


@dataclass(frozen=True, slots=True)
class MetricPoint:
    """One value of a metric.

    Attributes:
        name: Name of the metric.
        value: Its value.
        step: The number of the trial; for values that later trials may change, the number of the newest trial, because
            MLflow shows the value with the highest step.
        at_ms: The time, in milliseconds since 1970 in UTC.
    """

    name: str
    value: float
    step: int
    at_ms: int


@dataclass(frozen=True, slots=True)
class RunContent:
    """The content that a run in MLflow should have, computed from the results store.

    Attributes:
        key: The permanent identity of the run. If content is written again under the same key, the same run is updated.
        name: The name that MLflow shows.
        status: The status under MLflow's name.
        start_ms: The start, in milliseconds since 1970 in UTC.
        end_ms: The end, in milliseconds since 1970 in UTC. None while the run is active.
        tags: Tags, which may change later.
        params: Params, which never change.
        points: The latest value of each metric. For the hypervolume, the values of all steps.
    """

    key: str
    name: str
    status: str
    start_ms: int
    end_ms: int | None
    tags: Mapping[str, str]
    params: Mapping[str, str]
    points: tuple[MetricPoint, ...]


def shared_tags(facts: Mapping[str, Any], name: str) -> dict[str, str]:
    """Return the tags that all runs of a study or an experiment have."""
    return {
        tags.STUDY_ID: str(facts[STUDY_ID]),
        tags.STUDY: name,
        tags.CLIENT_VERSION: cut(facts.get(CLIENT_VERSION, "")),
        tags.BROKER_VERSION: cut(facts.get(BROKER_VERSION, "")),
    }


def params_of(trial: Trial) -> dict[str, str]:
    """Return the properties of a trial's config with their effective values, those of the client's knobs first."""
    try:
        config = trial.config()
        # Every run has the knobs as params, with their effective values. So a baseline that sets none of them still has
        # values in the same columns as the other runs.
        names = dict.fromkeys((*(knob.sets for knob in config.client.knobs), *trial.values))
        effective_values: Sequence[tuple[str, str]] = [(name, config.effective(name)) for name in names]
    except ConfigError:  # another release with other rules has stored this config
        effective_values = list(trial.values.items())
    return {name: cut(value) for name, value in effective_values if value}


def status_of_study(state: StudyState, *, finished: bool) -> str:
    """Return the status of a study's or an experiment's run, under MLflow's name."""
    if finished:
        return FINISHED
    if state in (StudyState.RUNNING, StudyState.CONFIRMING):
        return RUNNING
    return FAILED if state is StudyState.FAILED else KILLED


def start_ms(trial: Trial) -> int:
    """Return when a trial started, in milliseconds since 1970 in UTC."""
    return int(datetime.fromisoformat(trial.started_at).timestamp() * 1000)


def end_ms(trial: Trial) -> int:
    """Return when a trial ended, in milliseconds since 1970 in UTC."""
    return start_ms(trial) + round(trial.duration_s * 1000)


def cut(value: Any) -> str:
    """Return a value as text that MLflow accepts: at most 6,000 characters."""
    return str(value)[:_MOST_CHARACTERS]
