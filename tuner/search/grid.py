"""A sampler that walks through given points, each once, and ends."""

from collections.abc import Iterable, Mapping
from typing import Any

from optuna.distributions import BaseDistribution
from optuna.samplers import BaseSampler, RandomSampler
from optuna.study import Study
from optuna.trial import FrozenTrial

Point = Mapping[str, Any]


class PointsSampler(BaseSampler):
    """Proposes points in their order, those left out that a trial of the study has already: a grid can be continued.

    `is_exhausted` says when none is left, as that of Optuna's own `GridSampler` does; a trial that is asked for after
    that is drawn by chance.

    Args:
        search_space: Distributions of all parameters that points have.
        points: Parameters of each; not every point needs all of them.
    """

    def __init__(self, search_space: Mapping[str, BaseDistribution], points: Iterable[Point]) -> None:
        self._search_space, self._points = dict(search_space), iter(points)
        self._next: Point | None = None
        self._tried: set[frozenset[tuple[str, Any]]] = set()
        self._looked_at = 0
        self._chance = RandomSampler()

    def is_exhausted(self, study: Study) -> bool:
        """Whether a trial of the study has each of the points."""
        trials = study.get_trials(deepcopy=False)
        self._tried.update(frozenset(trial.params.items()) for trial in trials[self._looked_at :])
        self._looked_at = len(trials)
        if self._next is None or frozenset(self._next.items()) in self._tried:
            untried = (point for point in self._points if frozenset(point.items()) not in self._tried)
            self._next = next(untried, None)
        return self._next is None

    def infer_relative_search_space(self, study: Study, trial: FrozenTrial) -> dict[str, BaseDistribution]:
        """The parameters of all points."""
        return self._search_space

    def sample_relative(
        self, study: Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> dict[str, Any]:
        """The next point."""
        if self.is_exhausted(study) or self._next is None:
            return {}
        point, self._next = self._next, None
        return dict(point)

    def sample_independent(
        self, study: Study, trial: FrozenTrial, param_name: str, param_distribution: BaseDistribution
    ) -> Any:
        """By chance: the point does not have this parameter."""
        return self._chance.sample_independent(study, trial, param_name, param_distribution)
