"""Decides for one record size whether a user's config is worse than the baseline, by the intervals of its gains.

`tuner.results.comparisons.verification` decides for all record sizes together.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from math import ceil, inf, log
from typing import Final

from objectives.metrics import COMPARED_WITH_BASELINE, OUTCOME_METRICS
from objectives.ratios import Ratio
from objectives.scoring import HELD_RATE, Constraint
from search_spaces.configs.guarantee import Guarantee
from search_spaces.configs.producer_config import ProducerConfig
from tuner.confirmation.gains import Confirmation
from tuner.model.spec import StudySpec
from tuner.model.trial import CONFIRMING_KINDS
from tuner.results.study_results import SizeResults

_ALLOW: Final = "give --allow-weaker to accept it"
_HELD_ROUNDS_RATIO: Final = 0.9
"""The share of its rounds in which a config must hold the fixed rate to pass."""
_MOST_ROUNDS: Final = 100
"""The largest number of rounds that a message advises."""


class VerificationOutcome(StrEnum):
    """The result of comparing a config with the baseline in one metric."""

    BETTER = "better"
    SAME = "no difference shown"
    UNDECIDED = "undecided"
    WORSE = "worse"


class WhyNotCompared(StrEnum):
    """Why there is no gain for a metric."""

    ONE_WITHOUT_ACKS = "the config or the baseline has no value, because with acks=0 brokers do not answer"
    BOTH_WITHOUT_ACKS = "neither the config nor the baseline has a value, because with acks=0 brokers do not answer"
    RATE_MISSED = "in a round, the config missed the fixed rate, and its latency does not show that it was slower"
    UNMEASURED = "there are fewer than two rounds in which both have a value and the baseline held the fixed rate"


@dataclass(frozen=True, slots=True)
class Guarantees:
    """The guarantees of a config and of the baseline about lost, reordered and duplicate records.

    Attributes:
        config: The config's guarantee.
        baseline: The baseline's guarantee.
        floor: The least guarantee that the study allows; None if the baseline's guarantee is the least.
    """

    config: Guarantee
    baseline: Guarantee
    floor: Guarantee | None

    @property
    def weaker(self) -> bool:
        """Whether the config's guarantee is weaker than the baseline's in any respect."""
        return not self.config.at_least(self.baseline)

    def __str__(self) -> str:
        """Return `acks=all, ordered; the baseline's is different: acks=1, ordered`."""
        if self.config == self.baseline:
            return f"{self.config} (the same as the baseline's)"
        return f"{self.config}; the baseline's is {'stronger' if self.weaker else 'different'}: {self.baseline}"

    def misses(self, *, allow_weaker: bool) -> list[str]:
        """Return why the config's guarantee is too weak, in sentences; empty if it is strong enough."""
        if allow_weaker or self.config.at_least(self.floor or self.baseline):
            return []
        asked = f"the study requires at least {self.floor}" if self.floor else f"the baseline's is {self.baseline}"
        return [f"the guarantee is weaker: {self.config}, but {asked}; {_ALLOW}"]


