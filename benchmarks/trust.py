"""Counts how often simulated studies give bad advice, or state an interval that does not contain the true gain.

Bad advice is to recommend a change that does not help, or to recommend no change although one helps.

python -m benchmarks.trust [--studies 200] [--trials 40] [--only aa-5,aa-10,aa-stalls,power,cluster] [--processes 2]

All studies are complete studies, whose results are computed instead of measured. Their seeds are 0, 1, 2, ... There are
these cases:

- `aa-5`, `aa-10`: every config performs the same, with 5 % and 10 % of noise. Any recommendation is wrong.
- `aa-stalls`: every config performs the same, with 8 % of noise. In one trial of ten, latencies are 3 to 6 times as
  high. Any recommendation is wrong.
- `power`: some configs are truly 1.2 times as good, with 5 % of noise. Each study should recommend one of them.
- `cluster`: the simulated cluster of `runners.simulated`, with 5 % of noise. The stated intervals should contain the
  true gains.
"""

import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from statistics import median

from benchmarks.evidence import benchmark_parser, run_benchmark
from benchmarks.planted import Planted
from benchmarks.problems.truth import Truth
from objectives.scoring import Objective
from runners.runner import Runner
from runners.simulated import SimulatedRunner
from runners.workload import RecordSizes
from search_spaces.producer_config import ProducerConfig
from tuner.course.reporter import SilentReporter
from tuner.course.run import run_study
from tuner.model.spec import (
    ConfirmSpec,
    Executor,
    Goal,
    Method,
    PhaseSpec,
    SearchSpec,
    StudySpec,
    WorkloadSpec,
)
from tuner.model.trial import CONFIRMING_KINDS
from tuner.results.recommendation import recommend

RECORD_BYTES = 1000
GAIN = 1.2
CASES: Mapping[str, Planted | None] = {
    "aa-5": Planted(0.05),
    "aa-10": Planted(0.10),
    "aa-stalls": Planted(0.08, stalls_ratio=0.1),
    "power": Planted(0.05, GAIN),
    "cluster": None,
}
"""The cases by name, each with the `Runner` that computes its results. None stands for the simulated cluster."""
_CLUSTER_NOISE = 0.05


@dataclass(frozen=True, slots=True)
class Told:
    """One gain that a study stated for a recommendation, and the true gain.

    Attributes:
        goal: The goal of the recommendation.
        metric: The metric of the gain.
        true: The true gain.
        low: Lower end of the stated interval.
        value: The stated gain.
        high: Upper end of the stated interval.
        claimed: Whether the goal asks for this metric. If so, the study tested the gain; otherwise it only shows it.
    """

    goal: Goal
    metric: str
    true: float
    low: float
    value: float
    high: float
    claimed: bool


@dataclass(frozen=True, slots=True)
class Found:
    """The outcome of one study.

    Attributes:
        told: All gains of all recommendations; empty if the study recommends to keep the baseline.
        confirming: Number of trials in the study's confirmation.
    """

    told: tuple[Told, ...]
    confirming: int


def main() -> None:
    """Run the studies of all cases. The exit code is 1 if a goal is missed."""
    parser = benchmark_parser(__doc__)
    parser.add_argument("--studies", type=int, default=200)
    parser.add_argument("--trials", type=int, default=40)
    parser.add_argument("--only", default=",".join(CASES))
    parser.add_argument("--processes", type=int, default=2)
    asked = parser.parse_args()
    kept = [_case(name, asked.studies, asked.trials, asked.processes) for name in asked.only.split(",")]
    sys.exit(0 if all(kept) else 1)


