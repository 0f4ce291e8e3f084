"""Why a config is recommended: what each of its changes brings, what came closest to it, what the search shows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from objectives.dominance import dominated_by
from objectives.outcome import COMPARED, Direction
from objectives.ratios import Ratio
from tuner.confirmation.gains import Confirmation, Effect, Effects, effects_of
from tuner.confirmation.plan import ConfirmationPlan, plans_in
from tuner.confirmation.rounds import rounds_of
from tuner.model.goals import TOLERATED_LOSS, asked_metric, goal_metrics
from tuner.model.spec import Goal
from tuner.model.trial import Kind, Trial
from tuner.results.recommendation import Recommendation
from tuner.results.study_results import SizeResults, StudyResults

FRONT: Final = "front"
"""Name of the importance for reaching the front, beside the objectives' names."""

METHOD: Final = "random forest, permutation"
_MIN_TRIALS: Final = 12
_TREES: Final = 100
_LEAST: Final = 1e-9
_LEAST_EXPLAINED_RATIO: Final = 0.1
"""Of the differences between unseen trials, what the forest must explain; of pure noise it explains less than none."""

Floats = NDArray[np.float64]

Importance = Mapping[str, Mapping[str, float]]
"""Shares that add up to 1, by what they are for (an objective, or reaching the front) and by knob."""


@dataclass(frozen=True, slots=True)
class Closest:
    """What came closest to being recommended in place of the baseline.

    Attributes:
        trial: The trial that found it.
        gains: By metric, from rounds in turn with the baseline; empty where it was not measured again.
        gain: Of the goal, from these rounds; None without them.
        times: How many times better than the baseline for the goal in its one trial, which luck may have helped; None
            where that is not known.
    """

    trial: Trial
    gains: Mapping[str, Ratio]
    gain: Ratio | None
    times: float | None
    but: str = ""


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why a config is recommended.

    Attributes:
        found: The recommendation.
        metrics: What is told of each change: the goal's numbers first.
        goal_metrics: The numbers that the goal is about.
        effects: What each change brings, the strongest first.
        closest: What came closest; None unless the baseline is recommended, and where nothing came close.
        importance: What mattered over the whole search; empty where too little was tried.
        searched: Trials of the search.
    """

    found: Recommendation
    metrics: tuple[str, ...]
    goal_metrics: tuple[str, ...]
    effects: Effects
    closest: Closest | None
    importance: Importance
    searched: int

    @property
    def telling(self) -> tuple[Effect, ...]:
        """Changes that make a difference clear of the noise."""
        return tuple(each for each in self.effects.each if each.shows)

    @property
    def silent(self) -> tuple[Effect, ...]:
        """Changes that were measured and make none."""
        return tuple(each for each in self.effects.each if each.measured and not each.shows)

    @property
    def unmeasured(self) -> tuple[Effect, ...]:
        """Changes of which nothing is known alone."""
        return tuple(each for each in self.effects.each if not each.measured)


def explain(study: StudyResults, found: Recommendation, importance: Importance) -> Explanation:
    """Say why.

    Args:
        study: The study's results.
        found: What it recommends.
        importance: From `knob_importance`, for the recommendation's record size.
    """
    size = study.size(found.record_bytes)
    assert size is not None, "a recommendation is for one of the study's record sizes"
    asked = goal_metrics(found.goal, size.objectives)
    metrics = tuple(dict.fromkeys((*asked, *COMPARED, *goal_metrics(Goal.BALANCED, size.objectives))))
    effects = effects_of(size.trials, found.config, found.baseline.config(), metrics, _plan(study, size, found))
    strongest = sorted(effects.each, key=lambda each: _strength(each, asked), reverse=True)
    return Explanation(
        found=found,
        metrics=metrics,
        goal_metrics=asked,
        effects=Effects(tuple(strongest), effects.product, effects.rounds),
        closest=_closest(size, found.goal) if found.is_baseline else None,
        importance=importance,
        searched=sum(trial.kind is Kind.SEARCH for trial in size.trials),
    )


def _plan(study: StudyResults, size: SizeResults, found: Recommendation) -> ConfirmationPlan | None:
    """The newest confirmation that measured the config."""
    plans = reversed(plans_in(study.facts, size.record_bytes))
    return next((each for each in plans if rounds_of(each, size.trials, found.trial.fingerprint).ours), None)


def _strength(effect: Effect, asked: tuple[str, ...]) -> tuple[bool, bool, bool, float]:
    """To sort by, the strongest last."""
    known = [effect.gains[metric].value for metric in asked if metric in effect.gains]
    return effect.measured, effect.shows, bool(effect.misses), max(known, default=0.0)


def _closest(size: SizeResults, goal: Goal) -> Closest | None:
    asked = asked_metric(goal, size.objectives)
    known = [(gain, each) for each in size.confirmations if (gain := _gain_of(each, asked)) is not None]
    claimed = [(gain, each) for gain, each in known if goal in each.goals] or known
    if claimed:
        gain, again = max(claimed, key=lambda pair: pair[0].value)
        return Closest(size.trial_of(again.fingerprint), again.gains, gain, None, _but(size, again, gain, goal))
    assert size.baseline is not None
    others = [
        trial
        for trial in size.trials
        if trial.kind is Kind.SEARCH and trial.feasible and trial.fingerprint != size.baseline.fingerprint
    ]
    if not others:
        return None
    best = max(others, key=lambda trial: size.goal_rank(trial, goal))
    times = size.goal_gain(best, goal)
    return None if times is None else Closest(best, {}, None, times)


def _but(size: SizeResults, found: Confirmation, gain: Ratio, goal: Goal) -> str:
    """Why a config is not recommended that gained for sure."""
    if gain.low <= 1.0:
        return ""
    lost = size.lost_records(found.fingerprint)
    missed = dict.fromkeys((*found.broken, *(["delivered_ratio >= 1"] if lost else [])))
    if missed:
        return f"it missed {' and '.join(missed)} when it was measured again"
    together = [metric for metric in goal_metrics(goal, size.objectives) if metric in found.gains]
    worst = min(together or found.gains, key=lambda metric: found.gains[metric].value)
    if goal is Goal.BALANCED and found.gains[worst].value < TOLERATED_LOSS:
        return f"it keeps only {found.gains[worst].value:.2f} of the baseline's {worst}"
    return "it was not chosen beforehand for this goal" if goal not in found.goals else "it misses what was asked for"


def _gain_of(found: Confirmation, asked: str | None) -> Ratio | None:
    return found.balance if asked is None else found.gains.get(asked)


def knob_importance(size: SizeResults) -> dict[str, dict[str, float]]:
    """Shares that add up to 1, by objective (and `FRONT` where there are several) and by knob, the largest first.

    Counted are trials of the search that kept every constraint. What too few trials, or none that differ, can't answer
    for is left out.

    A random forest learns from the search's trials what the knobs do; a knob matters as much as the forest errs more
    about trials that it has not seen when that knob's values are shuffled among them. Source: Breiman, "Random Forests"
    (2001), section 10. Where the forest can't tell unseen trials apart, nothing is said.

    Why not PED-ANOVA, which compares the best trials with all: with samplers that learn, and 40 to 80 trials over seven
    knobs of which two decide, it put one of these first for throughput in 5 to 8 of 10 studies made by a formula; the
    forest did in all of them.
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
