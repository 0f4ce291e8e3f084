"""Whether a config of the user's is worse than the baseline: measured in turn, judged with intervals."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from objectives.ratios import Ratio
from tuner.study.results import SizeResults
from tuner.study.trial import CONFIRMING_KINDS


class Outcome(StrEnum):
    """What was found."""

    BETTER = "better"
    SAME = "no difference shown"
    WORSE = "worse"


@dataclass(frozen=True, slots=True)
class Verification:
    """One record size.

    Attributes:
        record_bytes: The size or mix.
        gains: By metric, how many times better than the baseline; empty if it could not be measured.
        values: By metric, the config's mean.
        baseline: By metric, the baseline's mean.
        lost: Whether records were lost with the config.
        warnings: What weakens the measurements.
    """

    record_bytes: str
    gains: Mapping[str, Ratio]
    values: Mapping[str, float]
    baseline: Mapping[str, float]
    lost: bool
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

    def misses(self, min_gain: float | None, tolerance_ratio: float) -> list[str]:
        """Why the config is not to be used, in sentences; empty if it may be.

        Args:
            min_gain: Each gain's whole interval must lie at or above it; None asks only that nothing got worse.
            tolerance_ratio: By how much of the baseline a number may be worse.
        """
        missed = ["records were lost"] if self.lost else []
        for metric, gain in self.gains.items():
            if min_gain is not None and gain.low < min_gain:
                missed.append(f"{metric}: a gain of at least {min_gain:g} was asked for, and {gain} was found")
            elif min_gain is None and gain.high < 1.0 - tolerance_ratio:
                missed.append(f"{metric}: worse than the baseline, {gain} times as good")
        return missed


def verification_of(results: SizeResults, fingerprint: str) -> Verification:
    """What was found about a config that was measured in turn with the baseline."""
    found = results.confirmation(fingerprint)
    trials = [trial for trial in results.trials if trial.kind in CONFIRMING_KINDS]
    ours = [trial for trial in trials if trial.fingerprint == fingerprint]
    doubts = [warning for trial in trials for warning in trial.warnings]
    errors = [f"a measurement failed: {trial.error}" for trial in trials if trial.error]
    return Verification(
        record_bytes=results.record_bytes,
        gains=found.gains if found else {},
        values=found.values if found else {},
        baseline=found.baseline if found else {},
        lost=any(trial.metrics.get("delivered_ratio", 1.0) < 1.0 for trial in ours),
        warnings=tuple(dict.fromkeys([*errors, *doubts])),
    )
