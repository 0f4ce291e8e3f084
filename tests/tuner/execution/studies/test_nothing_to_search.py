"""A study from Python whose knobs are all fixed or off is refused before any load is sent."""

from dataclasses import replace
from pathlib import Path

import pytest

from runners.measurements.measurement import Measurement
from runners.runner import Watch, go_on
from runners.workload import Workload
from search_spaces.configs.producer_config import ProducerConfig
from search_spaces.errors import NothingToSearch
from search_spaces.librdkafka.knobs import KNOBS
from search_spaces.space.parameters import KnobChange
from tests.helpers.studies import Steady, Told, simulated_study
from tuner.execution.studies.run import measure_study
from tuner.model.spec import ConfirmSpec, Method
from tuner.model.trial import TrialKind

OFF = {knob.name: KnobChange(off=True) for knob in KNOBS}
SPEC = replace(simulated_study((1000,), trials=1), space=OFF)


class Unused:
    """A runner that fails the test if it is asked to send a load."""

    def run(self, config: ProducerConfig, workload: Workload, watch: Watch = go_on) -> Measurement:
        raise AssertionError("a study with nothing to search sends nothing")


@pytest.mark.parametrize("method", list(Method))
def test_no_method_starts_without_knobs(tmp_path: Path, method: Method) -> None:
    spec = replace(SPEC, search=replace(SPEC.search, method=method, trials=12))
    with pytest.raises(NothingToSearch, match="every knob is fixed or off"):
        measure_study(spec, "", tmp_path, Told(), simulated=Unused())


def test_a_study_that_only_confirms_needs_no_knob(tmp_path: Path) -> None:
    config = ProducerConfig.parse({"linger.ms": 1})
    confirm = ConfirmSpec(2, 2, nominees=1, nominee_repeats=0, undo_rounds=0, configs=(config,))
    (size,) = measure_study(replace(SPEC, confirm=confirm), "", tmp_path, Told(), simulated=Steady()).sizes
    assert size.confirmation(config.fingerprint) is not None
    assert {trial.kind for trial in size.trials} == {TrialKind.BURN_IN, TrialKind.BASELINE, TrialKind.CONFIRM}
