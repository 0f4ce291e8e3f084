"""Racing: decides whether a running trial can still join the Pareto front, and stops the trial early if not.

`objectives.forecasts` predicts an interval for each value that the trial would have if it ran to its end. A trial is
stopped if, even at the favourable ends of its intervals, a constraint is broken or a trial of the front is better in
every objective.

A paced phase can also be ended early because its latency is too high. For example, with this latency, the trial would
join the front only with a throughput above 200 MB/s. If at most the share `RARE_RATIO` of the trials so far had such a
throughput, the paced phase is ended. The saturating phase follows. If the trial then reaches more than 200 MB/s after
all, its paced phase is run again at full length (`would_join_front`).

Source: racing as in irace (López-Ibáñez et al. 2016), but with prediction intervals within a trial instead of tests
between configs.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from objectives.forecasts import WINDOW_METRICS, Forecast, PredictedRange
from objectives.front import dominates
from objectives.metrics import OUTCOME_METRICS, Direction
from objectives.scoring import Constraint, Objective, score

MIN_WINDOWS: Final = 2
"""How many windows are measured before a phase may be ended."""
RARE_RATIO: Final = 2 / 5
"""A throughput counts as rare if at most this share of the trials reached it."""
_FEWEST_TRIALS: Final = 8
"""If there are fewer trials than this, no throughput counts as rare."""
_KNOWN_WHEN_SHORT: Final = ("held_rate_ratio",)
"""The metrics that a shortened paced phase gives, too, although windows do not have them."""


@dataclass(frozen=True, slots=True)
class Stop:
    """The decision to end a phase early.

    Attributes:
        because: The reason, in words.
        ends_trial: Whether the whole trial ends, because later phases could not change the outcome.
        falling_behind: Whether the phase ends because the config does not hold the fixed rate. Otherwise the phase ends
            because of racing.
    """

    because: str
    ends_trial: bool
    falling_behind: bool = False


@dataclass(frozen=True, slots=True)
class Race:
    """The other trials, constraints and forecasts that decide whether a running trial is stopped early.

    Attributes:
        objectives: The study's objectives.
        rivals: The values of the Pareto front's trials, by trial number. Shape of one trial's values: (objectives,).
        others: The values of earlier trials that have a value for every objective. Shape as for `rivals`.
        constraints: The study's constraints, each with the baseline's value of its metric; None if that is unknown.
        forecasts: The forecasts by metric, for the metrics that have a value in every window.
    """

    objectives: tuple[Objective, ...]
    rivals: Mapping[int, tuple[float, ...]]
    others: tuple[tuple[float, ...], ...]
    constraints: tuple[tuple[Constraint, float | None], ...]
    forecasts: Mapping[str, Forecast]

    def judge(self, ranges: Mapping[str, PredictedRange], *, last: bool) -> Stop | None:
        """Return the decision to end the running phase early; None to let the phase continue.

        Args:
            ranges: The predicted intervals by metric, from this phase and the trial's earlier phases.
            last: Whether this is the trial's last phase.
        """
        broken = self._broken_text(ranges)
        if broken is not None:
            return Stop(broken, ends_trial=True)
        if last:
            return self._stop_if_lost(ranges)
        return self._stop_if_unlikely_to_join(ranges) if self._may_end_early else None

    def would_join_front(self, metrics: Mapping[str, float]) -> bool:
        """Return whether a trial with these metrics would join the Pareto front."""
        limits = {each.metric: baseline for each, baseline in self.constraints if baseline is not None}
        judged = score(metrics, self.objectives, [each for each, _ in self.constraints], limits)
        values = [value for value in judged.values if value is not None]
        directions = [each.direction for each in self.objectives]
        return judged.feasible and not any(dominates(rival, values, directions) for rival in self.rivals.values())

    def _broken_text(self, ranges: Mapping[str, PredictedRange]) -> str | None:
        """Return in words which constraint is broken even at the best ends of the intervals; None if none is."""
        for constraint, baseline in self.constraints:
            predicted = ranges.get(constraint.metric)
            if predicted is None:
                continue
            best = predicted.low if constraint.at_most else predicted.high
            if constraint.violation(best, baseline) > 0:
                limit = str(constraint).removeprefix(f"{constraint.metric} ")
                return f"{_bound(constraint.metric, best, at_least=constraint.at_most)}, but must be {limit}"
        return None

    def _stop_if_lost(self, ranges: Mapping[str, PredictedRange]) -> Stop | None:
        """Return the decision to end the trial because a trial of the front is better in every objective."""
        if any(each.metric not in ranges for each in self.objectives):
            return None
        ahead = self._rivals_ahead(ranges)
        return (
            Stop(f"{self._predicted_text(ranges)}; {self._rival_text(ahead[0])} is better", ends_trial=True)
            if ahead
            else None
        )

    def _stop_if_unlikely_to_join(self, ranges: Mapping[str, PredictedRange]) -> Stop | None:
        """Return the decision to end the paced phase because the trial will hardly join the front; None to continue.

        The paced phase measures the trial's latency. The phase continues if more than `RARE_RATIO` of the trials so far
        had enough throughput to join the Pareto front with this latency. The trial's next phase is run even if the
        paced phase is ended: constraints may depend on the next phase, and the sampler learns from it.
        """
        ahead = self._rivals_ahead(ranges)
        if not ahead:
            return None
        worse = f"{self._predicted_text(ranges)}, worse than {self._rival_text(ahead[0])}"
        if len(ahead) == len(self.rivals):
            return Stop(f"{worse}{' and all other trials of the front' if len(ahead) > 1 else ''}", ends_trial=False)
        unknown = [index for index, objective in enumerate(self.objectives) if objective.metric not in ranges]
        if len(self.others) < _FEWEST_TRIALS:
            return None
        good_enough = sum(
            not any(self._is_at_least_as_good(self.rivals[number], values, unknown) for number in ahead)
            for values in self.others
        )
        # One is added to both counts, because a value that no trial has shown yet is still possible.
        if (good_enough + 1) / (len(self.others) + 1) > RARE_RATIO:
            return None
        names = " and ".join(self.objectives[index].metric for index in unknown)
        rare = f"only {good_enough} of {len(self.others)} trials had a {names} good enough to make up for it"
        return Stop(f"{worse}; {rare}", ends_trial=False)

    @property
    def _may_end_early(self) -> bool:
        """Whether the paced phase may be shortened, because it then still gives all metrics that are needed from it."""
        metrics = (*(each.metric for each in self.objectives), *(each.metric for each, _ in self.constraints))
        return all(
            name in WINDOW_METRICS or name in _KNOWN_WHEN_SHORT for name in metrics if OUTCOME_METRICS[name].paced
        )

    def _rivals_ahead(self, ranges: Mapping[str, PredictedRange]) -> list[int]:
        """Return the numbers of the front's trials that beat the running trial even in the best predicted case.

        Only the objectives with a predicted interval are compared. The running trial's value is taken to be the
        favourable end of the interval.
        """
        known = [(index, ranges[each.metric]) for index, each in enumerate(self.objectives) if each.metric in ranges]
        if not known:
            return []
        return [
            number
            for number, values in self.rivals.items()
            if all(
                _is_better(values[index], predicted.at_best(self.objectives[index].direction), self.objectives[index])
                for index, predicted in known
            )
        ]

    def _is_at_least_as_good(self, ours: Sequence[float], theirs: Sequence[float], indices: Sequence[int]) -> bool:
        return all(not _is_better(theirs[index], ours[index], self.objectives[index]) for index in indices)

    def _predicted_text(self, ranges: Mapping[str, PredictedRange]) -> str:
        return " and ".join(
            _bound(each.metric, ranges[each.metric].at_best(each.direction), at_least=_lower_is_better(each))
            for each in self.objectives
            if each.metric in ranges
        )

    def _rival_text(self, number: int) -> str:
        values = zip(self.objectives, self.rivals[number], strict=True)
        return f"trial {number} ({', '.join(f'{objective.metric} {value:.3g}' for objective, value in values)})"


def _lower_is_better(objective: Objective) -> bool:
    return objective.direction is Direction.MINIMIZE


def _is_better(ours: float, theirs: float, objective: Objective) -> bool:
    return ours < theirs if _lower_is_better(objective) else ours > theirs


def _bound(metric: str, value: float, *, at_least: bool) -> str:
    return f"{metric} is at {'least' if at_least else 'most'} {value:.3g}"
