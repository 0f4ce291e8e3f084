"""The course of a confirmation: what is measured next follows from the record alone, so that it can be gone on with.

1. **Second looks**: of the search's best configs, the luckiest stands first. For each goal the best few are measured
   again, and the best of them by these second looks alone is the goal's winner.
2. **Rounds**: baseline and winners in turn, in an order drawn anew for each round. Each goal makes one claim: that its
   winner is better than the baseline. A first number of rounds, fixed beforehand, shows how far they scatter, and that
   decides how many more a winner gets (`objectives.ratios`), up to a most.
3. **Ablation**: each winner that has proven better, with one knob at a time back at the baseline's value.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from statistics import fmean
from typing import Any, Self

from objectives.outcome import OUTCOME_METRICS
from objectives.ratios import claim_level, ratio_of, rounds_needed
from objectives.scoring import Objective
from search_spaces.producer_config import ProducerConfig
from tuner.study.ablation import MOST_VARIANTS, variants_of
from tuner.study.goals import goal_metrics, goal_rank
from tuner.study.spec import ConfirmSpec, Goal
from tuner.study.trial import Kind, State, Trial


@dataclass(frozen=True, slots=True)
class Choice:
    """What is confirmed, and how: kept with the record when a confirmation begins.

    Attributes:
        baseline: Its fingerprint.
        nominees: Fingerprints of the best configs for each goal, the best first.
        first_round: The first of its rounds; those before are of earlier confirmations.
        looks: Second looks at each nominee.
        rounds: Rounds that there are in any case.
        max_rounds: The most rounds.
        width_ratio: An interval as narrow as this, relative to its value, needs no further rounds.
        ablation_rounds: Rounds of the ablation.
        both_ways: Whether a config that is worse is of interest too, so that it gets as many rounds.
    """

    baseline: str
    nominees: Mapping[Goal, tuple[str, ...]]
    first_round: int = 0
    looks: int = 0
    rounds: int = 2
    max_rounds: int = 2
    width_ratio: float = 0.1
    ablation_rounds: int = 0
    both_ways: bool = False

    @classmethod
    def of(
        cls, spec: ConfirmSpec, baseline: str, nominees: Mapping[Goal, tuple[str, ...]], trials: Iterable[Trial]
    ) -> Self:
        """The choice of a confirmation that begins now."""
        past = [trial.round for trial in trials if trial.round is not None]
        return cls(
            baseline=baseline,
            nominees=dict(nominees),
            first_round=max(past, default=-1) + 1,
            looks=spec.looks,
            rounds=spec.rounds,
            max_rounds=max(spec.rounds, spec.max_rounds),
            width_ratio=spec.width_ratio,
            ablation_rounds=spec.ablation_rounds,
            both_ways=bool(spec.configs),
        )

    def as_json(self) -> dict[str, Any]:
        """Of JSON types only; `from_json` reads it."""
        plain = {name: getattr(self, name) for name in self.__slots__}
        return {**plain, "nominees": {str(goal): list(fingerprints) for goal, fingerprints in self.nominees.items()}}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """The choice that `as_json` wrote."""
        known = {name: data[name] for name in cls.__slots__ if name in data}
        known["nominees"] = {Goal(goal): tuple(each) for goal, each in known["nominees"].items()}
        return cls(**known)


@dataclass(frozen=True, slots=True)
class Step:
    """One measurement of a confirmation."""

    kind: Kind
    round: int
    config: ProducerConfig


@dataclass(frozen=True, slots=True)
class Rounds:
    """Numbers of a winner and of the baseline, of the rounds in which both were measured.

    Attributes:
        ours: The winner's trials.
        theirs: The baseline's.
        first: How many of them belong to the rounds that were fixed beforehand.
    """

    ours: tuple[Trial, ...]
    theirs: tuple[Trial, ...]
    first: int

    def values(self, metrics: Sequence[str]) -> tuple[list[float], list[float]] | None:
        """Both sides as numbers that are to be large, several metrics by their geometric mean; None where one lacks."""
        every = (*self.ours, *self.theirs)
        if not metrics or any(trial.metrics.get(metric, 0.0) <= 0 for trial in every for metric in metrics):
            return None
        return [_large(trial, metrics) for trial in self.ours], [_large(trial, metrics) for trial in self.theirs]


def winners_of(
    choice: Choice, trials: Sequence[Trial], baseline_metrics: Mapping[str, float], objectives: Sequence[Objective]
) -> dict[Goal, str]:
    """Each goal's winner by the second looks; empty while these are not all there, a goal left out that has none."""
    looks = _of_kind(trials, Kind.SECOND_LOOK, choice)
    asked = _looked_at(choice)
    if {(trial.round, trial.fingerprint) for trial in looks} < {
        (choice.first_round + look, fingerprint) for look in range(choice.looks) for fingerprint in asked
    }:
        return {}
    found = {}
    for goal, nominees in choice.nominees.items():
        ranks = {}
        for fingerprint in nominees:
            seen = [trial for trial in looks if trial.fingerprint == fingerprint and trial.feasible]
            if seen:
                means = {
                    metric: fmean(trial.metrics[metric] for trial in seen)
                    for metric in goal_metrics(goal, objectives)
                    if all(metric in trial.metrics for trial in seen)
                }
                ranks[fingerprint] = goal_rank(goal, means, baseline_metrics, objectives)
        if ranks and len(nominees) > 1 and choice.looks:
            found[goal] = max(ranks, key=lambda fingerprint: ranks[fingerprint])
        elif nominees and not (len(nominees) > 1 and choice.looks):
            found[goal] = nominees[0]
    return found


