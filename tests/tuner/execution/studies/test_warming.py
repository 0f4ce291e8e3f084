"""Studies on a target that warms up: the warm baseline counts, not the measurements while the target was cold."""

from dataclasses import dataclass, replace
from math import exp
from pathlib import Path

import pytest

from objectives.scoring import Constraint
from runners.measurements.measurement import Measurement, Origin
from runners.runner import Watch, go_on
from runners.simulated import Expected, SimulatedNoise, SimulatedRun, generator_of
from runners.workload import RecordSizes, Workload
from search_spaces.configs.producer_config import ProducerConfig
from tests.helpers.studies import StoppedAfter, Told
from tuner.execution.studies.run import measure_study
from tuner.model.goals import Goal
from tuner.model.spec import ConfirmSpec, Executor, Method, PhaseSpec, SearchSpec, StudySpec, WorkloadSpec
from tuner.model.study_time import burn_in_trials
from tuner.model.trial import TrialKind
from tuner.results.recommendations.recommend import recommend
from tuner.results.recommendations.recommendation import Conditions
from tuner.results.study_results import load_results

SPREAD = 0.4
WARM_P99_MS = 4.0 * exp(2.3263 * SPREAD)
P99 = Constraint("latency_p99_ms", at_most=True, limit=1.19 * WARM_P99_MS)
TIME_CONSTANT_S = 180.0


@dataclass(slots=True)
class Warming:
    """A simulated target that is 1.9 times slower at first. All configs perform the same, with 5 % of noise.

    Attributes:
        elapsed_s: Seconds that the runs so far have taken.
        time_constant_s: Seconds after which the target has gained 63 % of what warming brings.
    """

    elapsed_s: float = 0.0
    time_constant_s: float = TIME_CONSTANT_S

    def run(self, config: ProducerConfig, workload: Workload, watch: Watch = go_on) -> Measurement:
        """Return a measurement at the speed that the target has reached."""
        speed = 1 - (1 - 1 / 1.9) * exp(-self.elapsed_s / self.time_constant_s)
        rate = workload.rate_records_per_s
        measured = SimulatedRun(
            Origin("simulated", "none", "simulated", "", "", 1.0),
            config,
            workload,
            Expected(100_000.0 * speed, 4.0 / speed, SPREAD, 0.0 if rate else 0.9),
            SimulatedNoise.of(0.05, 0.0, None, None),
            generator_of(config, replace(workload, seed=workload.seed + int(10 * self.elapsed_s))),
        ).run(watch, "simulated, not measured")
        self.elapsed_s += measured.series[-1].at_s + 1.0
        return measured


@pytest.mark.parametrize(
    ("constraints", "conditions"),
    [((P99,), Conditions()), ((), Conditions(min_mb_per_s=170.0))],
    ids=["a limit of the study", "a floor of the user"],
)
def test_no_unproven_change_is_recommended_if_the_warm_baseline_meets_the_constraint(
    tmp_path: Path, constraints: tuple[Constraint, ...], conditions: Conditions
) -> None:
    """The first baseline breaks the limit, because the target is still cold: it has 105 of 200 MB/s."""
    load = WorkloadSpec(
        (RecordSizes.fixed(2000),), saturate=PhaseSpec(1.0, 2.0), paced=PhaseSpec(1.0, 1.5), seed=20_000
    )
    spec = StudySpec(
        "warming",
        load,
        constraints=constraints,
        search=SearchSpec(Method.RANDOM, trials=40, seed=2, racing=False),
        confirm=ConfirmSpec(undo_rounds=0),
        executor=Executor.SIMULATED,
    )
    results = measure_study(spec, "", tmp_path / "study", Told(), simulated=Warming())
    (size,) = results.sizes
    assert size.baseline is not None
    assert size.baseline.metrics["mb_per_s"] < 150
    assert size.baseline_metrics["mb_per_s"] == pytest.approx(200, rel=0.1)
    for goal in Goal:
        found = recommend(results, "2000", goal, conditions)
        assert found.is_baseline or found.proven


@pytest.mark.parametrize("after", [1, 2, 3])
def test_the_fixed_rate_is_chosen_again_although_the_burn_in_was_interrupted(tmp_path: Path, after: int) -> None:
    load = WorkloadSpec((RecordSizes.fixed(2000),), saturate=PhaseSpec(1.0, 2.0), paced=PhaseSpec(1.0, 1.5))
    search = SearchSpec(Method.RANDOM, trials=2)
    spec = StudySpec("warming", load, search=search, confirm=ConfirmSpec(rounds=0), executor=Executor.SIMULATED)
    target = Warming(time_constant_s=20.0)
    with pytest.raises(KeyboardInterrupt):
        measure_study(spec, "", tmp_path / "study", StoppedAfter(after), simulated=target)
    kept = load_results(tmp_path / "study").facts.get("rates", {}).get("2000", 0.0)
    assert kept < 0.9 * 0.30 * 100_000, "the rate of the cold target"
    results = measure_study(spec, "", tmp_path / "study", Told(), simulated=target)
    assert results.facts["rates"]["2000"] == pytest.approx(0.30 * 100_000, rel=0.1)


def test_the_fixed_rate_is_chosen_again_when_the_target_is_warm(tmp_path: Path) -> None:
    load = WorkloadSpec((RecordSizes.fixed(2000),), saturate=PhaseSpec(1.0, 2.0), paced=PhaseSpec(1.0, 1.5))
    search = SearchSpec(Method.RANDOM, trials=2)
    spec = StudySpec("warming", load, search=search, confirm=ConfirmSpec(rounds=0), executor=Executor.SIMULATED)
    told = Told()
    results = measure_study(spec, "", tmp_path / "study", told, simulated=Warming(time_constant_s=20.0))
    (said,) = (each for each in told.sentences if "the fixed rate is now" in each)
    assert results.facts["rates"]["2000"] == pytest.approx(0.30 * 100_000, rel=0.1)
    (size,) = results.sizes
    burn_ins = [trial for trial in size.trials if trial.kind is TrialKind.BURN_IN]
    assert 4 < len(burn_ins) <= burn_in_trials(spec)
    again = measure_study(
        replace(spec, search=replace(search, trials=4)), "", tmp_path / "study", Told(), simulated=Warming()
    )
    assert again.facts["rates"] == results.facts["rates"], f"a study keeps its rate: {said}"
