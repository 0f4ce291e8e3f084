"""Which knobs matter: for each objective, and for reaching the front.

A random forest learns from the search's trials what the knobs do; a knob matters as much as the forest errs more about
trials that it has not seen when that knob's values are shuffled among them. Source: Breiman, "Random Forests" (2001),
section 10. Where the forest can't tell unseen trials apart, nothing is said.

Why not PED-ANOVA, which compares the best trials with all: with samplers that learn, and 40 to 80 trials over seven
knobs of which two decide, it put one of these first for throughput in 5 to 8 of 10 studies made by a formula; the
forest did in all of them.
"""

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from objectives.front import dominated_by
from objectives.metrics import Direction
from tuner.model.trial import Kind, Trial
from tuner.results.explanation import FRONT
from tuner.results.study_results import SizeResults

METHOD: Final = "random forest, permutation"
_MIN_TRIALS: Final = 12
_TREES: Final = 100
_LEAST: Final = 1e-9
_LEAST_EXPLAINED_RATIO: Final = 0.1
"""Of the differences between unseen trials, what the forest must explain; of pure noise it explains less than none."""

Floats = NDArray[np.float64]


def knob_importance(size: SizeResults) -> dict[str, dict[str, float]]:
    """Shares that add up to 1, by objective (and `FRONT` where there are several) and by knob, the largest first.

    Counted are trials of the search that kept every constraint. What too few trials, or none that differ, can't answer
    for is left out.
    """
    trials = [trial for trial in size.trials if trial.kind is Kind.SEARCH and trial.feasible and trial.params]
    knobs = _knobs(trials)
    if len(trials) < _MIN_TRIALS or not knobs:
        return {}
    metrics = [objective.metric for objective in size.objectives]
    points = np.array([[size.metrics_of(trial)[metric] for metric in metrics] for trial in trials])
    wanted = dict(zip(metrics, points.T, strict=True))
    if len(metrics) > 1:
        wanted[FRONT] = _layers(size, points)
    found = {name: _shares(knobs, np.log(np.maximum(values, _LEAST))) for name, values in wanted.items()}
    return {name: shares for name, shares in found.items() if shares}


def _knobs(trials: Sequence[Trial]) -> dict[str, Floats]:
    """Columns of numbers for each knob that was varied, shapes (trials, columns): ranks, or one column per word.

    What a knob that means nothing in a trial would have been (a level of another codec) is drawn from its values
    elsewhere: so that the forest does not read the codec off it.
    """
    rng = np.random.default_rng(0)
    found = {}
    for name in sorted({name for trial in trials for name in trial.params}):
        known = [trial.params[name] for trial in trials if name in trial.params]
        words = sorted(set(map(str, known)))
        if len(words) < 2:
            continue
        values = [trial.params.get(name, known[rng.integers(len(known))]) for trial in trials]
        if any(isinstance(value, str) for value in known):
            found[name] = np.array([[str(value) == word for word in words] for value in values], dtype=np.float64)
        else:
            ranks = {value: rank for rank, value in enumerate(sorted({*map(float, known)}))}
            found[name] = np.array([[ranks[float(value)]] for value in values], dtype=np.float64)
    return found


def _shares(knobs: Mapping[str, Floats], wanted: Floats) -> dict[str, float]:
    """How much of the forest's error on unseen trials is due to each knob; empty where it explains nothing.

    Args:
        knobs: Columns by name, shapes (trials, columns).
        wanted: What is to be explained, shape (trials,).
    """
    # Deferred: scikit-learn takes seconds to import, and small studies do without.
    from sklearn.ensemble import RandomForestRegressor

    columns = np.concatenate(list(knobs.values()), axis=1).astype(np.float32)
    owner = np.repeat(np.arange(len(knobs)), [each.shape[1] for each in knobs.values()])
    forest = RandomForestRegressor(_TREES, random_state=0).fit(columns, wanted)
    rng = np.random.default_rng(0)
    worse, answers, asked = np.zeros(len(knobs)), np.zeros(len(wanted)), np.zeros(len(wanted))
    for tree, learnt in zip(forest.estimators_, forest.estimators_samples_, strict=True):
        unseen = np.setdiff1d(np.arange(len(wanted)), learnt)
        shuffled = np.repeat(columns[unseen][None], len(knobs) + 1, axis=0)
        for place in range(len(knobs)):
            own = owner == place
            shuffled[place + 1][:, own] = shuffled[place + 1][rng.permutation(len(unseen))][:, own]
        told = tree.predict(shuffled.reshape(-1, columns.shape[1])).reshape(len(knobs) + 1, -1)
        errors = ((wanted[unseen] - told) ** 2).sum(axis=1)
        worse += errors[1:] - errors[0]
        answers[unseen] += told[0]
        asked[unseen] += 1
    known = asked > 0
    left = ((wanted[known] - answers[known] / asked[known]) ** 2).sum()
    spread = ((wanted[known] - wanted[known].mean()) ** 2).sum()
    if left > (1 - _LEAST_EXPLAINED_RATIO) * spread or worse.max() <= 0:
        return {}
    shares = np.maximum(worse, 0.0) / np.maximum(worse, 0.0).sum()
    return dict(sorted(zip(knobs, map(float, shares), strict=True), key=lambda item: -item[1]))


def _layers(size: SizeResults, points: Floats) -> Floats:
    """1 for the front, 2 for what would be the front without it, and so on. Shapes: (trials, objectives), (trials,)."""
    signs = [1.0 if objective.direction is Direction.MAXIMIZE else -1.0 for objective in size.objectives]
    large = points * signs
    layers, left, layer = np.zeros(len(points)), np.arange(len(points)), 1
    while len(left):
        on_front = dominated_by(large[left]) == 0
        layers[left[on_front]] = layer
        left, layer = left[~on_front], layer + 1
    return layers
