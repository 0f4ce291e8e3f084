"""Trials as a pandas DataFrame: one row per trial, with numbers as numbers; and the files that hold it."""

import io
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from objectives.metrics import OUTCOME_METRICS
from tuner.model.document import document
from tuner.model.trial import Trial, TrialKind
from tuner.present.marks import GENERATOR
from tuner.results.study_results import SizeResults

if TYPE_CHECKING:
    import pandas as pd


_HEAD: Final = ("record_bytes", "number", "kind", "state", "feasible", "on_front")
_TAIL: Final = ("verdict", "guarantee", "warnings", "error", "started_at", "duration_s", "fingerprint")


def trials_frame(sizes: Sequence[SizeResults]) -> "pd.DataFrame":
    """Return all trials of some record sizes as a DataFrame.

    Returns:
        One row per trial, with the columns `record_bytes`, `number`, `kind`, `state`, `feasible`, `on_front`; one
        column for each property that any config sets, with the effective value (set by the config, or the default); one
        column for each metric, in the unit at the end of the metric's name; `raw_mb_per_s` and so on, with the values
        as measured of metrics that are corrected for drift; `verdict`, `guarantee`, `warnings`, `error`, `started_at`
        (UTC), `duration_s` and `fingerprint`.
    """
    names = sorted({name for size in sizes for trial in size.trials for name in trial.values})
    rows = [_row(size, trial, names) for size in sizes for trial in size.trials]
    return frame_of(rows)


def frame_of(rows: Sequence[Mapping[str, Any]]) -> "pd.DataFrame":
    """Return a DataFrame with these rows, which have the form of the rows in `trials_json`."""
    # Imported here because pandas takes half a second to import.
    import pandas as pd

    frame = pd.DataFrame(rows or None, columns=None if rows else [*_HEAD, *_TAIL])
    frame = frame.astype({"feasible": bool, "on_front": bool})
    frame["started_at"] = pd.to_datetime(frame["started_at"], utc=True, format="ISO8601")
    # pandas puts columns that the first row lacks last, such as the metrics that only some trials have.
    return frame[[*(name for name in frame if name not in _TAIL), *_TAIL]]


def _property_columns(frame: "pd.DataFrame") -> list[str]:
    """Return the columns of a table of trials that hold the configs' properties."""
    others = {*_HEAD, *_TAIL, *OUTCOME_METRICS}
    return [name for name in map(str, frame) if name.removeprefix("raw_") not in others]


def changed_properties(frame: "pd.DataFrame") -> list[str]:
    """Return, for each trial, the properties that differ from those of the baseline of its record size, as text."""
    names, texts = _property_columns(frame), []
    baselines = (
        frame[frame["kind"] == str(TrialKind.BASELINE)].drop_duplicates("record_bytes").set_index("record_bytes")
    )
    for _, row in frame.iterrows():
        base = baselines.loc[row["record_bytes"]] if row["record_bytes"] in baselines.index else None
        changed = [f"{name}={_text(row[name])}" for name in names if base is None or row[name] != base[name]]
        texts.append(" ".join(changed))
    return texts


def _text(value: Any) -> str:
    """Return a property's value as a client writes it. pandas holds 5 as 5.0 in a column that also has fractions."""
    return str(value).lower().removesuffix(".0")


def trials_csv(frame: "pd.DataFrame") -> str:
    """Return a table of trials as CSV."""
    return str(frame.to_csv(index=False, lineterminator="\n"))


def trials_parquet(frame: "pd.DataFrame") -> bytes:
    """Return a table of trials as a Parquet file, in which each column has one type.

    Raises:
        ImportError: The package pyarrow is not installed.
    """
    frame = frame.copy()
    for name in frame.select_dtypes(object):
        if frame[name].map(type).nunique() > 1:  # such as a size of 1000 beside a mix of sizes
            frame[name] = frame[name].map(str)
    frame.attrs["generator"] = GENERATOR
    out = io.BytesIO()
    frame.to_parquet(out, index=False, engine="pyarrow")
    return out.getvalue()


def trials_json(
    study: str, frame: "pd.DataFrame", objectives: Sequence[str], *, simulated: bool = False
) -> dict[str, Any]:
    """Return a table of trials as a JSON object; a value that a trial does not have is null."""
    rows = [{str(name): _plain(value) for name, value in row.items()} for row in frame.to_dict("records")]
    head = document("trials_table", study=study, simulated=simulated)
    return {**head, "objectives": list(objectives), "trials": rows}


def _plain(value: Any) -> Any:
    """Return a cell as a JSON value."""
    if value != value:  # NaN and NaT stand for a value that the trial does not have
        return None
    return value.isoformat() if hasattr(value, "isoformat") else value


def _row(size: SizeResults, trial: Trial, properties: Sequence[str]) -> dict[str, Any]:
    effective_values = trial.config().effective_values
    return {
        "record_bytes": _parsed(trial.record_bytes),
        "number": trial.number,
        "kind": str(trial.kind),
        "state": str(trial.state),
        "feasible": trial.feasible,
        "on_front": trial.number in size.front,
        **{name: _parsed(effective_values.text(name)) for name in properties},
        **size.shown_metrics(trial),
        **size.raw_metrics(trial),
        "verdict": trial.verdict,
        "guarantee": trial.guarantee,
        "warnings": "; ".join(trial.warnings),
        "error": trial.error,
        "started_at": trial.started_at or None,
        "duration_s": trial.duration_s,
        "fingerprint": trial.fingerprint,
    }


def _parsed(text: str) -> bool | int | float | str:
    """Return the number or the truth value that a text stands for; otherwise the text itself."""
    if text in ("true", "false"):
        return text == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
