"""The tables of a grid search whose trials may be stopped early."""

from dataclasses import replace
from pathlib import Path

from search_spaces.librdkafka.knobs import KNOBS
from search_spaces.space.parameters import KnobChange
from tests.helpers.studies import simulated_study
from tuner.execution.studies.run import measure_study
from tuner.execution.studies.study_progress import SilentReporter
from tuner.model.spec import Method, PhaseSpec
from tuner.model.trial import TrialKind
from tuner.results.grid_tables import grid_tables


def test_trials_that_were_stopped_early_fill_no_cell(tmp_path: Path) -> None:
    changes = {knob.name: KnobChange(off=True) for knob in KNOBS} | {
        "linger.ms": KnobChange(choices=("1", "20", "100", "500")),
        "compression.type": KnobChange(choices=("none", "lz4", "gzip", "zstd")),
        "batch.size": KnobChange(choices=("16384", "65536", "500000")),
    }
    spec = simulated_study((1000,), rounds=0, method=Method.GRID, trials=None, racing=True, baseline_every=10)
    long = PhaseSpec(1.0, 10.0)
    spec = replace(spec, space=changes, workload=replace(spec.workload, saturate=long, paced=long))
    results = measure_study(spec, "", tmp_path, SilentReporter())
    (size,) = results.sizes
    searched = [trial for trial in size.trials if trial.kind is TrialKind.SEARCH]
    ended = {trial.fingerprint for trial in searched if not trial.stopped_early}
    assert 0 < len(ended) < len({trial.fingerprint for trial in searched}), "some trials must have been stopped"
    for table in grid_tables(results, size):
        assert sum(cell.configs for cell in table.cells.values()) == len(ended)
