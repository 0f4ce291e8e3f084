"""Measures what a study saves and loses by stopping trials early, on simulated studies with and without early stopping.

python -m benchmarks.racing [--seeds 20] [--trials 60]

The seconds of load are those that a real study would have taken, including burn-in runs and baselines. The confirmation
is left out, because its trials are never stopped early. The front of a study is judged by the true values of its
configs, without noise.
"""

import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, stdev

from benchmarks.evidence import benchmark_parser, run_benchmark, whole_number
from benchmarks.problems.truth import Truth
from objectives.front import hypervolume
from objectives.students_t import t_quantile
from runners.simulated import SimulatedRunner
from runners.workload import RecordSizes
from tuner.execution.studies.run import measure_study
from tuner.execution.studies.study_progress import SilentReporter
from tuner.model.spec import ConfirmSpec, Executor, SearchSpec, StudySpec, WorkloadSpec
from tuner.model.trial import TrialKind
from tuner.results.study_results import SizeResults

GOAL_SAVED_RATIO = 0.3
_SEEDS_APART = 1_000
_NOISE_RATIO = 0.05


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of one study.

    Attributes:
        load_s: Seconds of load.
        volume: Hypervolume of the study's final front, computed from the true gains over the baseline.
        stopped: Trials that were stopped early.
        searched: Trials of the search.
        again: Trials whose paced phase was cut short and then run again in full.
        cut_short: Trials on the front whose paced phase was cut short.
    """

    load_s: float
    volume: float
    stopped: int
    searched: int
    again: int
    cut_short: int


def main() -> None:
    """Run each study with and without early stopping. The exit code is 1 if the goal is missed."""
    parser = benchmark_parser(__doc__)
    parser.add_argument("--seeds", type=whole_number, default=20)
    parser.add_argument("--trials", type=whole_number, default=60)
    asked = parser.parse_args()
    trials = asked.trials
    pairs = [(study(trials, seed, racing=False), study(trials, seed, racing=True)) for seed in range(asked.seeds)]
    print(table(pairs))
    saved = interval([1 - on.load_s / off.load_s for off, on in pairs])
    sys.exit(0 if saved[0] >= GOAL_SAVED_RATIO else 1)


def study(trials: int, seed: int, *, racing: bool) -> Outcome:
    """Run one simulated study and return its outcome."""
    load = WorkloadSpec((RecordSizes.fixed(1000),), seed=seed * _SEEDS_APART)
    spec = StudySpec(
        "racing",
        load,
        search=SearchSpec(trials=trials, seed=seed, racing=racing),
        confirm=ConfirmSpec(rounds=0),
        executor=Executor.SIMULATED,
    )
    with tempfile.TemporaryDirectory(prefix="tuner-racing-") as folder:
        (size,) = measure_study(
            spec, "", Path(folder) / spec.name, SilentReporter(), simulated=SimulatedRunner(_NOISE_RATIO)
        ).sizes
    return outcome(size, Truth.of(load.saturating(load.record_sizes[0])))


def outcome(size: SizeResults, truth: Truth) -> Outcome:
    """Return the outcome of a study, judged by the true values of its configs."""
    searched = [trial for trial in size.trials if trial.kind is TrialKind.SEARCH]
    return Outcome(
        load_s=sum(trial.load_s for trial in size.trials),
        volume=hypervolume([truth.gains(truth.outcome(trial.config())) for trial in size.front_trials]),
        stopped=sum(bool(trial.stopped_early) for trial in searched),
        searched=len(searched),
        again=sum(trial.saved_s < 0 for trial in searched),
        cut_short=sum(trial.saved_s > 0 for trial in size.front_trials),
    )


def table(pairs: Sequence[tuple[Outcome, Outcome]]) -> str:
    """Return a Markdown table that compares studies without early stopping (first in each pair) and with it.

    The differences have 95 % intervals over the studies.
    """
    offs, ons = [off for off, _ in pairs], [on for _, on in pairs]
    rows = [
        ("", "without early stopping", "with early stopping", "difference"),
        ("---", "---", "---", "---"),
        (
            "seconds of load",
            f"{fmean(each.load_s for each in offs):.0f}",
            f"{fmean(each.load_s for each in ons):.0f}",
            _ratio([on.load_s / off.load_s - 1 for off, on in pairs]),
        ),
        (
            "true hypervolume",
            f"{fmean(each.volume for each in offs):.3f}",
            f"{fmean(each.volume for each in ons):.3f}",
            _ratio([on.volume / off.volume - 1 for off, on in pairs]),
        ),
        ("trials stopped early", "0", f"{sum(e.stopped for e in ons) / sum(e.searched for e in ons):.0%}", ""),
        ("trials run again in full", "0", f"{sum(e.again for e in ons) / sum(e.searched for e in ons):.0%}", ""),
        ("trials on the front that were cut short", "0", f"{fmean(each.cut_short for each in ons):.1f}", ""),
    ]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def interval(values: Sequence[float]) -> tuple[float, float, float]:
    """Return the mean of the values, and the lower and upper end of its 95 % interval."""
    mean = fmean(values)
    if len(values) < 2:
        return mean, mean, mean
    half = t_quantile(0.95, len(values) - 1) * stdev(values) / len(values) ** 0.5
    return mean, mean - half, mean + half


def _ratio(values: Sequence[float]) -> str:
    mean, low, high = interval(values)
    return f"{mean:+.1%} ({low:+.1%} to {high:+.1%})"


if __name__ == "__main__":
    run_benchmark(main)
