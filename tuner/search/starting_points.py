"""Configs that are measured before the sampler's first proposal.

They are configs that experience has shown to be good, and the best configs of record sizes that were searched before.
"""

from collections.abc import Mapping
from itertools import islice
from typing import Final

from runners.workload import RecordSizes
from search_spaces.configs.producer_config import ProducerConfig
from search_spaces.errors import ConfigError
from search_spaces.space.search_space import SearchSpace
from tuner.model.goals import Goal
from tuner.model.spec import StudySpec
from tuner.model.trial import TrialKind
from tuner.results.recommendations.nominees import best_on_front
from tuner.results.search_state import SearchState
from tuner.search.expectation import begins_with_model

_MOST_WITH_MODEL: Final = 1
"""How many of the client's starting points are measured if the search uses the performance model.

The model's proposals are better than the other starting points. The first one is measured in case the model is wrong:
when the model wrongly expected a codec to be slow, searches without this starting point never tried the codec.
"""
_MOST_TRANSFERRED: Final = 5
"""How many of the best configs of other record sizes are measured."""


def starting_points_of(
    spec: StudySpec, size: RecordSizes, space: SearchSpace, searches: Mapping[RecordSizes, SearchState]
) -> list[ProducerConfig]:
    """Return the configs that a record size measures before the sampler's first proposal.

    They are configs that experience has shown to be good, and the best configs of other record sizes. Configs that were
    measured already are left out. The list is empty for search methods that do not learn from trials.

    Args:
        spec: The specification of the study.
        size: The record size.
        space: The search space of the record size.
        searches: The trials so far, by record size; the best configs of other record sizes come from them.
    """
    if not spec.search.method.learns and not spec.search.sampler:
        return []
    known = {trial.fingerprint for trial in searches[size].trials}
    wanted = [*islice(space.starting_points(spec.baseline), _MOST_WITH_MODEL if begins_with_model(spec) else None)]
    if spec.search.transfer:
        wanted += _transferred(size, space, searches)
    return list({config.fingerprint: config for config in wanted if config.fingerprint not in known}.values())


def _transferred(
    size: RecordSizes, space: SearchSpace, searches: Mapping[RecordSizes, SearchState]
) -> list[ProducerConfig]:
    """Return up to `_MOST_TRANSFERRED` configs from the Pareto fronts of other record sizes.

    Only configs inside this record size's search space are returned. Of each front, the best config for each goal comes
    first.
    """
    found: dict[str, ProducerConfig] = {}
    for other, search in searches.items():
        if other == size or not search.front:
            continue
        results = search.results(None)
        best = [trial for goal in Goal if (trial := best_on_front(results, goal)) is not None]
        for trial in (*best, *results.front_trials):
            if trial.kind is TrialKind.SEARCH and _within(space, trial.config()):
                found.setdefault(trial.fingerprint, trial.config())
    return list(found.values())[:_MOST_TRANSFERRED]


def _within(space: SearchSpace, config: ProducerConfig) -> bool:
    """Return whether a config is in a search space."""
    try:
        return space.params_of(config) is not None
    except ConfigError:
        return False
