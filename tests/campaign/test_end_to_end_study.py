"""A study that optimises the end-to-end latency: consumers beside the load of every trial, on a real broker."""

from pathlib import Path

import pytest

import tuner
from runners.clusters.cluster import RunningCluster
from tuner.model.trial import TrialKind

pytestmark = [pytest.mark.broker, pytest.mark.long]

STUDY = """
study: end-to-end
target: {{bootstrap: "{bootstrap}"}}
workload:
  record_bytes: 200
  consumers: 1
  saturate: {{warmup: 200ms, measured: 500ms}}
  paced: {{warmup: 200ms, measured: 500ms, rate_records_per_s: 2000}}
baseline: {{linger.ms: 200}}
space: {{linger.ms: {{choices: [0, 200]}}}}
objectives: [mb_per_s, end_to_end_p50_ms]
constraints: ["consumer_cpu_ms_per_mb <= 100 x baseline"]
search: {{method: random, trials: 4, burn_in_max: 0}}
confirm: {{rounds: 2, max_rounds: 2, nominees: 1, undo_rounds: 0, goals: [latency]}}
executor: {{kind: local}}
tracking: {{enabled: false}}
"""


@pytest.mark.usefixtures("studies")
def test_a_study_finds_the_config_whose_records_arrive_soonest(broker: RunningCluster, tmp_path: Path) -> None:
    file = tmp_path / "end-to-end.yaml"
    file.write_text(STUDY.format(bootstrap=broker.bootstrap))
    study = tuner.run_study(file)
    # A burn-in run has no phase at a fixed rate.
    trials = [trial for size in study.results.sizes for trial in size.trials if trial.kind is not TrialKind.BURN_IN]
    assert all("end_to_end_p50_ms" in trial.metrics for trial in trials), [trial.error for trial in trials]
    assert all("consumer_cpu_ms_per_mb" in trial.metrics for trial in trials)
    # A config with small batches hardly waits, whatever its linger.ms; the baseline's batches never fill.
    lingering = [each.metrics["end_to_end_p50_ms"] for each in trials if each.values == {"linger.ms": "200"}]
    assert lingering
    assert min(lingering) > 50
