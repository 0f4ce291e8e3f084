"""The warnings that `tuner front` and `grid` print after their results."""

from collections.abc import Mapping
from typing import Any

from runners.simulated import WARNING
from tuner.present.console import warn, warn_of_each
from tuner.present.trial_tables.grid_view import NO_GRID
from tuner.results.study_results import SIMULATED


def warn_about_front(record: Mapping[str, Any], *, as_csv: bool) -> None:
    """Print what makes fronts less reliable.

    Args:
        record: The result of `fronts_json`.
        as_csv: Whether the fronts were printed as CSV, which has a column for the flags of each config.
    """
    fronts = [] if as_csv else record["fronts"]
    for front in fronts:
        of_size = f" of {front['record_bytes']} B" if len(fronts) > 1 else ""
        for row in front["front"]:
            name = f"{'the baseline, ' if row['is_baseline'] else ''}trial {row['trial']}"
            for flag in row["flags"]:
                if flag != WARNING:
                    warn(f"{name}{of_size}: {flag}")
    warn_of_each(record["warnings"])


def warn_about_grid(record: Mapping[str, Any]) -> None:
    """Print whether the tables that `grid_json` returned are simulated, and whether there are none."""
    if record["simulated"]:
        warn(SIMULATED)
    if not record["tables"]:
        warn(NO_GRID)
