"""Explains a recommendation: the effect of each change, the next best config, and how much each knob mattered."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from objectives.dominance import dominated_by
from objectives.metrics import COMPARED_WITH_BASELINE, OUTCOME_METRICS, Direction
from objectives.ratios import Ratio
from tuner.confirmation.effects import Effect, Effects, effects_of
from tuner.confirmation.gains import Confirmation
from tuner.confirmation.plan import ConfirmationPlan, plans_in
from tuner.confirmation.rounds import rounds_of
from tuner.model.goals import Goal, goal_metrics, single_metric
from tuner.model.trial import Trial, TrialKind
from tuner.results.recommendations.recommendation import Recommendation
from tuner.results.study_results import SizeResults, StudyResults

FRONT: Final = "front"
"""The key in `Importance` for how much each knob mattered for reaching the front; the other keys are objectives."""

METHOD: Final = "random forest, permutation"
_MIN_TRIALS: Final = 12
_TREES: Final = 100
_LEAST_VALUE: Final = 1e-9
_LEAST_EXPLAINED_RATIO: Final = 0.1
"""The share of the variance of unseen trials that the random forest must explain for its importances to be reported.

On pure noise this share is negative, because the forest predicts worse than the mean does.
"""

Floats = NDArray[np.float64]

Importance = Mapping[str, Mapping[str, float]]
"""Importance of each knob, by objective (or `FRONT`) and knob; the shares of one objective add up to 1."""


@dataclass(frozen=True, slots=True)
class ClosestConfig:
    """The config that came closest to being recommended, if the baseline is recommended instead.

    Attributes:
        trial: The trial that found the config.
        gains: By metric, the config's gain over the baseline; empty if the config was not measured again, alternating
            with the baseline.
        gain: The config's gain for the goal, from the same rounds; None if there were no rounds.
        times: How many times better than the baseline the config was for the goal, as the mean of its trials in the
            search, which may have been lucky. None if the config was measured again, because `gain` is then more
            reliable.
        why_not: Why the config is not recommended although its gain is proven; empty if the gain is not proven.
        trials: The number of trials in the mean `times`.
    """

    trial: Trial
    gains: Mapping[str, Ratio]
    gain: Ratio | None
    times: float | None
    why_not: str = ""
    trials: int = 1


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why a config is recommended.

    Attributes:
        recommendation: The recommendation.
        metrics: The metrics in which the effects are reported; the metrics of the goal come first.
        goal_metrics: The metrics that the goal is about.
        effects: The effect of each change, the strongest first.
        closest: If the baseline is recommended, the config that came closest to being recommended. None if there is no
            such config, or if the baseline is not recommended.
        importance: How much each knob mattered in the search; empty if there were too few trials to tell.
        searched: Number of trials of the search.
    """

    recommendation: Recommendation
    metrics: tuple[str, ...]
    goal_metrics: tuple[str, ...]
    effects: Effects
    closest: ClosestConfig | None
    importance: Importance
    searched: int

    @property
    def clear_effects(self) -> tuple[Effect, ...]:
        """Effects of the changes that clearly make a difference."""
        return tuple(each for each in self.effects.each if each.is_clear)

    @property
    def unclear_effects(self) -> tuple[Effect, ...]:
        """Effects of the changes that were measured, but do not clearly make a difference."""
        return tuple(each for each in self.effects.each if each.measured and not each.is_clear)

    @property
    def unmeasured(self) -> tuple[Effect, ...]:
        """Effects of changes that were not measured one by one."""
        return tuple(each for each in self.effects.each if not each.measured)


def explain(study: StudyResults, recommendation: Recommendation, importance: Importance) -> Explanation:
    """Explain a recommendation."""
    size = study.size(recommendation.record_bytes)
    assert size is not None, "a recommendation is for one of the study's record sizes"
    of_goal = goal_metrics(recommendation.goal, size.objectives)
    metrics = tuple(dict.fromkeys((*of_goal, *COMPARED_WITH_BASELINE, *goal_metrics(Goal.BALANCED, size.objectives))))
    plan = _plan(study, size, recommendation)
    effects = effects_of(size.trials, recommendation.config, recommendation.baseline.config(), metrics, plan)
    strongest = sorted(effects.each, key=lambda each: _strength(each, of_goal), reverse=True)
    return Explanation(
        recommendation=recommendation,
        metrics=metrics,
        goal_metrics=of_goal,
        effects=Effects(tuple(strongest), effects.product, effects.rounds),
        closest=_closest(size, recommendation.goal, study.allow_loss) if recommendation.is_baseline else None,
        importance=importance,
        searched=sum(trial.kind is TrialKind.SEARCH for trial in size.trials),
    )


