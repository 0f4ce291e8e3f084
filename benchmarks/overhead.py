"""Measures the time that a trial takes beyond its seconds of load, and how quickly `tuner` reads a large study.

python -m benchmarks.overhead [--client librdkafka] [--real-trials 12] [--trials 2000] [--large 5000]

The benchmark has three parts. The options set the numbers of their trials; 0 leaves a part out.

1. Trials on a real broker, with Ray, Optuna, MLflow and the results store. The overhead of a trial is its time minus
   its seconds of load. Waiting for records that are still in the client's queue counts as load.
2. Simulated trials, whose results are computed, so that thousands of trials take minutes. The whole time of a trial is
   overhead, and it must not grow during the study.
3. `tuner recommend` and `tuner front` on a study with thousands of trials.
"""

import os
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from functools import partial
from pathlib import Path
from statistics import median

from typing_extensions import override

from benchmarks.evidence import TUNER, add_client, benchmark_parser, print_goal, run_benchmark, whole_number
from runners.simulated import SimulatedRunner
from runners.workload import RecordSizes
from search_spaces.client import Client
from search_spaces.configs.producer_config import ProducerConfig
from tuner.execution.studies.run import measure_study
from tuner.execution.studies.study_progress import SilentReporter, SizeProgress
from tuner.model.spec import ConfirmSpec, Executor, Method, PhaseSpec, SearchSpec, StudySpec, WorkloadSpec
from tuner.model.trial import Trial, TrialKind
from tuner.results.study_results import StudyResults
from tuner.tracking import MlflowMirror

GOAL_OVERHEAD_S = 0.7
WARMUP_S = 1.0  # from 1 s on, the previous trial's topic is deleted during the warm-up (`owned_topic`)
GOAL_GROWTH_S = 0.2
GOAL_ANSWER_S = 2.0


class _Every250thTrial(SilentReporter):
    """A `Reporter` that prints the number and the duration of every 250th trial, and nothing else."""

    @override
    def trial(self, progress: SizeProgress, trial: Trial) -> None:
        if trial.number and trial.number % 250 == 0:
            print(f"  trial {trial.number}: {trial.duration_s:.3f} s", file=sys.stderr)


def main() -> None:
    """Run all three parts; the exit code is 1 if a goal is missed."""
    parser = benchmark_parser(__doc__)
    add_client(parser, "librdkafka, java, or java:VERSION, for the real trials")
    parser.add_argument("--real-trials", type=_trials, default=12)
    parser.add_argument("--trials", type=_trials, default=2000)
    parser.add_argument("--large", type=_trials, default=5000)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="tuner-overhead-") as root:
        folder = Path(root)
        real = partial(_real, asked.client)
        parts = ((_large, asked.large), (real, asked.real_trials), (_long, asked.trials))
        goals = [measure(folder, trials) for measure, trials in parts if trials]
    sys.exit(0 if all(goals) else 1)


def _trials(text: str) -> int:
    """Return an argument that must be a whole number from 0."""
    return 0 if text == "0" else whole_number(text)


def _spec(name: str, trials: int, **changes: object) -> StudySpec:
    load = WorkloadSpec((RecordSizes.fixed(1000),), saturate=PhaseSpec(WARMUP_S, 1.0), paced=PhaseSpec(WARMUP_S, 1.0))
    search = SearchSpec(trials=trials, burn_in_max=1)
    return replace(StudySpec(name, load, search=search, confirm=ConfirmSpec(rounds=0)), **changes)  # type: ignore[arg-type]


def _searched(results: StudyResults) -> list[Trial]:
    return [trial for trial in results.sizes[0].trials if trial.kind is not TrialKind.BURN_IN]


def _real(client: Client, root: Path, trials: int) -> bool:
    spec = _spec("real", trials, baseline=ProducerConfig.parse({}, client=client))
    mirror = MlflowMirror(root / spec.name, spec.tracking, print)
    results = measure_study(spec, "", root / spec.name, _Every250thTrial(), mirror)
    # `load_s` covers the phases that the study asks for, and the delivery of the records still queued at their end.
    over = [trial.duration_s - trial.load_s for trial in _searched(results) if not trial.error]
    late = over[-5:]
    print(f"- real broker, {client.label}, {len(over)} trials: overhead {', '.join(f'{each:.2f}' for each in over)} s")
    return print_goal(f"median overhead of the last {len(late)} trials", median(late), GOAL_OVERHEAD_S, "s")


def _long(root: Path, trials: int) -> bool:
    spec = _spec("long", trials)
    mirror = MlflowMirror(root / spec.name, spec.tracking, print)
    results = measure_study(spec, "", root / spec.name, _Every250thTrial(), mirror, SimulatedRunner(0.03))
    took = [trial.duration_s for trial in _searched(results)]
    early, late = median(took[5:15]), median(took[-20:])
    print(f"- simulated load, {len(took)} trials: overhead {early:.3f} s around trial 10, {late:.3f} s at the end")
    return print_goal("growth of the overhead", late - early, GOAL_GROWTH_S, "s")


def _large(root: Path, trials: int) -> bool:
    search = SearchSpec(method=Method.RANDOM, trials=trials, burn_in_max=1)
    spec = _spec("large", trials, search=search, executor=Executor.SIMULATED)
    measure_study(spec, "", root / spec.name, _Every250thTrial())
    kept = []
    for words in (["recommend", "large", "--record-bytes", "1000"], ["front", "large"]):
        started = time.perf_counter()
        subprocess.run(
            [TUNER, *words],
            env={**os.environ, "KAFKA_TUNER_STUDIES": str(root)},
            stdout=subprocess.DEVNULL,
            check=True,
        )
        kept.append(
            print_goal(f"tuner {words[0]} at {trials} trials", time.perf_counter() - started, GOAL_ANSWER_S, "s")
        )
    return all(kept)


if __name__ == "__main__":
    run_benchmark(main)
