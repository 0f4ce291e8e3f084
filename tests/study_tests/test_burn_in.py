"""Before anything counts, the baseline is measured until its capacity agrees, and then its latency."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from runners.histogram import Histogram
from runners.measurement import Measurement
from runners.runner import Watch, go_on
from runners.simulated import SimulatedRunner
from runners.workload import Workload
from search_spaces.producer_config import ProducerConfig
from tests.campaign_tests.studies import THROUGHPUT, Told, simulated_study
from tuner.study.run import run_study
from tuner.study.spec import StudySpec
from tuner.study.trial import Kind, Trial


@dataclass(slots=True)
class Settling:
    """Simulates, but for the latency at a fixed rate.

    Attributes:
        latencies_ms: Of the first runs at a fixed rate; the last one is that of all later ones too.
    """

    latencies_ms: list[int]

    def run(self, config: ProducerConfig, workload: Workload, watch: Watch = go_on) -> Measurement:
        """See `Runner.run`."""
        measured = SimulatedRunner().run(config, replace(workload, seed=0), watch)
        if workload.rate_records_per_s is None:
            return measured
        latency_ms = self.latencies_ms.pop(0) if len(self.latencies_ms) > 1 else self.latencies_ms[0]
        return replace(measured, latency=Histogram.of([latency_ms * 1000] * 100))


def burn_ins(folder: Path, latencies_ms: Sequence[int], spec: StudySpec) -> list[Trial]:
    (size,) = run_study(spec, "", folder, Told(), simulated=Settling(list(latencies_ms))).sizes
    found = [trial for trial in size.trials if trial.kind is Kind.BURN_IN]
    assert list(size.trials[: len(found)]) == found, "ahead of all others"
    return found


@pytest.mark.parametrize(
    ("latencies_ms", "paced"),
    [([10], 2), ([40, 20, 10, 9, 9], 4), ([20, 10, 11, 11], 3), ([80, 40, 20, 10, 5], 4)],
    ids=["at once", "after some", "not while it still falls", "no longer than is allowed"],
)
def test_latency_is_waited_for_too(tmp_path: Path, latencies_ms: list[int], paced: int) -> None:
    found = burn_ins(tmp_path, latencies_ms, simulated_study((1000,), trials=3, rounds=0, burn_in_max=4))
    assert ["latency_p99_ms" in trial.metrics for trial in found] == [False] * 2 + [True] * paced


def test_not_where_no_objective_is_a_latency_or_no_agreement_is_asked_for(tmp_path: Path) -> None:
    asked = simulated_study((1000,), trials=3, rounds=0, burn_in_max=4)
    fast = replace(asked, objectives=THROUGHPUT)
    assert len(burn_ins(tmp_path / "fast", [10], fast)) == fast.burn_ins - 2 == 2
    once = replace(asked, search=replace(asked.search, burn_in_max=1))
    assert len(burn_ins(tmp_path / "once", [10], once)) == once.burn_ins == 1
    assert asked.burn_ins == 8
