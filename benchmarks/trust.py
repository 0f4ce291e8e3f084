"""Counts how often simulated studies give bad advice, or state an interval that does not contain the true gain.

python -m benchmarks.trust [--studies 400] [--trials 40] [--only aa-5,power] [--processes 2]

Bad advice is to recommend a change that does not help, or to recommend no change although one helps. The cases, with
the disturbances of their simulated machine and their goals, are in `benchmarks.simulated_studies.cases`. Their seeds
are 0, 1, 2, and so on. Most studies are light (`benchmarks.simulated_studies.light_studies`). The cases whose names
begin with `complete`, and `cluster`, run complete studies with sampler, bench and storage; there are half as many of
them. The case `cluster` has the simulated cluster of `runners.simulated` with 5 % of noise.
"""

import math
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import prod
from multiprocessing import get_context
from multiprocessing.pool import Pool
from pathlib import Path
from random import Random
from statistics import geometric_mean, stdev

from benchmarks.evidence import benchmark_parser, run_benchmark, whole_number
from benchmarks.problems.truth import Truth
from benchmarks.simulated_studies.cases import CASES, Case
from benchmarks.simulated_studies.figures import Advice, Figure, Found, Interval
from benchmarks.simulated_studies.light_studies import LightStudy
from benchmarks.simulated_studies.planted import BASELINE, MB_PER_S, P99_MS, RECORD_BYTES, Machine, MachineRunner
from objectives.ratios import Ratio
from objectives.scoring import Objective
from runners.runner import Runner
from runners.simulated import SimulatedRunner
from runners.workload import RecordSizes
from search_spaces.configs.producer_config import ProducerConfig
from tuner.execution.studies.run import measure_study
from tuner.execution.studies.study_progress import SilentReporter
from tuner.model.errors import NoFeasibleConfig
from tuner.model.goals import Goal, goal_metrics
from tuner.model.spec import RATE_RATIO, ConfirmSpec, Executor, PhaseSpec, SearchSpec, StudySpec, WorkloadSpec
from tuner.model.trial import CONFIRMING_KINDS, TrialKind
from tuner.results.recommendations.recommend import recommend
from tuner.results.recommendations.recommendation import Recommendation
from tuner.results.study_results import StudyResults

_CLUSTER_NOISE = 0.05
_METRICS = ("mb_per_s", "latency_p99_ms")
_PHASE = PhaseSpec(1.0, 1.5)
_WARM_S = 7200.0
_NEXT_DAY_S = 16 * 3600.0
_RESAMPLES = 200


@dataclass(frozen=True, slots=True)
class Row:
    """A row of the table.

    Attributes:
        scenario: The name of the case.
        studies: Number of studies.
        what: The name of the figure.
        figure: The value of the figure; None if the studies do not have the figure.
        error: The Monte Carlo standard error of the figure.
        goal: The goal in words.
        met: Whether the goal is met.
        in_trials: Whether the figure is a number of trials; otherwise it is shown in percent.
    """

    scenario: str
    studies: int
    what: str
    figure: float | None
    error: float
    goal: str
    met: bool
    in_trials: bool

    def as_markdown(self) -> str:
        """Return the row as a line of a Markdown table."""
        if self.figure is None:
            shown = "none"
        elif self.in_trials:
            shown = f"{self.figure:.0f} +/- {self.error:.1f}"
        else:
            shown = f"{100 * self.figure:.1f} +/- {100 * self.error:.1f} %"
        met = "" if not self.goal else "met" if self.met else "**missed**"
        return f"| `{self.scenario}` | {self.studies} | {self.what} | {shown} | {self.goal} | {met} |"


