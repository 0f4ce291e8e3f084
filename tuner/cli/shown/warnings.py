"""What commands warn of after the results that they print, with and without a service."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from runners.simulated.simulated_runner import WARNING
from tuner.present.console import warn
from tuner.present.trial_tables.grid_view import NO_GRID
from tuner.results.recommendations.recommendation import Recommendation
from tuner.results.study_results import SIMULATED


def warn_about_front(fronts: Sequence[Mapping[str, Any]], *, simulated: bool, finished: bool) -> None:
    """Print what makes fronts less reliable.

    Args:
        fronts: The fronts in the result of `fronts_json`; none if they were printed as CSV, which has a column for the
            flags of each config.
        simulated: Whether the study measured nothing on Kafka.
        finished: Whether the study ran to its end.
    """
    for front in fronts:
        of_size = f" of {front['record_bytes']} B" if len(fronts) > 1 else ""
        for row in front["front"]:
            for flag in row["flags"]:
                if flag != WARNING:
                    warn(f"trial {row['trial']}{of_size}: {flag}")
    if simulated:
        warn(SIMULATED)
    _warn_unless_finished("its front", finished=finished)


def warn_about_grid(record: Mapping[str, Any]) -> None:
    """Print whether the tables that `grid_json` returned are simulated, and whether there are none."""
    if record["simulated"]:
        warn(SIMULATED)
    if not record["tables"]:
        warn(NO_GRID)


def warn_about_explanations(explained: Iterable[Recommendation], *, finished: bool) -> None:
    """Print the warnings of the recommendations that were explained, each once.

    Args:
        explained: The recommendations.
        finished: Whether the study ran to its end.
    """
    warn_before_use(explained)
    _warn_unless_finished("the recommendation", finished=finished)


def warn_before_use(found: Iterable[Recommendation], *, simulated: bool = False) -> None:
    """Print what users should know before they use recommended configs, each warning once.

    Args:
        found: The recommendations.
        simulated: Whether to say that the study is simulated even if there is no recommendation.
    """
    first = [SIMULATED] if simulated else []
    for warning in dict.fromkeys([*first, *(warning for each in found for warning in each.warnings)]):
        warn(warning)


def _warn_unless_finished(what: str, *, finished: bool) -> None:
    if not finished:
        warn(f"the study is not finished, so {what} may still change")
