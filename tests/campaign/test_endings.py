"""Studies end when they can't continue, and can be resumed afterwards."""

from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from runners.errors import DeliveryFailed, DiskTooFull, GeneratorError, RunnerError
from runners.measurements.measurement import Measurement
from runners.runner import Watch, go_on
from runners.workload import Workload
from search_spaces.configs.producer_config import ProducerConfig
from search_spaces.errors import ConfigError
from search_spaces.space.parameters import KnobChange
from tests.helpers.studies import (
    BASELINE,
    THROUGHPUT,
    Steady,
    StoppedAfter,
    Told,
    of_kind,
    on_record,
    simulated_study,
    state_told,
)
from tuner.execution.studies.run import measure_study
from tuner.execution.studies.study_progress import SizeProgress
from tuner.model.errors import ExitCode, StudyChanged, TooManyFailures, exit_code_of
from tuner.model.progress import StudyState
from tuner.model.spec import SafetySpec
from tuner.model.trial import State, Trial, TrialKind
from tuner.results.study_results import load_results
from tuner.storage.folder_files import read_progress


@dataclass(slots=True)
class Failing:
    """A runner that raises an error for some configs, and simulates all others.

    Attributes:
        error: The error to raise.
        times: How often to raise it at most.
        on_baseline: Whether the baseline fails, too.
        only: Only configs that set this property fail; by default all configs do.
    """

    error: RunnerError
    times: int = 1_000
    on_baseline: bool = False
    only: str | None = None
    failed: int = field(default=0, init=False)

    def run(self, config: ProducerConfig, workload: Workload, watch: Watch = go_on) -> Measurement:
        """Raise the error or simulate."""
        meant = self.on_baseline or config.fingerprint != BASELINE.fingerprint
        if meant and self.failed < self.times and (self.only is None or self.only in config.values):
            self.failed += 1
            raise self.error
        return Steady().run(config, workload, watch)


class Patient(Told):
    """A reporter that fails the test when a study does not end."""

    def trial(self, progress: SizeProgress, trial: Trial) -> None:
        super().trial(progress, trial)
        if len(self.trials) > 100:
            raise AssertionError("the study does not end")


def test_too_many_failures_in_a_row_end_a_study_which_can_resume(tmp_path: Path) -> None:
    spec = replace(simulated_study((100,)), safety=SafetySpec(max_failures_in_a_row=3))
    with pytest.raises(TooManyFailures, match=r"after 3 trials in a row .* out of order") as raised:
        measure_study(spec, "", tmp_path, Patient(), simulated=Failing(GeneratorError("out of order")))
    assert exit_code_of(raised.value) is ExitCode.FAILED
    failed = of_kind(on_record(tmp_path), TrialKind.SEARCH)
    assert [(trial.state, trial.error) for trial in failed] == [(State.FAILED, "out of order")] * 3
    assert state_told(tmp_path) is StudyState.FAILED
    results = measure_study(spec, "", tmp_path, Told(), simulated=Steady())
    assert results.finished
    assert len(of_kind(on_record(tmp_path), TrialKind.BASELINE, TrialKind.SEARCH)) == 12
    assert state_told(tmp_path) is StudyState.FINISHED


def test_failures_that_are_not_in_a_row_do_not_end_a_study(tmp_path: Path) -> None:
    spec = replace(simulated_study((100,)), safety=SafetySpec(max_failures_in_a_row=2))
    results = measure_study(spec, "", tmp_path, Patient(), simulated=Failing(GeneratorError("once"), times=1))
    assert results.finished
    assert [trial.error for trial in on_record(tmp_path) if trial.state is State.FAILED] == ["once"]


def test_a_failed_baseline_is_measured_again_before_the_search(tmp_path: Path) -> None:
    spec = simulated_study((100,), burn_in_max=1)
    measure_study(spec, "", tmp_path, Patient(), simulated=Failing(GeneratorError("no"), times=3, on_baseline=True))
    kinds = [(trial.kind, trial.state) for trial in on_record(tmp_path)]
    burn_ins = [(TrialKind.BURN_IN, State.FAILED)] * 3 + [(TrialKind.BURN_IN, State.COMPLETE)]
    assert kinds[:6] == [*burn_ins, (TrialKind.BASELINE, State.COMPLETE), (TrialKind.SEARCH, State.COMPLETE)]


def test_a_config_that_does_not_deliver_is_complete_and_infeasible(tmp_path: Path) -> None:
    runner = Failing(DeliveryFailed("4 records were given up"), only="compression.type")
    results = measure_study(simulated_study((100,)), "", tmp_path, Patient(), simulated=runner)
    assert results.finished
    broken = [trial for trial in on_record(tmp_path) if trial.error]
    assert len(broken) >= 2
    (size,) = results.sizes
    for trial in broken:
        assert trial.state is State.COMPLETE
        assert not trial.feasible
        assert trial.metrics["delivered_ratio"] == 0.0
        assert trial.number not in size.front
    assert not {trial.fingerprint for trial in broken} & {each.fingerprint for each in size.confirmations}


def test_a_baseline_that_never_delivers_ends_the_study(tmp_path: Path) -> None:
    spec = replace(simulated_study((100,)), safety=SafetySpec(max_failures_in_a_row=3))
    runner = Failing(DeliveryFailed("all records were given up"), on_baseline=True)
    with pytest.raises(TooManyFailures, match="given up"):
        measure_study(spec, "", tmp_path, Patient(), simulated=runner)
    assert [trial.kind for trial in on_record(tmp_path)] == [TrialKind.BURN_IN] * 3