@dataclass(frozen=True, slots=True)
class SizeVerification:
    """The comparison of a config with the baseline for one record size.

    Attributes:
        record_bytes: The record size or mix.
        gains: By metric, the config's gain over the baseline; empty if it could not be measured.
        not_compared: Why there is no gain, for each metric that should have one.
        values: By metric, the config's mean.
        baseline: By metric, the baseline's mean.
        lost: Whether the config lost records.
        broken: Sentences about the constraints that the config's means break, and about a fixed rate that the config
            did not hold.
        warnings: What makes the measurements less reliable.
    """

    record_bytes: str
    gains: Mapping[str, Ratio]
    not_compared: Mapping[str, WhyNotCompared]
    values: Mapping[str, float]
    baseline: Mapping[str, float]
    lost: bool
    broken: tuple[str, ...]
    warnings: tuple[str, ...]

    @property
    def measured(self) -> bool:
        """Whether anything was measured by which the config can be judged."""
        return bool(self.gains) or self.lost

    def outcomes(self, min_gain: float | None, tolerance_ratio: float) -> dict[str, VerificationOutcome]:
        """Return how the config compares with the baseline in each metric.

        A metric is undecided if its interval contains the threshold and is too wide (`_open`).
        """
        open_ = self._open(min_gain, tolerance_ratio)
        return {
            metric: VerificationOutcome.UNDECIDED if metric in open_ else _shown(gain)
            for metric, gain in self.gains.items()
        }

    def misses(self, min_gain: float | None, tolerance_ratio: float, *, allow_weaker: bool) -> list[str]:
        """Return why the config is rejected, in sentences; empty if it is not rejected.

        Args:
            min_gain: The whole interval of each gain must be at or above this number. None requires only that no metric
                got worse.
            tolerance_ratio: How much worse than the baseline a metric may be, as a share of the baseline.
            allow_weaker: Whether a metric may have a value for only one of the two, the config and the baseline,
                because the other uses acks=0.
        """
        missed = ["records were lost"] if self.lost else []
        open_ = self._open(min_gain, tolerance_ratio)
        for metric, gain in self.gains.items():
            if metric in open_:
                continue
            label = OUTCOME_METRICS[metric].label
            if min_gain is not None and gain.low < min_gain:
                missed.append(
                    f"{label}: the interval of the gain must not reach below {min_gain:g}, but the gain is {gain}"
                )
            elif min_gain is None and gain.high < 1.0 - tolerance_ratio:
                missed.append(f"{label}: worse than the baseline: only {gain} times as good")
        for metric, why in self.not_compared.items():
            if why in (WhyNotCompared.UNMEASURED, WhyNotCompared.RATE_MISSED):
                missed.append(self._not_compared_text(metric))
            elif why is WhyNotCompared.ONE_WITHOUT_ACKS and not allow_weaker:
                missed.append(f"{self._not_compared_text(metric)}; {_ALLOW}")
        return [*missed, *self.broken]

    def undecided(self, min_gain: float | None, tolerance_ratio: float) -> list[str]:
        """Return what the rounds could not decide, and what would decide it, in sentences; empty if nothing."""
        bound = decides_at(min_gain, tolerance_ratio)
        return [
            f"{OUTCOME_METRICS[metric].label}: {_undecided(self.gains[metric], bound)}"
            for metric in self._open(min_gain, tolerance_ratio)
        ]

    def _open(self, min_gain: float | None, tolerance_ratio: float) -> list[str]:
        """Return the metrics whose interval contains the bound and is wider than a factor of 2.

        With a `min_gain`, the interval must also contain 1: an interval below 1 shows that there is no gain.
        """
        bound = decides_at(min_gain, tolerance_ratio)
        return [
            metric
            for metric, gain in self.gains.items()
            if gain.high > 2 * gain.low
            and gain.low < bound <= gain.high
            and (min_gain is None or gain.low <= 1.0 <= gain.high)
        ]

    def _not_compared_text(self, metric: str) -> str:
        """Return a sentence that says why a metric could not be compared."""
        return f"{OUTCOME_METRICS[metric].label}: could not be compared: {self.not_compared[metric]}"


def decides_at(min_gain: float | None, tolerance_ratio: float) -> float:
    """Return the threshold of a gain: the config passes if the gain is certainly above, and fails if it is below."""
    return 1.0 - tolerance_ratio if min_gain is None else min_gain


def guarantees_of(spec: StudySpec, floor: Guarantee | None = None) -> Guarantees:
    """Return the guarantees of the config that a study verifies and of the study's baseline.

    Args:
        spec: The study.
        floor: The weakest guarantee that is allowed; None for the baseline's guarantee.
    """
    return Guarantees(Guarantee.of(_verified(spec)), Guarantee.of(spec.baseline), floor)


def missing_latency(spec: StudySpec, *, allow_weaker: bool) -> list[str]:
    """Return why a config is rejected in advance, because its latencies can't be compared; empty if they can be.

    Args:
        spec: The study. The only config in its `confirm.configs` is the config to verify.
        allow_weaker: Whether a metric may have a value for only one of the two, the config and the baseline.
    """
    without_acks = [side.acks == 0 for side in (_verified(spec), spec.baseline)]
    if allow_weaker or not spec.paced or len({*without_acks}) == 1:
        return []
    return [f"latencies could not be compared: {WhyNotCompared.ONE_WITHOUT_ACKS}; {_ALLOW}"]