def _plan(study: StudyResults, size: SizeResults, recommendation: Recommendation) -> ConfirmationPlan | None:
    """Return the plan of the newest confirmation that measured the recommended config; None if there is none."""
    plans = reversed(plans_in(study.facts, size.record_bytes))
    return next((each for each in plans if rounds_of(each, size.trials, recommendation.trial.fingerprint).ours), None)


def _strength(effect: Effect, metrics: tuple[str, ...]) -> tuple[bool, bool, bool, float]:
    """Return a sort key that puts the strongest effect last."""
    values = [effect.gains[metric].value for metric in metrics if metric in effect.gains]
    return effect.measured, effect.is_clear, bool(effect.misses), max(values, default=0.0)


def _closest(size: SizeResults, goal: Goal, allow_loss: float) -> ClosestConfig | None:
    metric = single_metric(goal, size.objectives)
    measured = [
        (gain, confirmation)
        for confirmation in size.confirmations
        if (gain := confirmation.mean_gain if metric is None else confirmation.gains.get(metric)) is not None
    ]
    claimed = [(gain, confirmation) for gain, confirmation in measured if goal in confirmation.goals] or measured
    if claimed:
        gain, closest = max(claimed, key=lambda pair: pair[0].value)
        why_not = _reason_against(size, closest, gain, goal, allow_loss)
        return ClosestConfig(size.trial_of(closest.fingerprint), closest.gains, gain, None, why_not)
    assert size.baseline is not None
    others = [
        trial
        for trial in size.trials
        if trial.kind is TrialKind.SEARCH and trial.feasible and trial.fingerprint != size.baseline.fingerprint
    ]
    if not others:
        return None
    best = max(others, key=lambda trial: size.goal_rank(trial, goal))
    times = size.goal_gain(best, goal)
    trials = size.estimates.repeats_of(best.fingerprint)
    return None if times is None else ClosestConfig(best, {}, None, times, trials=trials)


def _reason_against(size: SizeResults, confirmation: Confirmation, gain: Ratio, goal: Goal, allow_loss: float) -> str:
    """Return why a config with a proven gain is not recommended; empty if its gain is not proven."""
    if gain.low <= 1.0:
        return ""
    lost = size.lost_records(confirmation.fingerprint)
    missed = dict.fromkeys((*confirmation.broken, *(["delivered_ratio >= 1"] if lost else [])))
    if missed:
        return f"the config broke {' and '.join(missed)} when it was measured again"
    metrics = [metric for metric in goal_metrics(goal, size.objectives) if metric in confirmation.gains]
    worst = min(metrics or confirmation.gains, key=lambda metric: confirmation.gains[metric].value)
    if goal is Goal.BALANCED and confirmation.gains[worst].low < 1 - allow_loss:
        worst_gain = f"{OUTCOME_METRICS[worst].label} is only {confirmation.gains[worst]} times as good"
        return f"the config's {worst_gain} as the baseline's"
    if goal in confirmation.goals - confirmation.proven_in_mean:
        return "one more stall in a round would undo this gain, so it is not certain"
    return (
        "the config was measured again only for other goals"
        if goal not in confirmation.proven_in_mean
        else "the config breaks a limit that you set"
    )


def knob_importance(size: SizeResults) -> dict[str, dict[str, float]]:
    """Return the importance of each knob in the search as shares, by objective and knob, the largest share first.

    The shares of one objective add up to 1. With several objectives there are also the shares for reaching the front,
    under the name `FRONT`. Only trials of the search that met every constraint count. An objective is left out if
    there are too few trials to tell, or if the trials differ too little.

    A random forest learns from the trials how the knobs act on the objective. Then the values of one knob are shuffled
    among the trials that a tree has not seen. The more the forest's error grows, the more important the knob is.
    Source: Breiman, "Random Forests" (2001), section 10.

    PED-ANOVA, which compares the best trials with all trials, was tried and rejected. The test was 10 simulated studies
    with a learning sampler and 40 to 80 trials, in which two of seven knobs decide the throughput. PED-ANOVA ranked one
    of these two knobs first in 5 to 8 studies. The forest did so in all 10.
    """
    trials = [trial for trial in size.trials if trial.kind is TrialKind.SEARCH and trial.feasible and trial.params]
    knobs = _knobs(trials)
    if len(trials) < _MIN_TRIALS or not knobs:
        return {}
    metrics = [objective.metric for objective in size.objectives]
    points = np.array([[size.metrics_of(trial)[metric] for metric in metrics] for trial in trials])
    wanted = dict(zip(metrics, points.T, strict=True))
    if len(metrics) > 1:
        wanted[FRONT] = _layers(size, points)
    found = {name: _shares(knobs, np.log(np.maximum(values, _LEAST_VALUE))) for name, values in wanted.items()}
    return {name: shares for name, shares in found.items() if shares}