def rounds_of(choice: Choice, trials: Sequence[Trial], fingerprint: str) -> Rounds:
    """The rounds that a config and the baseline share."""
    by_round: dict[str, dict[int, Trial]] = {choice.baseline: {}, fingerprint: {}}
    for trial in _of_kind(trials, Kind.CONFIRM, choice):
        if trial.fingerprint in by_round and trial.state is State.COMPLETE and trial.round is not None:
            by_round[trial.fingerprint][trial.round] = trial
    ours, theirs = by_round[fingerprint], by_round[choice.baseline]
    shared = sorted(ours.keys() & theirs.keys())
    return Rounds(
        tuple(ours[number] for number in shared),
        tuple(theirs[number] for number in shared),
        sum(number < choice.first_round + choice.rounds for number in shared),
    )


def next_step(
    choice: Choice,
    configs: Mapping[str, ProducerConfig],
    trials: Sequence[Trial],
    baseline_metrics: Mapping[str, float],
    objectives: Sequence[Objective],
    seed: int,
) -> Step | None:
    """What to measure next; None when the confirmation is over. A step that failed is not tried again.

    Args:
        choice: What is confirmed.
        configs: Baseline and nominees by fingerprint.
        trials: Of the record size.
        baseline_metrics: The baseline's numbers from the search.
        objectives: Of the study.
        seed: Of the order within rounds.
    """
    there = {(trial.kind, trial.round, trial.fingerprint) for trial in trials if trial.round is not None}

    def missing(kind: Kind, round_number: int, fingerprints: Iterable[str]) -> Step | None:
        number = choice.first_round + round_number
        order = sorted(set(fingerprints))
        Random(f"{seed} {kind} {number}").shuffle(order)
        return next((Step(kind, number, configs[each]) for each in order if (kind, number, each) not in there), None)

    for look in range(choice.looks):
        if step := missing(Kind.SECOND_LOOK, look, _looked_at(choice)):
            return step
    winners = winners_of(choice, trials, baseline_metrics, objectives)
    if not winners:
        return None
    for number in range(choice.rounds):
        if step := missing(Kind.CONFIRM, number, [choice.baseline, *winners.values()]):
            return step
    needed = _rounds_needed(choice, winners, trials, objectives)
    for number in range(choice.rounds, max(needed.values())):
        going_on = [fingerprint for fingerprint, rounds in needed.items() if rounds > number]
        if step := missing(Kind.CONFIRM, number, [choice.baseline, *going_on]):
            return step
    proven = _proven(choice, winners, trials, objectives)
    configs = dict(configs)
    asked = []
    for winner in proven:
        variants = variants_of(configs[winner], configs[choice.baseline]).values()
        configs |= {variant.fingerprint: variant for variant in variants}
        # A single change undone is the baseline, which the rounds have measured.
        asked += [winner, *(variant.fingerprint for variant in variants)] if variants else []
    for number in range(choice.ablation_rounds):
        if step := missing(Kind.ABLATION, number, asked):
            return step
    return None


