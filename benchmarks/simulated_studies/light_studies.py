"""Studies on a simulated machine that take a fraction of a second.

They run the code of real studies: the order of trials, the burn-in runs, the choice of the configs to confirm, the
rounds, and the conclusions. Only three parts are replaced. Measurements come from a simulated machine, configs are
proposed in a fixed order instead of by a sampler, and results are kept in memory.
"""

import datetime
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from math import inf
from pathlib import Path
from typing import Any, Final

from typing_extensions import override

from benchmarks.simulated_studies.planted import BASELINE, RECORD_BYTES, Machine, metrics_of
from objectives.drift import Drift
from objectives.scoring import Objective, score
from search_spaces.client_facts.sizes import DEFAULT_MAX_MESSAGE_BYTES
from search_spaces.configs.producer_config import ProducerConfig
from search_spaces.space.search_space import SearchSpace
from tuner.confirmation.plan import confirm_command_ended, confirmation_of_command
from tuner.execution.budgets.budget import Budget, WallClock, next_occurrence
from tuner.execution.budgets.outlook import Outlook
from tuner.execution.studies.run import measure_sizes
from tuner.execution.studies.study_progress import SilentReporter
from tuner.execution.studies.study_trials import StudyTrials
from tuner.execution.trial_keeper import TrialKeeper
from tuner.execution.trials.bench import Bench
from tuner.execution.trials.steadiness import capacity_of, is_steady
from tuner.execution.trials.trial_job import StartedTrial
from tuner.model.progress import Progress
from tuner.model.spec import StudySpec
from tuner.model.study_time import UNBROKEN_S, trial_s
from tuner.model.trial import Proposal, State, Trial, TrialKind
from tuner.results.search_state import SearchState
from tuner.results.study_results import StudyResults, results_of
from tuner.search.expectation import ModelExpectation
from tuner.search.strategy import Strategy
from tuner.storage.protocols import Hold, ResultsStore

_OVERHEAD_S: Final = 1.0
_PLANTED_EVERY: Final = 3


class MemoryStore(ResultsStore):
    """A `ResultsStore` in memory."""

    def __init__(self) -> None:
        """Make an empty store."""
        self._trials: list[Trial] = []
        self._facts: dict[str, Any] = {}
        self._progress: Progress | None = None

    @override
    def append(self, trial: Trial, attachments: Mapping[str, Any] | None = None) -> None:
        self._trials.append(trial)

    @override
    def trials(self, after: int = 0, limit: int | None = None) -> list[tuple[int, Trial]]:
        numbered = list(enumerate(self._trials, start=1))[after:]
        return numbered if limit is None else numbered[:limit]

    @override
    def attachment(self, trial: Trial, name: str) -> Any:
        return None

    @override
    def set_fact(self, name: str, value: Any) -> None:
        self._facts[name] = value

    @override
    def facts(self) -> dict[str, Any]:
        return dict(self._facts)

    @override
    def set_study_file(self, text: str) -> None:
        """Forget the text."""

    @override
    def study_file(self) -> str:
        return ""

    @override
    def set_progress(self, progress: Progress) -> None:
        self._progress = progress

    @override
    def progress(self) -> Progress | None:
        return self._progress

    @override
    def hold(self, what: str) -> Hold | None:
        return None

    @override
    def lost_leases(self) -> int | None:
        return 0

    @override
    def await_lease(self) -> None:
        """Return immediately."""

    @override
    def close(self) -> None:
        """Do nothing."""


class OneAtATime(Bench):
    """A bench that only says whether a trial is running."""

    def __init__(self, machine: Machine) -> None:
        """Make a bench on which no trial is running."""
        self.busy, self._machine = False, machine

    @override
    def restart_brokers(self) -> None:
        self._machine.restart()

    @property
    @override
    def free(self) -> int:
        return 0 if self.busy else 1


class Uncorrected(SearchState):
    """A `SearchState` without the drift of the baseline, which only a sampler needs and which takes long to compute."""

    @override
    def _drift_of(self, objective: Objective) -> Drift:
        return Drift.of((), ())


class InOrder(Strategy):
    """Proposes configs in a fixed order; every third one is a planted config (see `planted.py`)."""

    def __init__(self) -> None:
        """Make the strategy. It needs no search space, because it does not learn from results."""

    @override
    def ask(self, index: int, starting_point: ProducerConfig | None = None) -> Proposal:
        codec = "lz4" if index % _PLANTED_EVERY == 0 else "none"
        return Proposal(_config(f"{0.02 * (index + 1):.2f}", codec), index)

    @override
    def tell(self, trial: Trial, index: int | None = None) -> None:
        """Ignore the result."""


@cache
def _config(linger_ms: str, codec: str) -> ProducerConfig:
    return ProducerConfig.parse({"linger.ms": linger_ms, "compression.type": codec})


