"""The schedule of the search: which trial comes next.

The schedule depends only on the stored trials, so a study that was stopped continues where it left off.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from search_spaces.client_facts.knobs import Stage
from search_spaces.configs.producer_config import ProducerConfig
from search_spaces.space.search_space import SearchSpace
from tuner.model.spec import Method, SearchSpec
from tuner.model.trial import TrialKind

STAGES: Final[Mapping[Stage, int]] = MappingProxyType({Stage.FIRST: 0, Stage.SECOND: 30, Stage.LAST: 50})
"""For each stage, how many configs must be measured before the method `bayesian` starts to change its knobs.

The knobs with the most effect are in the first stage. Knobs of later stages change only in every other proposal.
"""
_MOST_POINTS_CHECKED: Final = 1_000
"""The largest number of grid points for which we check whether the baseline is one of the points.

The baseline is not measured a second time as a point of the grid, so the check makes the number of trials exact.
"""


def searched_from(space: SearchSpace, *, knows_effects: bool = False) -> dict[str, int]:
    """Return, by parameter, how many configs must be measured before the method `bayesian` changes the parameter.

    The number is 0 for the parameters of the earliest stage, which have the most effect. Parameters with a single
    possible value are left out.

    Args:
        space: The search space.
        knows_effects: Whether the search uses the performance model, which predicts the effects of the parameters of
            the second stage. These parameters are then changed as soon as one config is measured.
    """
    stages = {parameter.name: parameter.stage for parameter in space.parameters if parameter.domain.only is None}
    first = min(stages.values(), default=Stage.FIRST)
    counts = {**STAGES, first: 0}
    if knows_effects:
        counts[Stage.SECOND] = min(1, counts[Stage.SECOND])
    return {name: counts[stage] for name, stage in stages.items()}


def next_kind(counted: int, search: SearchSpec) -> TrialKind | None:
    """Return the kind of the next trial; None if the search is complete.

    The first trial measures the baseline, and so does every `baseline_every`-th trial after it. All other trials
    measure proposals of the search.

    Args:
        counted: How many baseline and search trials the record size has, including those that are running.
        search: How many trials the search has, and how often the baseline is measured.
    """
    if search.trials is not None and counted >= search.trials:
        return None
    return TrialKind.BASELINE if counted % max(1, search.baseline_every) == 0 else TrialKind.SEARCH


def trials_in_all(search: SearchSpec, space: SearchSpace, baseline: ProducerConfig) -> int | None:
    """Return how many trials the search of a record size will have, if none of them fails.

    This is the number that the study file asks for, or a smaller one if the search is a grid with fewer points.

    Args:
        search: How many trials the study file asks for, and how often the baseline is measured.
        space: The search space of the record size.
        baseline: The baseline; if it is a point of the grid, only the baseline trials measure that point.

    Returns:
        The number of trials; None if only time or bytes end the search.
    """
    between = search.baseline_every - 1
    if search.method is not Method.GRID or between < 1:
        return search.trials
    points = space.grid_size(search.grid_steps)
    if search.trials is not None and points >= search.trials:
        return search.trials
    measured = (points - is_in_grid(baseline, space, search.grid_steps)) * search.repeats
    # The baseline is measured first, then after every `between` points, which may be after the last point.
    whole = measured + measured // between + 1
    return whole if search.trials is None else min(search.trials, whole)


def is_in_grid(baseline: ProducerConfig, space: SearchSpace, steps: int) -> bool:
    """Return whether the baseline is one of the configs of a grid; False for a grid that is too large to check.

    Args:
        baseline: The baseline.
        space: The search space of a record size.
        steps: Number of values per knob, for knobs without a list of values.
    """
    params = space.params_of(baseline)
    if params is None or space.grid_size(steps) > _MOST_POINTS_CHECKED:
        return False
    return any(space.params_of(config) == params for config in space.grid(steps))
