"""Trials as a pandas DataFrame: a row each, numbers as numbers."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tuner.model.trial import Trial
from tuner.results.study_results import SizeResults

if TYPE_CHECKING:
    import pandas as pd


def trials_frame(sizes: Sequence[SizeResults]) -> "pd.DataFrame":
    """All trials of some record sizes.

    Returns:
        Columns `record_bytes`, `number`, `kind`, `state`, `feasible`, `on_front`; a column for each property that any
        of the configs sets, with the value in force; one for each metric, in the unit that its name ends with;
        `verdict`, `guarantee`, `warnings`, `error`, `started_at` (UTC), `duration_s` and `fingerprint`.
    """
    # Deferred: pandas takes half a second to import.
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
    """The number that a text says, or the text."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