@dataclass(slots=True)
class LightTrials(StudyTrials):
    """A `StudyTrials` whose trials are measured on a simulated machine.

    Attributes:
        bench: The bench, which knows whether a trial is running.
        machine: The simulated machine on which the trials are measured.
    """

    bench: OneAtATime
    machine: Machine = field(kw_only=True)
    _started: tuple[StartedTrial, Trial] | None = None

    @override
    def start(self, started: StartedTrial, rate_records_per_s: float | None, *, until_steady: bool = False) -> None:
        config, size = started.proposal.config, started.size
        began, load_s = self.machine.now(), trial_s(self.spec)
        windows: list[float] = []
        if until_steady:
            while not is_steady(windows) and len(windows) < UNBROKEN_S:
                windows.append(self.machine.measure(config, 1.0)[0])
            load_s = float(len(windows))
            metrics = metrics_of(capacity_of(windows), inf, None)
        else:
            metrics = metrics_of(*self.machine.measure(config, load_s + _OVERHEAD_S), rate_records_per_s)
        window_values = {"records_per_s": tuple(each * 1e6 / RECORD_BYTES for each in windows)} if windows else {}
        judged = score(metrics, self.spec.objectives, self.spec.constraints, self.searches[size].baseline_metrics)
        burns_in = started.kind is TrialKind.BURN_IN
        trial = replace(
            started.ended(State.COMPLETE, None, started.started_s),
            metrics=metrics,
            objectives=() if burns_in else judged.values,
            violations={} if burns_in else dict(judged.violations),
            started_at=began.astimezone(datetime.UTC).isoformat(timespec="milliseconds"),
            duration_s=load_s + _OVERHEAD_S,
            load_s=load_s,
            window_values=window_values,
            proposal=started.proposal.index if started.kind is TrialKind.SEARCH else None,
        )
        self._started, self.bench.busy = (started, trial), True

    @override
    def finish(self) -> tuple[StartedTrial, Trial]:
        assert self._started is not None, "a trial is under way"
        started, trial = self._started
        self._started, self.bench.busy = None, False
        self.store.append(trial)
        self.searches[started.size].add(trial)
        self.outlook.count(trial)
        return started, trial


@dataclass(slots=True)
class LightStudy:
    """A study of one record size on a simulated machine.

    Attributes:
        spec: The specification of the study.
        machine: The simulated machine on which the trials are measured.
        store: Where the results are kept.
    """

    spec: StudySpec
    machine: Machine
    store: MemoryStore = field(default_factory=MemoryStore)

    def __post_init__(self) -> None:
        """Store the facts from which results are computed."""
        assert self.spec.baseline.fingerprint == BASELINE.fingerprint
        facts = {
            "name": self.spec.name,
            "record_sizes": [str(size) for size in self.spec.workload.record_sizes],
            "objectives": [objective.metric for objective in self.spec.objectives],
            "constraints": [str(constraint) for constraint in self.spec.constraints],
            "client_version": "simulated",
        }
        for name, value in facts.items():
            self.store.set_fact(name, value)

    def run(self) -> StudyResults:
        """Search and confirm, and return the results."""
        self._drive("", searching=True)
        return self.results()

    def confirm_again(self) -> StudyResults:
        """Confirm once more on newly started brokers, as `tuner confirm` does, and return the results."""
        self.machine.restart()
        self._drive(confirmation_of_command(self.store, {}), searching=False)
        confirm_command_ended(self.store)
        return self.results()

    def results(self) -> StudyResults:
        """Return the results so far."""
        return results_of(self.store, Path(self.spec.name))

    def _drive(self, confirmation_id: str, *, searching: bool) -> None:
        until, trials = self.spec.search.until, [trial for _, trial in self.store.trials()]
        deadline = next_occurrence(until, self.machine.now()) if until else None
        searches = {
            size: Uncorrected(str(size), self.spec.objectives, trials) for size in self.spec.workload.record_sizes
        }
        most_failures = self.spec.safety.max_failures_in_a_row
        keeper = TrialKeeper(self.store, None, most_failures, "{} failures in a row", len(trials))
        budget = Budget(self.spec.search, trials, deadline, WallClock(self.machine.now, self.machine.rest))
        outlook = Outlook.after(trials, self.spec, searches, budget)
        measure_sizes(
            LightTrials(
                self.spec,
                self.store,
                keeper,
                OneAtATime(self.machine),
                SilentReporter(),
                searches,
                outlook,
                machine=self.machine,
            ),
            _strategy,
            DEFAULT_MAX_MESSAGE_BYTES,
            confirmation_id,
            self.results,
            searching=searching,
        )


def _strategy(space: SearchSpace, seed: int, expectation: ModelExpectation | None) -> InOrder:
    return InOrder()
