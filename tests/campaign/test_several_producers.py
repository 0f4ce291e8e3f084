"""Several producers in one trial on a real broker give one measurement, whose counts agree with the topic."""

from pathlib import Path

import pytest

from runners.clusters.cluster import RunningCluster
from runners.workload import RecordSizes
from tuner.execution.studies.run import measure_study
from tuner.execution.studies.study_progress import SilentReporter
from tuner.model.spec import ConfirmSpec, Executor, PhaseSpec, SearchSpec, StudySpec, WorkloadSpec
from tuner.model.target import Target
from tuner.storage.sqlite import SqliteStore


@pytest.mark.broker
def test_two_producers_are_one_measurement_with_what_the_topic_holds(broker: RunningCluster, tmp_path: Path) -> None:
    load = WorkloadSpec(
        (RecordSizes.fixed(1000),), producers=2, saturate=PhaseSpec(0.5, 1.0), paced=PhaseSpec(0.5, 1.0)
    )
    spec = StudySpec(
        "pair",
        load,
        targets=(Target(bootstrap=broker.bootstrap),),
        search=SearchSpec(trials=1, burn_in_max=1),
        confirm=ConfirmSpec(rounds=0),
        executor=Executor.LOCAL,
    )
    results = measure_study(spec, "", tmp_path / "pair", SilentReporter())
    baseline = results.sizes[0].baseline
    assert baseline is not None, results.sizes[0].trials
    store = SqliteStore(tmp_path / "pair", create=False)
    saturated = store.attachment(baseline, "saturated")
    store.close()
    assert saturated["counts"]["stored"] == saturated["counts"]["acknowledged"] > 0
    assert saturated["counts"]["agree"], saturated["counts"]["differences"]
