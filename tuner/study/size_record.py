"""One record size's trials as they come: what the loop asks after each, at no more cost for thousands than for ten."""

from collections.abc import Iterable

from objectives.front import Front
from objectives.metrics import Direction
from objectives.outcome import OUTCOME_METRICS
from objectives.scoring import Objective
from tuner.study.results import SizeResults, baseline_metrics, on_trial, size_results
from tuner.study.trial import Kind, State, Trial


class SizeRecord:
    """The trials of one record size, and the front among them."""

    def __init__(self, record_bytes: str, objectives: tuple[Objective, ...], trials: Iterable[Trial] = ()) -> None:
        self.record_bytes, self.objectives = record_bytes, objectives
        self.trials: list[Trial] = []
        self.front = Front(tuple(objective.direction for objective in objectives))
        self.baselines: list[Trial] = []
        self.baseline_metrics: dict[str, float] = {}
        self.kinds: dict[Kind, int] = dict.fromkeys(Kind, 0)
        self.next_number = 0
        for trial in trials:
            self.add(trial)

    def add(self, trial: Trial) -> None:
        """Take a trial in that is on record."""
        self.trials.append(trial)
        self.kinds[trial.kind] += 1
        self.next_number = max(self.next_number, trial.number + 1)
        if trial.kind is Kind.BASELINE and trial.state is State.COMPLETE:
            self.baselines.append(trial)
            self.baseline_metrics = baseline_metrics(self.baselines)
        on_trial(self.front, trial, self.baselines[0] if self.baselines else None)

    @property
    def counted(self) -> int:
        """Trials that count against the number asked for."""
        return self.kinds[Kind.BASELINE] + self.kinds[Kind.SEARCH]

    def best(self, metric: str) -> float | None:
        """The best value of one of the objectives on the front; None before there is one."""
        place = [objective.metric for objective in self.objectives].index(metric)
        values = [point[place] for point in self.front.points]
        if not values:
            return None
        return max(values) if OUTCOME_METRICS[metric].direction is Direction.MAXIMIZE else min(values)

    def results(self, rate_records_per_s: float | None) -> SizeResults:
        """Everything found so far, computed anew."""
        return size_results(self.record_bytes, self.objectives, self.trials, rate_records_per_s)
