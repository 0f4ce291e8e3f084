"""Configs that are measured before the sampler's first proposal.

They are configs that are good by experience, and the best configs of record sizes that were searched before.
"""

from collections.abc import Mapping
from typing import Final

from runners.workload import RecordSizes
from search_spaces.configs.producer_config import ProducerConfig
from search_spaces.errors import ConfigError
from search_spaces.space.search_space import SearchSpace
from tuner.model.goals import Goal
from tuner.model.spec import StudySpec
from tuner.model.trial import Kind
from tuner.results.recommendations.nominees import pick
from tuner.results.search_state import SearchState

_TRANSFERRED: Final = 5


def starting_points_of(
    spec: StudySpec, size: RecordSizes, space: SearchSpace, searches: Mapping[RecordSizes, SearchState]
) -> list[ProducerConfig]:
    """Return the configs that a record size measures before the sampler's first proposal.

    They are starting points that are good by experience, and the best configs of other record sizes. Configs that were
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
    wanted = [*space.starting_points(spec.baseline)]
    if spec.search.transfer:
        wanted += _transferred(size, space, searches)
    return list({config.fingerprint: config for config in wanted if config.fingerprint not in known}.values())


def _transferred(
    size: RecordSizes, space: SearchSpace, searches: Mapping[RecordSizes, SearchState]
) -> list[ProducerConfig]:
    """Return up to five configs from the Pareto fronts of other record sizes.

    Only configs inside this record size's search space are returned. Of each front, the best config for each goal comes
    first.
    """
    found: dict[str, ProducerConfig] = {}
    for other, search in searches.items():
        if other == size or not search.front:
            continue
        results = search.results(None)
        best = [trial for goal in Goal if (trial := pick(results, goal)) is not None]
        for trial in (*best, *results.front_trials):
            if trial.kind is Kind.SEARCH and _within(space, trial.config()):
                found.setdefault(trial.fingerprint, trial.config())
    return list(found.values())[:_TRANSFERRED]


def _within(space: SearchSpace, config: ProducerConfig) -> bool:
    """Return whether a config is in a search space."""
    try:
        return space.params_of(config) is not None
    except ConfigError:
        return False
