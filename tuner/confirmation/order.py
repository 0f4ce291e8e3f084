"""Orders the measurements within a round, so that the effect of one measurement on the next does not look like a gain.

A measurement may change the next one: the broker still writes the last topic to its disk, or its caches are full of it.
If a candidate slows down the next measurement, and the baseline always follows a candidate, then the candidate looks
better than it is. In a random order, a single candidate follows the baseline in three cases of four.

So every config follows every config equally often, and itself as often as the others. The effect of any one config on
the next measurement then contributes equally to the mean of every config, and cancels out in the ratios. A config
follows itself where one round ends and the next one begins. With two configs the rounds are AB, BA, AB, BA and so on.
Such an order is a first-order balanced design. Source: Williams, "Experimental designs balanced for the estimation of
residual effects of treatments" (1949).

The model of the gains has no term for the predecessor. With balanced pairs, predecessors contribute equally to the mean
of every config. So a term would change no gain, and it would cost degrees of freedom. With few rounds, the term would
also be nearly collinear with the configs. There is no pause and no wash-out before a measurement either. A wash-out
load before each measurement would double the time of a confirmation, and thereby halve its rounds. In simulated
studies, carry-over of 5 and 10 % led to no wrong claim (docs/evidence/trust.md). Only the warning uses a model with the
predecessor (`tuner.confirmation.carry_over`).
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise, permutations
from random import Random
from typing import Final

from tuner.model.trial import Trial

_MOST_PERMUTED: Final = 5
"""The largest number of configs for which all orders are compared. For more configs, random orders are compared."""
_ORDERS_DRAWN: Final = 200
"""The number of random orders that are compared if there are too many orders to compare all of them."""


def order_of_round(
    members: Iterable[str], rounds: Sequence[Sequence[str]], last: str | None, seed: str
) -> tuple[str, ...]:
    """Return the configs of a round in the order in which they are to be measured.

    The order is the one that makes it most even, over all rounds, how often each config follows each config. Among
    such orders, the places of each config in its rounds are most even. Chance decides between equally good orders.

    Args:
        members: The fingerprints of the configs.
        rounds: The earlier rounds, from `measured_rounds`.
        last: The fingerprint of the config that is measured before this round. None if the round begins with a burn-in
            run of its own first config, so that this config follows itself.
        seed: Decides between orders that are equally good.
    """
    asked, random = sorted(set(members)), Random(seed)
    if len(asked) <= _MOST_PERMUTED:
        orders = list(permutations(asked))
        random.shuffle(orders)
    else:
        orders = [tuple(random.sample(asked, len(asked))) for _ in range(_ORDERS_DRAWN)]
    pairs = Counter(pair for earlier in rounds for pair in pairwise(earlier))
    places = Counter(each for earlier in rounds for each in enumerate(earlier[1:]))

    def unevenness(order: tuple[str, ...]) -> tuple[int, int]:
        # Counts with a given sum are most even where the sum of their squares is smallest. This is what the order adds.
        followed = Counter(pairwise((order[0] if last is None else last, *order)))
        uneven = sum(count * (2 * pairs[pair] + count) for pair, count in followed.items())
        return uneven, sum(2 * places[place] + 1 for place in enumerate(order))

    return min(orders, key=unevenness)


def measured_rounds(trials: Sequence[Trial], rounds: Sequence[Trial]) -> dict[int, list[str]]:
    """Return the configs of each round in the order of measurement, after the config that was measured just before.

    Args:
        trials: All trials of the record size, with the burn-in runs.
        rounds: The trials of the rounds, which are some of `trials`.

    Returns:
        By number of the round: the fingerprint of the config that was measured before the round (empty if there is
        none), and then the fingerprints of the round's configs.
    """
    before = measured_before(trials)
    found: dict[int, list[str]] = {}
    for trial in sorted(rounds, key=lambda trial: trial.number):
        if trial.round is not None:
            found.setdefault(trial.round, [before.get(trial.number, "")]).append(trial.fingerprint)
    return found


def measured_before(trials: Iterable[Trial]) -> dict[int, str]:
    """Return which config was measured directly before each trial.

    Burn-in runs count, because they influence what follows as all measurements do. In a round that begins with a
    burn-in run of its first config, this config has therefore followed itself.

    Returns:
        The fingerprints of the configs, by number of the trial that followed. The first trial is left out.
    """
    by_number = sorted(trials, key=lambda trial: trial.number)
    return {trial.number: previous.fingerprint for previous, trial in pairwise(by_number)}
