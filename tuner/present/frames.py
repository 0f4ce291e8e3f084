"""Trials as a pandas DataFrame: one row per trial, with numbers as numbers."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tuner.model.trial import Trial
from tuner.results.study_results import SizeResults

if TYPE_CHECKING:
    import pandas as pd


def trials_frame(sizes: Sequence[SizeResults]) -> "pd.DataFrame":
    """Return all trials of some record sizes as a DataFrame.

    Returns:
        One row per trial, with the columns `record_bytes`, `number`, `kind`, `state`, `feasible`, `on_front`; one
        column for each property that any config sets, with the value in force (set by the config, or the default); one
        column for each metric, in the unit at the end of the metric's name; `verdict`, `guarantee`, `warnings`,
        `error`, `started_at` (UTC), `duration_s` and `fingerprint`.
    """
    # Imported here because pandas takes half a second to import.
    import pandas as pd

    names = sorted({name for size in sizes for trial in size.trials for name in trial.values})
    rows = [_row(size, trial, names) for size in sizes for trial in size.trials]
    frame = pd.DataFrame(rows)
    if rows:
        frame["started_at"] = pd.to_datetime(frame["started_at"], utc=True, format="ISO8601")
    return frame


def _row(size: SizeResults, trial: Trial, properties: Sequence[str]) -> dict[str, Any]:
    in_force = trial.config().in_force
    return {
        "record_bytes": _number(trial.record_bytes),
        "number": trial.number,
        "kind": str(trial.kind),
        "state": str(trial.state),
        "feasible": trial.feasible,
        "on_front": trial.number in size.front,
        **{name: _number(in_force.text(name)) for name in properties},
        **trial.metrics,
        "verdict": trial.verdict,
        "guarantee": trial.guarantee,
        "warnings": "; ".join(trial.warnings),
        "error": trial.error,
        "started_at": trial.started_at or None,
        "duration_s": trial.duration_s,
        "fingerprint": trial.fingerprint,
    }


def _number(text: str) -> int | float | str:
    """Return a text as a number if it is one; otherwise return the text."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
