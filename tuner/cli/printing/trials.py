"""How `tuner trials` shows the trials of a study, with and without a service."""

import importlib.util
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from objectives.metrics import ShownIn, shown_in
from objectives.scoring import LEAST_HELD_RATIO
from runners.reporting import counted
from tuner.cli.output import check_file, print_json, print_text, write_output
from tuner.present.console import OUT, say, warn
from tuner.present.number_text import aligned, number, title
from tuner.present.trial_tables.grid_view import NO_LATENCY, rate_share_text
from tuner.results.study_results import SIMULATED

if TYPE_CHECKING:
    import pandas as pd

Parquet = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Write the table to this Parquet file. This needs the package pyarrow."),
]


def check_parquet(parquet: Path | None, *, force: bool) -> None:
    """Check that a Parquet file can be written, if the user names one.

    Raises:
        typer.BadParameter: The file can't be written, or pyarrow is missing.
    """
    if parquet is not None and importlib.util.find_spec("pyarrow") is None:
        raise typer.BadParameter(
            "--parquet needs the package pyarrow, but it is not installed; install it, or use --csv"
        )
    check_file(parquet, force=force)


def show_trials(
    study: str,
    frame: "pd.DataFrame",
    objectives: Sequence[str],
    parquet: Path | None,
    *,
    simulated: bool,
    as_json: bool,
    as_csv: bool,
    force: bool,
) -> None:
    """Print a table of trials, or write it to a Parquet file."""
    from tuner.present.trial_tables.frames import trials_csv, trials_json, trials_parquet

    if parquet is not None:
        write_output(parquet, trials_parquet(frame), force=force)
        say(f"{counted(len(frame), 'trial')} written to {parquet}")
    elif as_json:
        print_json(trials_json(study, frame, objectives, simulated=simulated))
    elif as_csv:
        print_text(trials_csv(frame))
    else:
        metrics = [name for name in objectives or shown_in(ShownIn.FRONT) if name in frame]
        OUT.show(*_trial_lines(frame, metrics))
        if any(_missed_rate(row, name) for _, row in frame.iterrows() for name in metrics):
            say(NO_LATENCY)
        if _differs_from_raw(frame, metrics):
            say(
                "trials of the search and the baseline are corrected for drift, and a config that was measured several "
                "times has its mean; all other trials are as measured. --csv adds the values as measured (raw_...)"
            )
    if simulated:
        warn(SIMULATED)


def _differs_from_raw(frame: "pd.DataFrame", metrics: Sequence[str]) -> bool:
    """Return whether the table shows other values of a metric than were measured."""
    pairs = [(frame[name], frame[f"raw_{name}"]) for name in metrics if f"raw_{name}" in frame]
    return any(((shown != raw) & raw.notna()).any() for shown, raw in pairs)


def _missed_rate(row: "pd.Series[Any]", metric: str) -> bool:
    """Return whether a metric of a trial is a latency at the fixed rate, and the config could not hold that rate."""
    missed = row.get("held_rate_ratio", 1.0) < LEAST_HELD_RATIO
    return bool(
        missed and metric.startswith(("latency_", "end_to_end_")) and row[metric] == row[metric]
    )  # NaN: there is no latency


def _cell(row: "pd.Series[Any]", metric: str) -> str:
    if _missed_rate(row, metric):
        return rate_share_text(row["held_rate_ratio"])
    return number(None if row[metric] != row[metric] else row[metric])  # NaN: there is no value


def _trial_lines(frame: "pd.DataFrame", metrics: Sequence[str]) -> list[str]:
    from tuner.present.trial_tables.frames import changed_properties

    headings = [
        "record bytes",
        "trial",
        "kind",
        *map(title, metrics),
        "front",
        "differs from the baseline in",
    ]
    rows = [
        [
            str(row["record_bytes"]),
            str(row["number"]),
            str(row["kind"]) + ("" if row["state"] == "complete" else f", {row['state']}"),
            *(_cell(row, name) for name in metrics),
            "yes" if row["on_front"] else "",
        ]
        for _, row in frame.iterrows()
    ]
    # The configs are not aligned, because one long config would push all others to the right.
    table = aligned([headings[:-1], *rows])
    width = max(map(len, table))
    configs = [headings[-1], *changed_properties(frame)]
    return [f"{line:<{width}}   {config}".rstrip() for line, config in zip(table, configs, strict=True)]
