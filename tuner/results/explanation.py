"""Why a config is recommended: what each of its changes brings, what came closest to it, what the search shows."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from objectives.outcome import COMPARED
from objectives.ratios import Ratio
from tuner.confirmation.effects import Effect, Effects, effects_of
from tuner.confirmation.gains import Confirmation
from tuner.confirmation.history import choices_in
from tuner.confirmation.plan import Choice, rounds_of
from tuner.model.goals import TOLERATED_LOSS, asked_metric, goal_metrics
from tuner.model.spec import Goal
from tuner.model.trial import Kind, Trial
from tuner.results.recommendation import Recommendation
from tuner.results.study_results import SizeResults, StudyResults

FRONT: Final = "front"
"""Name of the importance for reaching the front, beside the objectives' names."""

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
        importance: From `tuner.results.importance`, for the recommendation's record size.
    """
    size = study.size(found.record_bytes)
    assert size is not None, "a recommendation is for one of the study's record sizes"
    asked = goal_metrics(found.goal, size.objectives)
    metrics = tuple(dict.fromkeys((*asked, *COMPARED, *goal_metrics(Goal.BALANCED, size.objectives))))
    effects = effects_of(size.trials, found.config, found.baseline.config(), metrics, _choice(study, size, found))
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


def _choice(study: StudyResults, size: SizeResults, found: Recommendation) -> Choice | None:
    """The newest confirmation that measured the config."""
    choices = reversed(choices_in(study.facts, size.record_bytes))
    return next((each for each in choices if rounds_of(each, size.trials, found.trial.fingerprint).ours), None)


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
