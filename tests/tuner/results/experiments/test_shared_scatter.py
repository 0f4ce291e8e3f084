"""Comparisons that share their scatter: the intervals hold the truth as often as they say, and are narrower."""

import numpy as np
import pytest

from objectives.ratios import claim_level, ratio_of
from tuner.results.experiments.shared_scatter import FEWEST, SharedScatter

COMPARISONS, ROUNDS = 30, 3


def draws(rng: np.random.Generator, spread: float) -> list[list[float]]:
    """Return the logarithms of ratios whose truth is 1; their standard deviations differ by a factor of e^spread."""
    deviations = 0.1 * np.exp(spread * rng.standard_normal(COMPARISONS))
    return [list(deviation * rng.standard_normal(ROUNDS)) for deviation in deviations]


@pytest.mark.campaign
@pytest.mark.parametrize("spread", [0.0, 0.5, 1.0])
def test_all_intervals_together_contain_the_true_ratios_as_often_as_stated(spread: float) -> None:
    rng, held, studies = np.random.default_rng(5), 0, 400
    level = claim_level(COMPARISONS)
    for _ in range(studies):
        logs = draws(rng, spread)
        shared = SharedScatter.of(logs)
        assert shared is not None
        ratios = [shared.ratio(each, level) for each in logs]
        # An interval may be wrong on two sides, and a claim on one.
        held += all(ratio.low <= 1 for ratio in ratios)
    assert held / studies > 0.93


def test_intervals_contain_the_true_ratios_if_all_rows_are_compared_with_the_same_row() -> None:
    rng, held, studies = np.random.default_rng(5), 0, 400
    level = claim_level(COMPARISONS)
    for _ in range(studies):
        usual, *others = draws(rng, 1.0)
        logs = [[ours - theirs for ours, theirs in zip(each, usual, strict=True)] for each in others]
        shared = SharedScatter.of(logs, [{"usual", str(number)} for number in range(len(logs))])
        assert shared is not None
        held += all(shared.ratio(each, level).low <= 1 for each in logs)
    assert held / studies > 0.93


def test_intervals_are_much_narrower_if_the_comparisons_scatter_alike() -> None:
    logs = draws(np.random.default_rng(6), 0.0)
    shared, level = SharedScatter.of(logs), claim_level(COMPARISONS)
    assert shared is not None
    assert shared.variance == pytest.approx(0.01, rel=0.4)
    alone = [ratio_of(np.exp(each).tolist(), [1.0] * ROUNDS, level=level) for each in logs]
    together = [shared.ratio(each, level) for each in logs]
    assert [ratio.value for ratio in together] == pytest.approx([ratio.value for ratio in alone])
    widths = [np.log(ratio.high / ratio.low) for ratio in (*alone, *together)]
    assert np.median(widths[:COMPARISONS]) > 3 * np.median(widths[COMPARISONS:])


def test_comparisons_that_scatter_very_differently_hardly_share_their_scatter() -> None:
    shared = SharedScatter.of(draws(np.random.default_rng(7), 2.0))
    assert shared is not None
    assert shared.degrees_of_freedom < 2
    alike = SharedScatter.of([[0.1, -0.1]] * 10)
    assert alike is not None
    assert (alike.degrees_of_freedom, alike.most_degrees) == (5, 10)


def test_few_comparisons_do_not_share_their_scatter() -> None:
    assert SharedScatter.of([[0.1, 0.2]] * (FEWEST - 1)) is None
    assert SharedScatter.of([[0.1], [0.2], [0.3], [0.1, 0.2]]) is None
    assert SharedScatter.of([[0.1, 0.1]] * 5) is None, "no scatter at all"