def verification_of(results: SizeResults, spec: StudySpec) -> SizeVerification:
    """Return the comparison of a study's baseline with the config that the study verifies.

    Args:
        results: Results of one record size.
        spec: The study. The only config in its `confirm.configs` is the config to verify.
    """
    config = _verified(spec)
    confirmation = results.confirmation(config.fingerprint)
    trials = [trial for trial in results.trials if trial.kind in CONFIRMING_KINDS]
    doubts = [warning for trial in trials for warning in trial.warnings]
    errors = [f"a measurement failed: {trial.error}" for trial in trials if trial.error]
    unmeasured = SizeVerification(
        record_bytes=results.record_bytes,
        gains={},
        not_compared={},
        values={},
        baseline={},
        lost=results.lost_records(config.fingerprint),
        broken=(),
        warnings=tuple(dict.fromkeys([*errors, *doubts])),
    )
    if confirmation is None:
        return unmeasured
    without_acks = [side.acks == 0 for side in (config, spec.baseline)]
    missing = [metric for metric in _judged(spec) if metric not in confirmation.gains]
    return replace(
        unmeasured,
        # A verification does not claim a gain, so the gains need no allowance for a stall that was not measured.
        gains={**confirmation.gains, **confirmation.gains_without_stall},
        not_compared={metric: _why_not_compared(metric, without_acks, confirmation) for metric in missing},
        values=confirmation.values,
        baseline=confirmation.baseline,
        broken=tuple(_broken(spec.constraints, confirmation)),
        warnings=tuple(dict.fromkeys([*errors, *confirmation.caveats, *doubts])),
    )


def _verified(spec: StudySpec) -> ProducerConfig:
    (config,) = spec.confirm.configs
    return config


def _judged(spec: StudySpec) -> list[str]:
    """Return the metrics that must have a gain: those of every comparison, and the objectives, if they are measured."""
    names = dict.fromkeys((*COMPARED_WITH_BASELINE, *(objective.metric for objective in spec.objectives)))
    return [name for name in names if spec.paced or not OUTCOME_METRICS[name].paced]


def _why_not_compared(metric: str, without_acks: list[bool], confirmation: Confirmation) -> WhyNotCompared:
    if not OUTCOME_METRICS[metric].needs_acknowledgement or not any(without_acks):
        behind = confirmation.held_ratio < 1 and metric in confirmation.values
        return WhyNotCompared.RATE_MISSED if behind and OUTCOME_METRICS[metric].paced else WhyNotCompared.UNMEASURED
    return WhyNotCompared.BOTH_WITHOUT_ACKS if all(without_acks) else WhyNotCompared.ONE_WITHOUT_ACKS


def _shown(gain: Ratio) -> VerificationOutcome:
    """Return what an interval shows about the config and the baseline."""
    if gain.high < 1.0:
        return VerificationOutcome.WORSE
    return VerificationOutcome.BETTER if gain.low > 1.0 else VerificationOutcome.SAME


def _undecided(gain: Ratio, bound: float) -> str:
    """Return a sentence about a gain whose interval does not tell on which side of the bound the true gain is."""
    # The width of the interval's logarithm shrinks with the square root of the number of rounds.
    wanted = gain.rounds * (log(gain.high / gain.low) / log(2)) ** 2 if gain.low > 0 else inf
    rounds = f"about {ceil(wanted)} rounds (--rounds), " if wanted <= _MOST_ROUNDS else ""
    says = (
        "says neither better nor worse"
        if gain.inconclusive
        else f"does not say whether that is at least the {bound:g} that is asked for"
    )
    return (
        f"undecided: {gain} times as good {says}; {rounds}longer measurements (--seconds) or "
        "a quieter machine would decide it"
    )


def _broken(constraints: Iterable[Constraint], confirmation: Confirmation) -> Iterable[str]:
    if confirmation.held_ratio < _HELD_ROUNDS_RATIO:
        yield f"the fixed rate must be held in 9 of 10 rounds, but was not: {HELD_RATE}"
    for constraint in constraints:
        metric = constraint.metric
        value, reference = confirmation.values.get(metric), confirmation.baseline.get(metric)
        if value is None or (constraint.of_baseline and not reference):
            side = "the config" if value is None else "the baseline"
            yield f"the study requires {constraint}, which could not be checked, because {side} has no {metric}"
        elif constraint.violation(value, reference) > 0:
            compared = f", and the baseline's is {reference:.4g}" if constraint.of_baseline else ""
            yield f"the study requires {constraint}, but the mean is {value:.4g}{compared}"
