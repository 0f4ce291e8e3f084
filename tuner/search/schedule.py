"""What is measured next: follows from the record alone, so that a study goes on where it stopped."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final

from runners.workload import RecordSizes
from search_spaces.errors import NothingToSearch
from search_spaces.knobs import Stage
from search_spaces.producer_config import ProducerConfig
from search_spaces.space import SearchSpace
from tuner.model.spec import Method, SearchSpec, StudySpec
from tuner.model.trial import Kind

AGREEMENT_RATIO: Final = 0.05
"""Successive baselines whose capacities differ by no more end the burn-in."""
LATENCY_AGREEMENT_RATIO: Final = 0.2
"""The same of their latencies, which scatter more."""
STAGES: Final[Mapping[Stage, int]] = MappingProxyType({Stage.FIRST: 0, Stage.SECOND: 30, Stage.LAST: 50})
"""How many configs are known when `bayesian` begins to change the knobs of each stage, in every other proposal."""
_WALKED: Final = 1_000
"""Grids with no more points are looked through for the baseline."""


def searched_from(space: SearchSpace) -> dict[str, int]:
    """How many configs are known when `bayesian` begins to change each parameter of a space that leaves a choice.

    Those of the first stage that there are begin at once.
    """
    stages = {parameter.name: parameter.stage for parameter in space.parameters if parameter.domain.only is None}
    first = min(stages.values(), default=Stage.FIRST)
    return {name: 0 if stage == first else STAGES[stage] for name, stage in stages.items()}


def space_of(spec: StudySpec, size: RecordSizes, topic_max_message_bytes: int) -> SearchSpace:
    """The search space that a study has for one record size.

    Raises:
        ConfigError: What the study file says of knobs can't be, or leaves a study that searches nothing to search.
    """
    space = SearchSpace.of(
        size.largest_bytes,
        spec.baseline,
        key_bytes=spec.workload.key_bytes,
        partitions=spec.workload.partitions,
        changes=spec.space,
        floor=spec.floor,
        topic_max_message_bytes=topic_max_message_bytes,
    )
    if not space.has_choice and not spec.confirm.configs:
        raise NothingToSearch
    return space


def next_kind(counted: int, search: SearchSpec) -> Kind | None:
    """Baseline first and every few trials, search else; None when as many as asked for were measured.

    Args:
        counted: Trials of the record size, baselines and searches, those under way included.
        search: How many, and how often the baseline returns.
    """
    if search.trials is not None and counted >= search.trials:
        return None
    return Kind.BASELINE if counted % max(1, search.baseline_every) == 0 else Kind.SEARCH


def trials_in_all(search: SearchSpec, space: SearchSpace, baseline: ProducerConfig) -> int | None:
    """Trials of a record size, if each gives a measurement: as many as asked for, or fewer where a grid ends before.

    Args:
        search: How many are asked for, and how often the baseline returns.
        space: Of the record size.
        baseline: Not measured once more as a point of the grid.

    Returns:
        None where only time or bytes end the search.
    """
    between = search.baseline_every - 1
    if search.method is not Method.GRID or between < 1:
        return search.trials
    points = space.grid_size(search.grid_steps)
    if search.trials is not None and points >= search.trials:
        return search.trials
    if points <= _WALKED:
        params = space.params_of(baseline)
        points -= any(space.params_of(config) == params for config in space.grid(search.grid_steps))
    # The baseline goes first, and returns after the last point if it is its turn.
    whole = points + points // between + 1
    return whole if search.trials is None else min(search.trials, whole)


def is_stable(values: Sequence[float], at_most: int, agreement_ratio: float = AGREEMENT_RATIO) -> bool:
    """Whether the last two baselines of this run agree, or enough were measured.

    Args:
        values: What the burn-ins of this run gave, positive: records per second, or a latency.
        at_most: How many are measured when they don't agree; one is always needed.
        agreement_ratio: By how much those that agree may differ.
    """
    if len(values) >= max(1, at_most):
        return True
    if len(values) < 2:
        return False
    before, last = values[-2:]
    return abs(last - before) <= agreement_ratio * max(last, before)