def most_steps(spec: ConfirmSpec) -> int:
    """Measurements of one record size's confirmation, at most."""
    further = max(0, spec.max_rounds - spec.rounds) * (1 + len(spec.goals))
    apart = spec.ablation_rounds * len(spec.goals) * (1 + MOST_VARIANTS)
    return least_steps(spec) + further + apart if spec.rounds else 0


def least_steps(spec: ConfirmSpec) -> int:
    """Measurements of one record size's confirmation that there are in any case, if every goal has a winner."""
    if not spec.rounds:
        return 0
    nominees = len(spec.goals) * spec.nominees if spec.nominees > 1 else 0
    return spec.looks * nominees + spec.rounds * (1 + len(spec.goals))


def _rounds_needed(
    choice: Choice, winners: Mapping[Goal, str], trials: Sequence[Trial], objectives: Sequence[Objective]
) -> dict[str, int]:
    """Rounds that each winner gets: as its first ones scatter; no more if these do not speak for it at all."""
    level = claim_level(len(winners))
    needed = dict.fromkeys(winners.values(), choice.rounds)
    for goal, fingerprint in winners.items():
        rounds = rounds_of(choice, trials, fingerprint)
        first = Rounds(rounds.ours[: rounds.first], rounds.theirs[: rounds.first], rounds.first)
        values = first.values(goal_metrics(goal, objectives)) if first.first >= 2 else None
        if values is None or (not choice.both_ways and ratio_of(*values, level=level).value <= 1.0):
            continue
        asked = rounds_needed(*values, level=level, width_ratio=choice.width_ratio)
        needed[fingerprint] = max(needed[fingerprint], min(asked, choice.max_rounds))
    return needed


def _proven(
    choice: Choice, winners: Mapping[Goal, str], trials: Sequence[Trial], objectives: Sequence[Objective]
) -> list[str]:
    """Winners whose claim holds."""
    found = {}
    for goal, fingerprint in winners.items():
        rounds = rounds_of(choice, trials, fingerprint)
        values = rounds.values(goal_metrics(goal, objectives)) if len(rounds.ours) >= 2 else None
        if values and ratio_of(*values, level=claim_level(len(winners)), first_rounds=rounds.first).low > 1.0:
            found[fingerprint] = True
    return list(found)


def _looked_at(choice: Choice) -> set[str]:
    """Nominees among which a goal has to choose."""
    return {fingerprint for each in choice.nominees.values() if len(each) > 1 for fingerprint in each}


def _of_kind(trials: Iterable[Trial], kind: Kind, choice: Choice) -> list[Trial]:
    return [
        trial
        for trial in trials
        if trial.kind is kind and trial.round is not None and trial.round >= choice.first_round
    ]


def _large(trial: Trial, metrics: Sequence[str]) -> float:
    product = 1.0
    for metric in metrics:
        maximise = OUTCOME_METRICS[metric].direction.value == "maximize"
        product *= trial.metrics[metric] if maximise else 1 / trial.metrics[metric]
    return float(product ** (1 / len(metrics)))
