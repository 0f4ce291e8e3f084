"""A config of the search that can't be measured is a failed trial; one that the user has configured ends the study."""

from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from runners.errors import WorkloadRefused
from runners.measurements.measurement import Measurement
from runners.runner import Runner, Watch, go_on
from runners.simulated import SimulatedRunner
from runners.workload import Workload
from search_spaces.configs.producer_config import ProducerConfig
from tests.helpers.studies import simulated_study
from tuner.execution.studies.run import measure_study
from tuner.execution.studies.study_progress import SilentReporter
from tuner.model.trial import State, TrialKind

_REFUSED = "the heap must hold its full buffer"


@dataclass(frozen=True, slots=True)
class SmallHeap:
    """Refuses configs with a slow codec, or all others, as a Java client with a small heap refuses large buffers."""

    refuses_slow_codecs: bool
    inner: Runner = field(default_factory=SimulatedRunner)

    def run(self, config: ProducerConfig, workload: Workload, watch: Watch = go_on) -> Measurement:
        if (config.compression in ("gzip", "zstd")) is self.refuses_slow_codecs:
            raise WorkloadRefused(_REFUSED)
        return self.inner.run(config, workload, watch)


def test_a_refused_proposal_is_a_failed_trial(tmp_path: Path) -> None:
    spec = simulated_study((1000,), trials=24)
    spec = replace(spec, safety=replace(spec.safety, max_failures_in_a_row=24))
    trials = measure_study(spec, "", tmp_path, SilentReporter(), simulated=SmallHeap(True)).sizes[0].trials
    failed = [trial for trial in trials if trial.state is State.FAILED]
    assert {(trial.kind, trial.error) for trial in failed} == {(TrialKind.SEARCH, _REFUSED)}
    assert any(trial.kind is TrialKind.CONFIRM for trial in trials)


def test_a_refused_baseline_ends_the_study(tmp_path: Path) -> None:
    with pytest.raises(WorkloadRefused, match=_REFUSED):
        measure_study(simulated_study((1000,), trials=24), "", tmp_path, SilentReporter(), simulated=SmallHeap(False))
