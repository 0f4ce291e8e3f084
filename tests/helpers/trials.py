"""Builders of trials with given numbers. A trial is complete and feasible unless a test changes that."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from objectives.scoring import Constraint, Objective, score
from search_spaces.configs.guarantee import Guarantee
from search_spaces.configs.producer_config import ProducerConfig
from tuner.confirmation.plan import ConfirmationPlan
from tuner.model.goals import PRESETS, Goal
from tuner.model.trial import State, Trial, TrialKind
from tuner.results.study_results import SizeResults, size_results

SIZE = "1000"
OBJECTIVES = PRESETS[Goal.BALANCED][0]
THROUGHPUT, P99 = OBJECTIVES


def trial(
    number: int,
    mb_per_s: float | None = 100.0,
    p99_ms: float | None = 10.0,
    *,
    kind: TrialKind = TrialKind.SEARCH,
    config: Mapping[str, str] | None = None,
    objectives: Sequence[Objective] = OBJECTIVES,
    constraints: Sequence[Constraint] = (),
    metrics: Mapping[str, float] | None = None,
    **changes: Any,
) -> Trial:
    """Return a trial with these numbers, scored as in a study; a baseline has the client's defaults."""
    if config is None:
        config = {} if kind in (TrialKind.BASELINE, TrialKind.BURN_IN) else {"linger.ms": str(number)}
    parsed = ProducerConfig.parse(config)
    found = {"delivered_ratio": 1.0, "held_rate_ratio": 1.0}
    if mb_per_s is not None:
        found["mb_per_s"] = mb_per_s
    if p99_ms is not None:
        found["latency_p99_ms"] = p99_ms
    found.update(metrics or {})
    judged = score(found, objectives, constraints)
    good: dict[str, Any] = {
        "record_bytes": SIZE,
        "number": number,
        "kind": kind,
        "state": State.COMPLETE,
        "values": parsed.values,
        "fingerprint": parsed.fingerprint,
        "guarantee": str(Guarantee.of(parsed)),
        "metrics": found,
        "objectives": () if kind is TrialKind.BURN_IN else judged.values,
        "violations": {} if kind is TrialKind.BURN_IN else judged.violations,
    }
    return Trial(**{**good, **changes})


def baseline(number: int = 0, mb_per_s: float | None = 100.0, p99_ms: float | None = 10.0, **changes: Any) -> Trial:
    """Return a baseline that was measured during the search."""
    return trial(number, mb_per_s, p99_ms, kind=TrialKind.BASELINE, **changes)


def failed(number: int, **changes: Any) -> Trial:
    """Return a failed trial, which has no numbers."""
    found = trial(number, state=State.FAILED, error="the worker was lost", **changes)
    return replace(found, metrics={}, objectives=(), violations={})


def through_text(kept: Trial) -> Trial:
    """Return the trial as it comes back from a store that keeps text."""
    return Trial.from_json(json.loads(json.dumps(kept.as_json())))


def confirming(
    first: int, ours: Sequence[tuple[float, float]], theirs: Sequence[tuple[float, float]], config: Mapping[str, str]
) -> list[Trial]:
    """Return rounds that measured the baseline and a config in turn.

    Args:
        first: Number of the first trial.
        ours: Throughput and latency of the config in each round.
        theirs: Throughput and latency of the baseline in each round.
        config: The config's properties.
    """
    made: list[Trial] = []
    for turn, (mine, other) in enumerate(zip(ours, theirs, strict=True)):
        for numbers, values in ((other, {}), (mine, config)):
            made.append(trial(first + len(made), *numbers, kind=TrialKind.CONFIRM, config=values, round=turn))
    return made


def plan_of(
    trials: Sequence[Trial], goals: Mapping[Goal, Mapping[str, str]] | None = None, **changes: Any
) -> ConfirmationPlan:
    """Return the plan of the confirmation that these trials belong to, without repeat measurements.

    Args:
        trials: Trials, of which some belong to the confirmation.
        goals: The winner of each goal; by default the first confirmed config is the winner of all goals.
        changes: Other fields of the plan.
    """
    base = baseline().fingerprint
    found = [trial.fingerprint for trial in trials if trial.kind is TrialKind.CONFIRM and trial.fingerprint != base]
    if goals is None:
        claimed = dict.fromkeys(Goal, (found[0],)) if found else {}
    else:
        claimed = {goal: (ProducerConfig.parse(config).fingerprint,) for goal, config in goals.items()}
    rounds = 1 + max((trial.round for trial in trials if trial.round is not None), default=0)
    return ConfirmationPlan(base, claimed, **{"rounds": rounds, "max_rounds": rounds, **changes})


def results(
    trials: Sequence[Trial], objectives: tuple[Objective, ...] = OBJECTIVES, plan: ConfirmationPlan | None = None
) -> SizeResults:
    """Return the results of these trials, which are all of one record size."""
    return size_results(SIZE, objectives, trials, 20_000.0, [plan or plan_of(trials)])
