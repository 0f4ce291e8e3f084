"""Whether a config of the user's is worse than the baseline: measured in turn, judged with intervals."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from objectives.outcome import COMPARED, OUTCOME_METRICS
from objectives.ratios import Ratio
from objectives.scoring import HELD_RATE, Constraint
from search_spaces.producer_config import Guarantee, ProducerConfig
from tuner.confirmation.gains import Confirmation
from tuner.model.spec import StudySpec
from tuner.model.trial import CONFIRMING_KINDS
from tuner.results.study_results import SizeResults

_ALLOW: Final = "give --allow-weaker to let it pass"


class Outcome(StrEnum):
    """What was found."""

    BETTER = "better"
    SAME = "no difference shown"
    WORSE = "worse"


class Lack(StrEnum):
    """Why no gain is known of a number."""

    ONE_WITHOUT_ACKS = "one side has none, as its acks=0 asks for no answer"
    BOTH_WITHOUT_ACKS = "neither side has one, as acks=0 asks for no answer"
    UNMEASURED = "fewer than two rounds have it on both sides, with the fixed rate held"


@dataclass(frozen=True, slots=True)
class Promises:
    """What both sides promise about their records.

    Attributes:
        config: The config's guarantee.
        baseline: The baseline's.
        floor: The least that a study asks for; None asks for what the baseline promises.
    """

    config: Guarantee
    baseline: Guarantee
    floor: Guarantee | None = None

    @property
    def weaker(self) -> bool:
        """Whether the config gives up anything that the baseline promises."""
        return not self.config.at_least(self.baseline)

    def __str__(self) -> str:
        """`acks=1, ordered; the baseline's is another: acks=all, ordered`."""
        if self.config == self.baseline:
            return f"{self.config} (the baseline's too)"
        return f"{self.config}; the baseline's is {'stronger' if self.weaker else 'another'}: {self.baseline}"

    def misses(self, *, allow_weaker: bool) -> list[str]:
        """Why the config is not to be used whatever its numbers are, in sentences; empty if it may be."""
        if allow_weaker or self.config.at_least(self.floor or self.baseline):
            return []
        asked = f"the study asks for {self.floor} at least" if self.floor else f"the baseline's is {self.baseline}"
        return [f"the guarantee is weaker: {self.config}, but {asked}; {_ALLOW}"]


@dataclass(frozen=True, slots=True)
class Verification:
    """One record size.

    Attributes:
        record_bytes: The size or mix.
        gains: By metric, how many times better than the baseline; empty if it could not be measured.
        not_compared: By metric, why a number that is judged has no gain.
        values: By metric, the config's mean.
        baseline: By metric, the baseline's mean.
        lost: Whether records were lost with the config.
        broken: Constraints of the study that the means do not keep, and a fixed rate that was not held; in sentences.
        warnings: What weakens the measurements.
    """

    record_bytes: str
    gains: Mapping[str, Ratio]
    not_compared: Mapping[str, Lack]
    values: Mapping[str, float]
    baseline: Mapping[str, float]
    lost: bool
    broken: tuple[str, ...]
    warnings: tuple[str, ...]

    @property
    def measured(self) -> bool:
        """Whether there is anything to judge."""
        return bool(self.gains) or self.lost

    def outcome(self, metric: str) -> Outcome:
        """What was found for one metric."""
        gain = self.gains[metric]
        if gain.high < 1.0:
            return Outcome.WORSE
        return Outcome.BETTER if gain.low > 1.0 else Outcome.SAME

    def misses(self, min_gain: float | None, tolerance_ratio: float, *, allow_weaker: bool) -> list[str]:
        """Why the config is not to be used, in sentences; empty if it may be.

        Args:
            min_gain: Each gain's whole interval must lie at or above it; None asks only that nothing got worse.
            tolerance_ratio: By how much of the baseline a number may be worse.
            allow_weaker: Whether a number may be missing because of acks=0.
        """
        missed = ["records were lost"] if self.lost else []
        for metric, gain in self.gains.items():
            if min_gain is not None and gain.low < min_gain:
                missed.append(f"{metric}: a gain of at least {min_gain:g} was asked for, and {gain} was found")
            elif min_gain is None and gain.high < 1.0 - tolerance_ratio:
                missed.append(f"{metric}: worse than the baseline, {gain} times as good")
        for metric, lack in self.not_compared.items():
            if lack is Lack.UNMEASURED:
                missed.append(self.not_compared_text(metric))
            elif lack is Lack.ONE_WITHOUT_ACKS and not allow_weaker:
                missed.append(f"{self.not_compared_text(metric)}; {_ALLOW}")
        return [*missed, *self.broken]

    def not_compared_text(self, metric: str) -> str:
        """That a number could not be compared, and why."""
        return f"{metric}: could not be compared: {self.not_compared[metric]}"


def promises_of(spec: StudySpec, floor: Guarantee | None = None) -> Promises:
    """What the config that a study verifies promises, and its baseline.

    Args:
        spec: Of the study.
        floor: The least that is asked for; None asks for what the baseline promises.
    """
    return Promises(Guarantee.of(_verified(spec)), Guarantee.of(spec.baseline), floor)


def verification_of(results: SizeResults, spec: StudySpec) -> Verification:
    """What was found about the config that a study measured in turn with its baseline.

    Args:
        results: Of one record size.
        spec: Of the study; the config is the one that it confirms.
    """
    config = _verified(spec)
    found = results.confirmation(config.fingerprint)
    trials = [trial for trial in results.trials if trial.kind in CONFIRMING_KINDS]
    doubts = [warning for trial in trials for warning in trial.warnings]
    errors = [f"a measurement failed: {trial.error}" for trial in trials if trial.error]
    without_acks = [side.acks == 0 for side in (config, spec.baseline)]
    missing = [metric for metric in _judged(spec) if metric not in found.gains] if found else []
    return Verification(
        record_bytes=results.record_bytes,
        gains=found.gains if found else {},
        not_compared={metric: _lack(metric, without_acks) for metric in missing},
        values=found.values if found else {},
        baseline=found.baseline if found else {},
        lost=results.lost_records(config.fingerprint),
        broken=tuple(_broken(spec.constraints, found)) if found else (),
        warnings=tuple(dict.fromkeys([*errors, *doubts])),
    )


def _verified(spec: StudySpec) -> ProducerConfig:
    (config,) = spec.confirm.configs
    return config


def _judged(spec: StudySpec) -> list[str]:
    """The numbers that must have a gain: throughput and p99, and what the study optimises, as far as it measures it."""
    names = dict.fromkeys((*COMPARED, *(objective.metric for objective in spec.objectives)))
    return [name for name in names if spec.paced or not OUTCOME_METRICS[name].paced]


def _lack(metric: str, without_acks: list[bool]) -> Lack:
    if not OUTCOME_METRICS[metric].needs_acknowledgement or not any(without_acks):
        return Lack.UNMEASURED
    return Lack.BOTH_WITHOUT_ACKS if all(without_acks) else Lack.ONE_WITHOUT_ACKS


def _broken(constraints: Iterable[Constraint], found: Confirmation) -> Iterable[str]:
    if str(HELD_RATE) in found.broken:
        yield f"the fixed rate must be held in 9 of 10 rounds, but was not: {HELD_RATE}"
    for constraint in constraints:
        metric = constraint.metric
        value, reference = found.values.get(metric), found.baseline.get(metric)
        if value is None or (constraint.of_baseline and not reference):
            side = "the config" if value is None else "the baseline"
            yield f"{constraint} is asked by the study and could not be judged, as {side} has no {metric}"
        elif constraint.violation(value, reference) > 0:
            compared = f", and the baseline's {reference:.4g}" if constraint.of_baseline else ""
            yield f"{constraint} is asked by the study, but the mean is {value:.4g}{compared}"
