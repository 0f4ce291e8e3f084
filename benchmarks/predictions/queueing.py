"""The queue of one broker as Wu, Shang and Wolter (2019) model it: M/PH/1, with requests that arrive at random.

A phase-type distribution is the time that a Markov chain takes to leave its last phase. It can be fitted to any
measured service times. Here it is a mixture of Erlang distributions, fitted by expectation maximisation.

Source: H. Wu, Z. Shang, K. Wolter (2019), Performance Prediction for the Apache Kafka Messaging System, equations 3 to
9. The fit: Thuemmler, Buchholz, Telek (2006), A Novel Approach for Phase-Type Fitting with the EM Algorithm.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement
from math import factorial
from typing import Final, Self

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import block_diag
from scipy.special import gammaln

Array = NDArray[np.float64]
_STEPS: Final = 200
_ENOUGH: Final = 1e-6
_LEAST_WEIGHT: Final = 1e-12


class Overloaded(ValueError):
    """Requests arrive faster than they are served, so the queue grows without end."""


@dataclass(frozen=True, slots=True)
class PhaseType:
    """A phase-type distribution of service times.

    Attributes:
        start: The probability to start in each phase, shape (phases,); pi in the paper.
        generator: The rates between phases, shape (phases, phases); D in the paper.
    """

    start: Array
    generator: Array

    @classmethod
    def of_erlangs(cls, weights: Sequence[float], shapes: Sequence[int], rates: Sequence[float]) -> Self:
        """Return a mixture of Erlang distributions.

        Args:
            weights: The share of each.
            shapes: The number of phases of each.
            rates: The rate per second at which each leaves a phase.
        """
        start = np.concatenate([np.eye(1, shape)[0] * weight for weight, shape in zip(weights, shapes, strict=True)])
        blocks = [rate * (np.eye(shape, k=1) - np.eye(shape)) for shape, rate in zip(shapes, rates, strict=True)]
        return cls(start, np.asarray(block_diag(*blocks), dtype=np.float64))

    def moment(self, power: int) -> float:
        """Return the mean of the service time to a power."""
        inverse = np.linalg.matrix_power(np.linalg.inv(-self.generator), power)
        return float(factorial(power) * self.start @ inverse @ np.ones(len(self.start)))


def fitted(service_s: Array, branches: int = 3, phases: int = 10) -> PhaseType:
    """Return the phase-type distribution under which some service times are most likely.

    Args:
        service_s: The service times in seconds, shape (times,), all above 0.
        branches: How many Erlang distributions are mixed.
        phases: How many phases they have together, at most.
    """
    scale = float(service_s.mean())
    times = service_s / scale
    options = [
        shapes
        for count in range(1, branches + 1)
        for shapes in combinations_with_replacement(range(1, phases + 1), count)
        if sum(shapes) <= phases
    ]
    _, weights, shapes, rates = max((_likeliest(times, shapes) for shapes in options), key=lambda each: each[0])
    return PhaseType.of_erlangs(list(weights), list(shapes), list(rates / scale))


def _likeliest(times: Array, shapes: tuple[int, ...]) -> tuple[float, Array, tuple[int, ...], Array]:
    """Return the log-likelihood, weights, shapes and rates of the likeliest mixture with given shapes."""
    shape = np.array(shapes, dtype=np.float64)
    # Equal branches would stay equal. So they begin at different times: the median, and rare long times.
    means = np.quantile(times, 1.0 - 0.5 * 0.1 ** np.arange(len(shapes)))
    weights, rates = np.full(len(shapes), 1.0 / len(shapes)), shape / np.maximum(means, _ENOUGH)
    before = likelihood = -np.inf
    for _ in range(_STEPS):
        logs = (
            np.log(weights)
            + shape * np.log(rates)
            + (shape - 1.0) * np.log(times)[:, None]
            - rates * times[:, None]
            - gammaln(shape)
        )
        most = logs.max(axis=1, keepdims=True)
        shares = np.exp(logs - most)
        likelihood = float((most[:, 0] + np.log(shares.sum(axis=1))).sum())
        shares /= shares.sum(axis=1, keepdims=True)
        total = np.maximum(shares.sum(axis=0), _LEAST_WEIGHT)
        weights, rates = total / total.sum(), shape * total / np.maximum(shares.T @ times, _LEAST_WEIGHT)
        if likelihood - before < _ENOUGH * len(times):
            break
        before = likelihood
    return likelihood, weights, shapes, rates


def mean_response_s(arrivals_per_s: float, service: PhaseType) -> float:
    """Return the mean time from the arrival of a request until it is served, in seconds (equations 7 to 9).

    Args:
        arrivals_per_s: Requests that arrive per second, at random and independently of each other.
        service: The service times.

    Raises:
        Overloaded: Requests arrive at least as fast as they are served.
    """
    busy = arrivals_per_s * service.moment(1)
    if busy >= 1.0:
        raise Overloaded(f"requests must arrive slower than they are served, but the broker would be {busy:.2f} busy")
    unit, ones = np.eye(len(service.start)), np.ones(len(service.start))
    leaving = arrivals_per_s * unit - arrivals_per_s * np.outer(ones, service.start) - service.generator
    steps = arrivals_per_s * np.linalg.inv(leaving)
    first = (1.0 - busy) * service.start @ steps
    rest = np.linalg.inv(unit - steps)
    return float(first @ rest @ rest @ ones / arrivals_per_s)
