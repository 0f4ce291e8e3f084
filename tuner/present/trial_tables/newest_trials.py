"""The newest trials of a study as rows of a table, for people who watch the study."""

from typing import Any, Final

from objectives.metrics import ShownIn, shown_in
from tuner.model.trial import State, Trial, TrialKind
from tuner.present.changed_properties import changes
from tuner.present.number_text import number, title
from tuner.results.study_results import SizeResults, StudyResults

SHOWN_TRIALS: Final = 10


def newest_trials(study: StudyResults) -> list[dict[str, Any]]:
    """Return the newest trials, the newest first: record size, number, kind, result, metrics and changed properties.

    The metrics are throughput, p99 and the objectives, by their names for people.
    """
    newest = study.newest.record_bytes if study.newest is not None else ""
    sizes = sorted(study.sizes, key=lambda size: size.record_bytes != newest)
    rows = [(size, trial) for size in sizes for trial in reversed(size.trials)][:SHOWN_TRIALS]
    metrics = dict.fromkeys((*shown_in(ShownIn.FRONT), *(objective.metric for objective in study.objectives)))
    return [
        {
            "record_bytes": size.record_bytes,
            "number": trial.number,
            "kind": str(trial.kind),
            "result": _result(size, trial),
            "metrics": {title(name): number(size.shown_metrics(trial).get(name)) for name in metrics},
            "changes": " ".join(map(str, changes(trial, size.baseline.values if size.baseline else {}))),
        }
        for size, trial in rows
    ]


def _result(size: SizeResults, trial: Trial) -> str:
    """Return what came of a trial, in a few words: `on the front`, `stopped early`, or a constraint that it broke."""
    if trial.state is State.FAILED:
        return f"failed: {trial.error}"
    if trial.number in size.front:
        return "on the front"
    missed = [name for name, violation in trial.violations.items() if violation > 0]
    if missed and trial.kind is TrialKind.SEARCH:
        return f"missed {', '.join(missed)}"
    return "stopped early" if trial.stopped_early else ""