def _knobs(trials: Sequence[Trial]) -> dict[str, Floats]:
    """Return the values of each knob as columns of numbers, for a random forest; knobs with one value are left out.

    The array of each knob has the shape (trials, columns).

    A numeric knob is one column of ranks. A knob whose values are words has one column per word. Some knobs have no
    meaning in some trials: for example, the compression level of lz4 if the codec is zstd. Such a trial gets a value
    drawn from the knob's values in other trials, so that the forest can't infer the codec from the level.
    """
    rng = np.random.default_rng(0)
    columns = {}
    for name in sorted({name for trial in trials for name in trial.params}):
        known = [trial.params[name] for trial in trials if name in trial.params]
        words = sorted(set(map(str, known)))
        if len(words) < 2:
            continue
        values = [trial.params.get(name, known[rng.integers(len(known))]) for trial in trials]
        if any(isinstance(value, str) for value in known):
            columns[name] = np.array([[str(value) == word for word in words] for value in values], dtype=np.float64)
        else:
            ranks = {value: rank for rank, value in enumerate(sorted({*map(float, known)}))}
            columns[name] = np.array([[ranks[float(value)]] for value in values], dtype=np.float64)
    return columns


def _shares(knobs: Mapping[str, Floats], wanted: Floats) -> dict[str, float]:
    """Return each knob's importance: how much a random forest's error grows when the knob's values are shuffled.

    The error of each tree is taken on the trials that it was not trained with. The importances are shares that add up
    to 1. The result is empty if the forest explains too little of the variance.

    Args:
        knobs: Columns by knob name, shapes (trials, columns).
        wanted: The values to explain, shape (trials,).
    """
    # Imported here because scikit-learn takes seconds to import, and small studies do not need it.
    from sklearn.ensemble import RandomForestRegressor

    columns = np.concatenate(list(knobs.values()), axis=1).astype(np.float32)
    owner = np.repeat(np.arange(len(knobs)), [each.shape[1] for each in knobs.values()])
    forest = RandomForestRegressor(_TREES, random_state=0).fit(columns, wanted)
    rng = np.random.default_rng(0)
    worse, predictions, votes = np.zeros(len(knobs)), np.zeros(len(wanted)), np.zeros(len(wanted))
    for tree, learnt in zip(forest.estimators_, forest.estimators_samples_, strict=True):
        unseen = np.setdiff1d(np.arange(len(wanted)), learnt)
        shuffled = np.repeat(columns[unseen][None], len(knobs) + 1, axis=0)
        for index in range(len(knobs)):
            own = owner == index
            shuffled[index + 1][:, own] = shuffled[index + 1][rng.permutation(len(unseen))][:, own]
        predicted = tree.predict(shuffled.reshape(-1, columns.shape[1])).reshape(len(knobs) + 1, -1)
        errors = ((wanted[unseen] - predicted) ** 2).sum(axis=1)
        worse += errors[1:] - errors[0]
        predictions[unseen] += predicted[0]
        votes[unseen] += 1
    has_vote = votes > 0
    error = ((wanted[has_vote] - predictions[has_vote] / votes[has_vote]) ** 2).sum()
    spread = ((wanted[has_vote] - wanted[has_vote].mean()) ** 2).sum()
    if error > (1 - _LEAST_EXPLAINED_RATIO) * spread or worse.max() <= 0:
        return {}
    shares = np.maximum(worse, 0.0) / np.maximum(worse, 0.0).sum()
    return dict(sorted(zip(knobs, map(float, shares), strict=True), key=lambda item: -item[1]))


def _layers(size: SizeResults, points: Floats) -> Floats:
    """Return the layer of each trial: 1 on the front, 2 on the front of the remaining trials, and so on.

    Shapes: `points` (trials, objectives), result (trials,).
    """
    signs = [1.0 if objective.direction is Direction.MAXIMIZE else -1.0 for objective in size.objectives]
    large = points * signs
    layers, left, layer = np.zeros(len(points)), np.arange(len(points)), 1
    while len(left):
        on_front = dominated_by(large[left]) == 0
        layers[left[on_front]] = layer
        left, layer = left[~on_front], layer + 1
    return layers
