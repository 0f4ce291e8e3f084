"""The rules by which a trial may end early (`EarlyEnd`).

Each trial has one of these rules. It says when a phase is stopped, and whether another phase follows.
"""

from dataclasses import dataclass
from typing import ClassVar

from objectives.forecasts import PredictedRange
from objectives.metrics import OUTCOME_METRICS, metrics_of
from objectives.racing import Race
from runners.workload import Workload
from tuner.execution.trials.steadiness import UntilSteady
from tuner.execution.trials.stopping import HOPELESS_RATIO, PhaseRule, StopRule, WholePhase, ranges_of
from tuner.execution.trials.trial_job import EarlyEnd, TrialOutcome
from tuner.model.trial import PACED, SATURATED


@dataclass(frozen=True, slots=True)
class ToTheEnd(EarlyEnd):
    """Runs all phases to their ends, even if the config can't hold the fixed rate.

    This rule is for trials with which others are compared, such as those of the baseline. They must measure all
    metrics, and a busy moment of the host must not end them.

    Attributes:
        metrics: The metrics whose values in each window are stored. Races use them to forecast other trials.
    """

    metrics: tuple[str, ...] = ()

    def rule_for(self, outcome: TrialOutcome, phase: str, workload: Workload) -> StopRule:
        """Return a rule that never stops the phase."""
        return WholePhase(_in_phase(self.metrics, phase))


@dataclass(frozen=True, slots=True)
class IfHopeless(EarlyEnd):
    """Ends a trial of the search if its config can't hold the fixed rate, because it can't be recommended then."""

    def rule_for(self, outcome: TrialOutcome, phase: str, workload: Workload) -> StopRule:
        """Return a rule that stops the phase if the config can't hold the fixed rate."""
        return PhaseRule(workload)

    def ends_trial(self, outcome: TrialOutcome, phase: str) -> bool:
        """Return whether the config could not hold the rate, or the rule that stopped the phase ends the whole trial.

        If a paced phase was stopped early, but not by the rule, the config could not hold the rate.
        """
        stop, seen = outcome.stops.get(phase), outcome.measurements[phase]
        offered = seen.workload.rate_records_per_s
        behind = offered is not None and seen.records_per_s < HOPELESS_RATIO * offered
        return behind or (stop.ends_trial if stop else phase == PACED and seen.stopped_early)


@dataclass(frozen=True, slots=True)
class Raced(IfHopeless):
    """Also ends a trial that will probably not reach the front of its study or meet a constraint.

    Attributes:
        race: The results of earlier trials that the trial must beat.
        metrics: The metrics that are computed for each window.
    """

    race: Race
    metrics: tuple[str, ...]

    def rule_for(self, outcome: TrialOutcome, phase: str, workload: Workload) -> StopRule:
        """Return a rule that stops the phase if the trial can't win the race; a repeated phase runs to its end."""
        metrics = _in_phase(self.metrics, phase)
        if outcome.replaced:
            return PhaseRule(workload, metrics)
        before = dict[str, PredictedRange]()
        for name, seen in outcome.measurements.items():
            cut_short = outcome.progress[name] if name in outcome.stops else None
            before |= ranges_of(self.race, seen, cut_short, paced=name == PACED)
        return PhaseRule(workload, metrics, self.race, before, last=phase == outcome.job.phases[-1][0])

    def repeats_paced(self, outcome: TrialOutcome) -> bool:
        """Return whether the paced phase was stopped early, and the trial may be on the Pareto front after all.

        The paced phase is stopped if the config is not expected to be on the front. If the saturating phase then shows
        that the config may be on the front, the paced phase is repeated at full length to measure the latency.
        """
        if outcome.replaced or PACED not in outcome.stops or SATURATED in outcome.stops:
            return False
        return self.race.would_join_front(
            metrics_of(outcome.measurements.get(SATURATED), outcome.measurements.get(PACED))
        )


@dataclass(frozen=True, slots=True)
class WhenSteady(EarlyEnd):
    """Ends each phase when its throughput shows no trend. It is for loads that bring a target to its normal speed.

    Attributes:
        most_bytes: The largest number of bytes of values that a phase may send.
    """

    most_bytes: float
    counts_only_the_end: ClassVar[bool] = True

    def rule_for(self, outcome: TrialOutcome, phase: str, workload: Workload) -> StopRule:
        """Return a rule that stops the phase when its throughput shows no trend."""
        return UntilSteady(workload, self.most_bytes)


def _in_phase(metrics: tuple[str, ...], phase: str) -> tuple[str, ...]:
    """Return those of the metrics that a phase measures."""
    return tuple(name for name in metrics if OUTCOME_METRICS[name].paced is (phase == PACED))