def _case(name: str, studies: int, trials: int, processes: int) -> bool:
    with get_context("spawn").Pool(processes) as pool:
        found = []
        for each in pool.imap(partial(_study, name, trials), range(studies)):
            found.append(each)
            if len(found) % 20 == 0:
                print(f"  {name}: {len(found)} of {studies} studies have ended", file=sys.stderr, flush=True)
    recommending = [each for each in found if each.told]
    steps = median(each.confirming for each in found)
    print(
        f"\n{name}: {studies} studies with seeds from 0, each of {trials} trials; the confirmation has {steps:g} more "
        "(median)\n"
    )
    if name.startswith("aa"):
        wrong = len(recommending) / studies
        return _told("studies that recommend a change, although no change helps", wrong, 0.05, at_most=True)
    goals = [_power(found, studies)] if name == "power" else []
    told = [each for study in recommending for each in study.told]
    return all([*goals, _coverage("stated gains", told), _coverage("tested gains", [t for t in told if t.claimed])])


def _power(found: list[Found], studies: int) -> bool:
    hit = sum(any(each.true >= GAIN for each in study.told) for study in found)
    return _told(
        f"studies that recommend a config that is truly {GAIN} times as good", hit / studies, 0.9, at_most=False
    )


def _coverage(what: str, told: list[Told]) -> bool:
    held = sum(each.low <= each.true <= each.high for each in told) / max(1, len(told))
    width = median((each.high - each.low) / each.value for each in told) if told else float("inf")
    ours = _told(f"{what}: share of {len(told)} intervals that contain the true gain", held, 0.93, at_most=False)
    return _told(f"{what}: median width of the intervals, relative to the gain", width, 0.1, at_most=True) and ours


def _told(what: str, value: float, goal: float, *, at_most: bool) -> bool:
    kept = value <= goal if at_most else value >= goal
    bound = "at most" if at_most else "at least"
    print(f"- {what}: {value:.1%} (goal: {bound} {goal:.0%}: {'met' if kept else 'missed'})")
    sys.stdout.flush()
    return kept


def _study(name: str, trials: int, seed: int) -> Found:
    planted = CASES[name]
    # All noise of a study is derived from the seed of the workload.
    load = WorkloadSpec(
        (RecordSizes.fixed(RECORD_BYTES),), saturate=PhaseSpec(0.0, 1.0), paced=PhaseSpec(0.0, 1.0), seed=seed * 10_000
    )
    spec = StudySpec(
        f"{name}-{seed}",
        load,
        search=SearchSpec(method=Method.BAYESIAN, trials=trials, seed=seed, racing=False),
        confirm=ConfirmSpec(ablation_rounds=0),
        executor=Executor.SIMULATED,
    )
    runner: Runner = planted or SimulatedRunner(_CLUSTER_NOISE, window_noise_ratio=0.0)
    with tempfile.TemporaryDirectory(prefix="tuner-trust-") as folder:
        results = run_study(spec, "", Path(folder) / spec.name, SilentReporter(), None, runner)
    truth = _truths(planted)
    told = []
    for goal in Goal:
        found = recommend(results, str(RECORD_BYTES), goal)
        if not found.is_baseline:
            for metric, ratio in found.gains.items():
                about = goal is Goal.BALANCED or metric == {Goal.THROUGHPUT: "mb_per_s"}.get(goal, "latency_p99_ms")
                true = truth(found.config, metric)
                told.append(Told(goal, metric, true, ratio.low, ratio.value, ratio.high, about))
    return Found(tuple(told), sum(trial.kind in CONFIRMING_KINDS for trial in results.sizes[0].trials))


class _truths:  # noqa: N801 - used as a function
    """Computes the true gain of a config over the client's defaults."""

    def __init__(self, planted: Planted | None) -> None:
        self._planted = planted
        self._cluster = Truth.of(RECORD_BYTES) if planted is None else None

    def __call__(self, config: ProducerConfig, metric: str) -> float:
        if self._planted is not None:
            return self._planted.true_gain(config)
        assert self._cluster is not None
        ours, theirs = self._cluster.outcome(config), self._cluster.standard
        return Objective(metric).gain(getattr(ours, metric), getattr(theirs, metric))


if __name__ == "__main__":
    run_benchmark(main)
