"""The parameters of a study as the sampler asks for them."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from optuna.distributions import BaseDistribution

from tuner.search.bayesian.axes import Axis, fitting
from tuner.search.bayesian.solving import Array

Params = Mapping[str, Any]


class Space(Protocol):
    """Parameters, and what is known of how they bear on each other."""

    @property
    def axes(self) -> Sequence[Axis]:
        """One per parameter that a trial may have."""

    def allowed(self, rows: Array) -> Array:
        """Rows of positions, shape (configs, axes), as the rules between parameters leave them; may be in place."""

    def settled(self, values: Params) -> Params:
        """The parameters that come of wanting these values, one for each axis: rounded, and within all rules."""

    def implied(self, params: Params) -> Params | None:
        """A trial's parameters with those that follow from them; None for a trial that is to be left out."""


class PlainSpace:
    """Parameters with nothing between them: what a study's trials have in common."""

    def __init__(self, distributions: Mapping[str, BaseDistribution]) -> None:
        self.axes = tuple(Axis(name, distribution) for name, distribution in distributions.items())

    def allowed(self, rows: Array) -> Array:
        """See `Space.allowed`."""
        return rows

    def settled(self, values: Params) -> Params:
        """See `Space.settled`."""
        return {axis.name: fitting(axis.distribution, values[axis.name]) for axis in self.axes}

    def implied(self, params: Params) -> Params | None:
        """See `Space.implied`. A trial without one of the parameters is left out."""
        return params if all(axis.name in params for axis in self.axes) else None
