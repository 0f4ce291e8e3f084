"""The paper's queue, against known results and a simulation."""

from typing import Final

import numpy as np
import pytest
from scipy.linalg import expm

from benchmarks.predictions.queueing import Overloaded, PhaseType, fitted, mean_response_s

RNG_SEED: Final = 5
RNG: Final = np.random.default_rng(4)


def test_with_exponential_service_times_the_queue_is_m_m_1() -> None:
    service = PhaseType.of_erlangs([1.0], [1], [100.0])
    assert mean_response_s(60.0, service) == pytest.approx(1 / (100 - 60))


@pytest.mark.parametrize("busy", [0.1, 0.5, 0.8, 0.95])
def test_the_mean_is_that_of_pollaczek_and_khinchine(busy: float) -> None:
    service = PhaseType.of_erlangs([0.7, 0.3], [4, 2], [4_000.0, 300.0])
    rate = busy / service.moment(1)
    waits = rate * service.moment(2) / (2 * (1 - busy))
    assert mean_response_s(rate, service) == pytest.approx(service.moment(1) + waits)


def test_a_simulated_queue_has_the_same_mean() -> None:
    rng = np.random.default_rng(RNG_SEED)
    service = PhaseType.of_erlangs([1.0], [3], [3_000.0])
    arrivals = rng.exponential(1 / 700.0, 40_000)
    served = rng.gamma(3, 1 / 3_000.0, 40_000)
    wait, waits = 0.0, np.empty(len(arrivals))
    for place, (gap, time) in enumerate(zip(arrivals[1:], served[:-1], strict=True), 1):
        wait = max(0.0, wait + time - gap)
        waits[place] = wait
    simulated = float(np.mean(waits[1:] + served[1:]))
    assert mean_response_s(700.0, service) == pytest.approx(simulated, rel=0.05)


def test_a_broker_that_gets_more_than_it_serves_is_refused() -> None:
    with pytest.raises(Overloaded, match=r"1\.20 busy"):
        mean_response_s(120.0, PhaseType.of_erlangs([1.0], [1], [100.0]))


@pytest.mark.parametrize(
    ("drawn", "moments_within"),
    [
        (np.random.default_rng(1).exponential(2e-3, 4_000), 0.05),
        (np.random.default_rng(2).gamma(4, 0.5e-3, 4_000), 0.05),
        (np.random.default_rng(3).lognormal(-6.2, 0.5, 4_000), 0.1),
        (np.concatenate([RNG.gamma(5, 1e-4, 3_600), RNG.gamma(4, 1e-3, 400)]), 0.05),
    ],
    ids=["exponential", "Erlang", "log-normal", "two speeds"],
)
def test_the_fit_has_the_moments_and_the_shape_of_its_times(drawn: np.ndarray, moments_within: float) -> None:
    found = fitted(drawn, branches=2, phases=9)
    assert found.moment(1) == pytest.approx(drawn.mean(), rel=1e-3)
    assert found.moment(2) == pytest.approx((drawn**2).mean(), rel=moments_within)
    for share in (0.1, 0.5, 0.9):
        assert _share_below(found, float(np.quantile(drawn, share))) == pytest.approx(share, abs=0.1)


def _share_below(service: PhaseType, seconds: float) -> float:
    """Return the probability of a service time below some seconds."""
    after = np.asarray(expm(service.generator * seconds))  # type: ignore[no-untyped-call,unused-ignore]
    return float(1.0 - service.start @ after @ np.ones(len(service.start)))