@pytest.mark.parametrize("under_way", [TrialKind.SEARCH, TrialKind.CONFIRM])
def test_a_study_that_stopped_for_safety_can_resume(tmp_path: Path, under_way: TrialKind) -> None:
    full, spec = DiskTooFull("the disk is full"), simulated_study((100,))

    class FullAt(Told):
        def trial(self, progress: SizeProgress, trial: Trial) -> None:
            super().trial(progress, trial)
            if trial.kind is under_way:
                runner.times = 1

    runner = Failing(full, times=0, on_baseline=True)
    with pytest.raises(DiskTooFull) as raised:
        measure_study(spec, "", tmp_path, FullAt(), simulated=runner)
    assert exit_code_of(raised.value) is ExitCode.SAFETY
    before = on_record(tmp_path)
    assert (before[-1].kind, before[-1].state, before[-1].error) == (under_way, State.FAILED, str(full))
    assert state_told(tmp_path) is StudyState.FAILED
    assert (told := read_progress(tmp_path)) is not None
    assert told.message == str(full)
    assert measure_study(spec, "", tmp_path, Told(), simulated=Steady()).finished
    after = on_record(tmp_path)
    assert after[: len(before)] == before
    assert len(of_kind(after, TrialKind.BASELINE, TrialKind.SEARCH)) == 12


def trial_bytes(tmp_path: Path) -> float:
    """Run the study without a byte limit, and return how many bytes its largest trial wrote."""
    measure_study(simulated_study((100,), trials=12), "", tmp_path / "unlimited", Told(), simulated=Steady())
    return max(trial.value_bytes for trial in on_record(tmp_path / "unlimited"))


def test_bytes_end_the_search_and_leave_enough_to_confirm(tmp_path: Path) -> None:
    limit = int(20.5 * trial_bytes(tmp_path))
    spec = simulated_study((100,), trials=1_000, max_bytes=limit)
    told = Patient()
    results = measure_study(spec, "", tmp_path / "limited", told, simulated=Steady())
    assert results.finished
    trials = on_record(tmp_path / "limited")
    assert len(of_kind(trials, TrialKind.SEARCH)) >= 2
    assert sum(trial.value_bytes for trial in trials) <= limit
    confirmed = of_kind(trials, TrialKind.CONFIRM)
    assert len(confirmed) == 2 * len({trial.fingerprint for trial in confirmed}) >= 4


def test_bytes_are_shared_among_record_sizes(tmp_path: Path) -> None:
    limit = int(30 * trial_bytes(tmp_path))
    spec = replace(simulated_study((100, 200), trials=1_000, max_bytes=limit), objectives=THROUGHPUT)
    assert measure_study(spec, "", tmp_path / "limited", Patient(), simulated=Steady()).finished
    trials = on_record(tmp_path / "limited")
    assert sum(trial.value_bytes for trial in trials) <= limit
    for size in ("100", "200"):
        assert len(of_kind([trial for trial in trials if trial.record_bytes == size], TrialKind.SEARCH)) >= 2


def test_a_resumed_study_without_bytes_left_starts_no_trial(tmp_path: Path) -> None:
    spec = replace(simulated_study((100,)), objectives=THROUGHPUT)
    with pytest.raises(KeyboardInterrupt):
        measure_study(spec, "", tmp_path, StoppedAfter(1, TrialKind.SEARCH), simulated=Steady())
    before = on_record(tmp_path)
    spent = sum(trial.value_bytes for trial in before)
    spec = replace(spec, search=replace(spec.search, max_bytes=int(spent) + 1_000))
    told = Told()
    assert measure_study(spec, "", tmp_path, told, simulated=Steady()).finished
    assert on_record(tmp_path) == before
    assert any("not searched, as too little time" in sentence for sentence in told.sentences)


def test_a_study_that_never_began_may_get_another_search_space(tmp_path: Path) -> None:
    spec = replace(simulated_study((100,), trials=4), space={"linger.ms": KnobChange(low=5.0, high=1.0)})
    with pytest.raises(ConfigError):
        measure_study(spec, "", tmp_path, Told(), simulated=Steady())
    assert measure_study(replace(spec, space={}), "", tmp_path, Told(), simulated=Steady()).finished


def test_a_study_without_trials_may_be_changed(tmp_path: Path) -> None:
    class StopAtOnce(Told):
        def say(self, sentence: str) -> None:
            raise KeyboardInterrupt

    spec = simulated_study((100,), trials=4)
    other = replace(simulated_study((200,), trials=4), objectives=THROUGHPUT)
    with pytest.raises(KeyboardInterrupt):
        measure_study(spec, "", tmp_path, StopAtOnce(), simulated=Steady())
    assert on_record(tmp_path) == []
    results = measure_study(other, "", tmp_path, Told(), simulated=Steady())
    assert [size.record_bytes for size in results.sizes] == ["200"]
    with pytest.raises(StudyChanged, match="objectives: mb_per_s in the study"):
        measure_study(replace(spec, workload=other.workload), "", tmp_path, Told(), simulated=Steady())
    assert load_results(tmp_path).finished
