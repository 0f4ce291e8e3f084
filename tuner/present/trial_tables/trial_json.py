"""A trial as a JSON object with the values that every table shows."""

from typing import Any

from tuner.model.trial import Trial
from tuner.results.study_results import SizeResults


def trial_json(size: SizeResults, trial: Trial) -> dict[str, Any]:
    """Return a trial as a JSON object.

    `metrics` and `objectives` have the values of `tuner front` and `tuner trials`: corrected for drift, and the mean of
    all measurements of the config. The values as measured stand beside them as `raw_mb_per_s` and so on. The values of
    single windows in `course` are as measured.
    """
    metrics = size.shown_metrics(trial)
    objectives = [
        None if value is None else metrics.get(objective.metric, value)
        for objective, value in zip(size.objectives, trial.objectives, strict=False)
    ]
    return {**trial.as_json(), "metrics": {**metrics, **size.raw_metrics(trial)}, "objectives": objectives}
