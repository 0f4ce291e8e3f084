"""Several targets measure one trial each at the same time, and the stored trials are right."""

import threading
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from runners.measurements.measurement import Measurement
from runners.runner import Watch, go_on
from runners.workload import Workload
from search_spaces.configs.producer_config import ProducerConfig
from tests.helpers.studies import (
    BASELINE,
    THROUGHPUT,
    Steady,
    StoppedAfter,
    Told,
    of_kind,
    on_record,
    simulated_study,
)
from tests.helpers.waiting import eventually
from tuner.execution.studies.run import measure_study
from tuner.model.spec import Method, StudySpec
from tuner.model.target import Target
from tuner.model.trial import SEARCHING_KINDS, State, TrialKind


@dataclass(slots=True)
class Overtaken:
    """A runner that holds the first config after the baseline until other configs have been measured.

    Attributes:
        others: How many other configs must be measured first.
        events: `begin` and `end` of each run, with the config's fingerprint.
        held: Fingerprint of the config that is held.
    """

    others: int
    events: list[tuple[str, str]] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)
    held: str | None = None

    def run(self, config: ProducerConfig, workload: Workload, watch: Watch = go_on) -> Measurement:
        """Wait if this is the config to hold, then simulate."""
        with self.lock:
            self.events.append(("begin", config.fingerprint))
            first = self.held is None and config.fingerprint != BASELINE.fingerprint
            if first:
                self.held = config.fingerprint
        if first:
            eventually(
                lambda: self.ended_meanwhile() >= self.others,
                otherwise="no other trial overtook the one that was held",
            )
        measured = Steady().run(config, workload, watch)
        with self.lock:
            self.events.append(("end", config.fingerprint))
        return measured

    def ended_meanwhile(self) -> int:
        """Return the number of runs that have ended since the first one was held."""
        with self.lock:
            since = self.events.index(("begin", self.held or ""))
            return sum(what == "end" for what, _ in self.events[since:])


def two_targets(**search: Any) -> StudySpec:
    return replace(simulated_study((100,), **search), targets=(Target(), Target()), objectives=THROUGHPUT)


def test_a_slow_trial_is_overtaken_and_each_number_is_used_once(tmp_path: Path) -> None:
    runner = Overtaken(others=5)
    measure_study(two_targets(trials=12, baseline_every=4), "", tmp_path, Told(), simulated=runner)
    trials = on_record(tmp_path)
    assert [trial.number for trial in trials] != sorted(trial.number for trial in trials), "no trial was overtaken"
    assert {trial.state for trial in trials} == {State.COMPLETE}
    assert len(of_kind(trials, TrialKind.BASELINE, TrialKind.SEARCH)) == 12
    # Trials 0, 4 and 8 are baselines.
    assert len(of_kind(trials, TrialKind.BASELINE)) == 3
    searched = [trial.fingerprint for trial in of_kind(trials, TrialKind.SEARCH)]
    assert len(set(searched)) == len(searched)


def test_burn_ins_and_the_first_baseline_are_measured_alone(tmp_path: Path) -> None:
    runner = Overtaken(others=1)
    measure_study(two_targets(trials=6), "", tmp_path, Told(), simulated=runner)
    first_search = next(n for n, (_, config) in enumerate(runner.events) if config != BASELINE.fingerprint)
    alone = [what for what, _ in runner.events[:first_search]]
    assert alone == ["begin", "end"] * (len(alone) // 2)
    burn_ins = [
        trial for trial in of_kind(on_record(tmp_path), TrialKind.BURN_IN) if trial.fingerprint == BASELINE.fingerprint
    ]
    assert len(alone) == 2 * (len(burn_ins) + 1)


@pytest.mark.parametrize(
    "method",
    [
        Method.BAYESIAN,
        *(pytest.param(each, marks=pytest.mark.long) for each in (Method.RANDOM, Method.QUASI_RANDOM, Method.GRID)),
    ],
)
def test_an_unfinished_trial_is_proposed_again_when_the_study_resumes(tmp_path: Path, method: Method) -> None:
    spec = two_targets(trials=14, baseline_every=100, method=method, rounds=0)
    measure_study(spec, "", tmp_path / "straight", Told(), simulated=Steady())
    runner = Overtaken(others=3)
    with pytest.raises(KeyboardInterrupt):
        measure_study(spec, "", tmp_path / "stopped", StoppedAfter(3, *SEARCHING_KINDS), simulated=runner)
    held = runner.held
    assert held not in {trial.fingerprint for trial in on_record(tmp_path / "stopped")}
    measure_study(spec, "", tmp_path / "stopped", Told(), simulated=Steady())
    stopped = of_kind(on_record(tmp_path / "stopped"), TrialKind.SEARCH)
    assert len(of_kind(on_record(tmp_path / "stopped"), TrialKind.BASELINE, TrialKind.SEARCH)) == 14
    found = [trial.fingerprint for trial in stopped]
    assert len(set(found)) == len(found)
    assert held in found
    if method is not Method.BAYESIAN:  # its proposals depend on the order in which trials end
        straight = of_kind(on_record(tmp_path / "straight"), TrialKind.SEARCH)
        assert set(found) == {trial.fingerprint for trial in straight}