def main() -> None:
    """Run the studies of all cases. The exit code is 1 if a goal is missed."""
    parser = benchmark_parser(__doc__)
    parser.add_argument("--studies", type=whole_number, default=400, help="light studies of each case (default 400)")
    parser.add_argument("--trials", type=whole_number, default=40, help="trials of each search (default 40)")
    parser.add_argument("--only", default=",".join(CASES), help="cases, separated by commas")
    parser.add_argument("--processes", type=whole_number, default=2, help="how many studies run at a time (default 2)")
    asked = parser.parse_args()
    names = asked.only.split(",")
    if unknown := sorted(set(names) - set(CASES)):
        parser.error(f"--only must name cases among {', '.join(CASES)}, but got {', '.join(unknown)}")
    met = True
    print("| scenario | studies | what | figure | goal | |\n| --- | ---: | --- | ---: | ---: | --- |")
    with get_context("spawn").Pool(asked.processes) as pool:
        for name in names:
            studies = max(2, asked.studies // 2) if CASES[name].complete else asked.studies
            for row in _rows(name, _found(pool, name, studies, asked.trials)):
                print(row.as_markdown(), flush=True)
                met &= row.met
    sys.exit(0 if met else 1)


def _found(pool: Pool, name: str, studies: int, trials: int) -> list[Found]:
    found = []
    for each in pool.imap(partial(_study, name, trials), range(studies)):
        found.append(each)
        if len(found) % 50 == 0:
            print(f"  {name}: {len(found)} of {studies} studies have ended", file=sys.stderr, flush=True)
    return found


def _rows(name: str, found: Sequence[Found]) -> list[Row]:
    rows = []
    for figure in CASES[name].figures:
        value = figure.measure(found)
        missing = math.isnan(value)
        met = figure.goal is None if missing else figure.met(value)
        error = 0.0 if missing else _error(figure, found)
        shown = None if missing else value
        rows.append(Row(name, len(found), figure.what, shown, error, figure.bound, met, figure.in_trials))
    return rows


def _error(figure: Figure, found: Sequence[Found]) -> float:
    """Return the bootstrap standard error of a figure: the studies are drawn again with replacement."""
    random = Random(0)
    drawn = [figure.measure(random.choices(found, k=len(found))) for _ in range(_RESAMPLES)]
    known = [value for value in drawn if not math.isnan(value)]
    return stdev(known) if len(known) > 1 else 0.0


def _study(name: str, trials: int, seed: int) -> Found:
    case = CASES[name]
    spec = StudySpec(
        f"{name}-{seed}",
        # The noise of complete studies depends on the seed of the workload.
        WorkloadSpec((RecordSizes.fixed(RECORD_BYTES),), saturate=_PHASE, paced=_PHASE, seed=seed * 10_000),
        search=SearchSpec(trials=trials, seed=seed, racing=False, **case.search),
        confirm=ConfirmSpec(undo_rounds=0, **case.confirm),
        # A light study runs as if we had started its brokers, so that they can be restarted.
        executor=Executor.SIMULATED if case.complete else Executor.LOCAL,
        **case.study,
    )
    if case.planted is None:
        return _of_cluster(case, spec)
    machine, true_gain = Machine(case.planted, case.disturbances, seed), case.planted.true_gain
    if case.complete:
        results = _completely(spec, MachineRunner(machine))
        return _outcome(case, results, true_gain, partial(_once_more, machine))
    study = LightStudy(spec, machine)
    results, repeated = study.run(), []
    for number in range(case.confirmations):
        results = study.confirm_again() if number else results
        advice = _advice(case, results, true_gain, {})
        repeated.append(any(each.is_false for each in advice))
    return _outcome(case, results, true_gain, partial(_once_more, machine), tuple(repeated))


def _of_cluster(case: Case, spec: StudySpec) -> Found:
    runner, cluster = SimulatedRunner(_CLUSTER_NOISE, window_noise_ratio=0.0), Truth.of(RECORD_BYTES)

    def true_gain(config: ProducerConfig, metric: str) -> float:
        ours, theirs = cluster.outcome(config), cluster.standard
        return Objective(metric).gain(getattr(ours, metric), getattr(theirs, metric))

    random = Random(spec.search.seed)

    def once_more(config: ProducerConfig) -> dict[str, float]:
        return {
            metric: true_gain(config, metric) * math.exp(random.gauss(0.0, math.sqrt(2) * _CLUSTER_NOISE))
            for metric in _METRICS
        }

    return _outcome(case, _completely(spec, runner), true_gain, once_more)


def _completely(spec: StudySpec, runner: Runner) -> StudyResults:
    with tempfile.TemporaryDirectory(prefix="tuner-trust-") as folder:
        return measure_study(spec, "", Path(folder) / spec.name, SilentReporter(), None, runner)


TrueGain = Callable[[ProducerConfig, str], float]


def _once_more(machine: Machine, config: ProducerConfig) -> dict[str, float]:
    """Return the ratios of one more round, measured the next day on newly started brokers that are warm."""
    machine.restart()
    machine.rest(_NEXT_DAY_S)
    machine.up_s = _WARM_S
    trial_s = 2 * (_PHASE.warmup_s + _PHASE.measured_s)
    (their_mb, their_ms), (our_mb, our_ms) = (machine.measure(each, trial_s) for each in (BASELINE, config))
    return {"mb_per_s": our_mb / their_mb, "latency_p99_ms": their_ms / our_ms}


def _outcome(
    case: Case,
    results: StudyResults,
    true_gain: TrueGain,
    once_more: Callable[[ProducerConfig], dict[str, float]],
    repeated: tuple[bool, ...] = (),
) -> Found:
    size = results.sizes[0]
    again, intervals = {}, []
    for each in size.confirmations:
        config = size.trial_of(each.fingerprint).config()
        again[each.fingerprint] = once_more(config)
        intervals += _intervals(each.gains, config, true_gain, again[each.fingerprint])
    rate = size.rate_records_per_s or 0.0
    in_rounds = [
        trial.metrics["records_per_s"]
        for trial in size.trials
        if trial.kind is TrialKind.CONFIRM and trial.fingerprint == BASELINE.fingerprint
    ]
    return Found(
        advice=_advice(case, results, true_gain, again),
        intervals=tuple(intervals),
        confirming=sum(trial.kind in CONFIRMING_KINDS for trial in size.trials),
        rate_error=rate / (RATE_RATIO * MB_PER_S * 1e6 / RECORD_BYTES) - 1.0,
        rate_error_in_rounds=rate / (RATE_RATIO * geometric_mean(in_rounds)) - 1.0 if in_rounds else math.nan,
        repeated=repeated,
    )


def _advice(
    case: Case, results: StudyResults, true_gain: TrueGain, again: dict[str, dict[str, float]]
) -> tuple[Advice, ...]:
    found = []
    for goal in Goal:
        try:
            advised = recommend(results, str(RECORD_BYTES), goal, case.conditions)
        except NoFeasibleConfig:
            found.append(Advice(goal, refused=True))
            continue
        asked = goal_metrics(goal, results.objectives)
        if advised.is_baseline:
            found.append(Advice(goal, asked))
            continue
        config = advised.config
        gains = [true_gain(config, metric) for metric in asked]
        # If a warning says that the config may exceed a limit, the study does not claim that the limit is met.
        kept = all(
            limit.violation(_true_value(limit.metric, config, true_gain), None) <= 0
            or any(str(limit) in warning for warning in advised.warnings)
            for limit in case.study.get("constraints", ())
        )
        found.append(
            Advice(
                goal,
                asked,
                change=True,
                true_gain=prod(gains) ** (1 / len(gains)),
                gains=tuple(_intervals(_shown(advised), config, true_gain, again.get(config.fingerprint, {}))),
                proven=advised.proven,
                within_limits=kept,
            )
        )
    return tuple(found)


def _shown(advised: Recommendation) -> dict[str, Ratio]:
    """Return the gains of a recommendation with the intervals that a user sees.

    The interval of a price (a loss in a metric outside the goal) is wider than the interval of a tested gain.
    """
    return {**advised.gains, **{metric: effect.ratio for metric, effect in advised.side_effects.items()}}


def _true_value(metric: str, config: ProducerConfig, true_gain: TrueGain) -> float:
    gain = true_gain(config, metric)
    return MB_PER_S * gain if metric == "mb_per_s" else P99_MS / gain


def _intervals(
    gains: Mapping[str, Ratio], config: ProducerConfig, true_gain: TrueGain, again: dict[str, float]
) -> list[Interval]:
    return [
        Interval(
            metric,
            true=true_gain(config, metric),
            low=gain.low,
            value=gain.value,
            high=gain.high,
            repeat_low=gain.repeat_low,
            repeat_high=gain.repeat_high,
            once_more=again.get(metric, 1.0),
        )
        for metric in _METRICS
        if (gain := gains.get(metric)) is not None
    ]


if __name__ == "__main__":
    run_benchmark(main)
