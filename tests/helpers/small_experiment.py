"""A small experiment on the simulated cluster, which takes no time."""

from pathlib import Path
from typing import Final

from runners.measurements.measurement import Window
from runners.runner import Runner
from runners.simulated import SimulatedRunner
from tuner.execution.experiments.experiment import measure_experiment
from tuner.execution.experiments.experiment_steps import ExperimentStep
from tuner.experiment_file import parse_experiment
from tuner.model.experiment import ExperimentSpec
from tuner.model.trial import Trial
from tuner.results.experiments.experiment_results import ExperimentResults, load_experiment

SMALL: Final = """
about: What acks costs.
source: A paper, table 1
load: {partitions: 3, warmup: 1s, measured: 2s}
vary:
  record_bytes: [100, 1000]
  acks: [1, all]
control: {record_bytes: 1000, acks: 1}
control_every: 2
rounds: 4
metrics: [mb_per_s, latency_p99_ms]
quick: {vary: {record_bytes: [1000]}, rounds: 2}
findings:
  - id: larger-is-faster
    claim: Larger records reach more MB/s.
    source: table 1
    metric: mb_per_s
    of: {record_bytes: 1000}
    over: {record_bytes: 100}
    each: [{at: {acks: 1}, paper_ratio: 3}, {at: {acks: all}}]
    expect: greater
  - id: smaller-is-faster
    claim: Smaller records reach more MB/s.
    source: table 1
    metric: mb_per_s
    order: [{record_bytes: 1000, acks: 1}, {record_bytes: 100, acks: 1}]
    expect: greater
  - id: the-cap
    claim: The tool reaches 102,400 records/s.
    source: table 2
    metric: records_per_s
    of: {record_bytes: 100, acks: 1}
    limit: 102400
    expect: equal
    artefact: {kind: rate cap, because: the tool was given 102400 records/s, paper_value: 102399, explained_by: 102400}
paper_values:
  - {row: {record_bytes: 1000, acks: 1}, values: {mb_per_s: 95}, source: table 1}
"""

SEARCHES: Final = """
about: What a search finds.
load: {partitions: 3, warmup: 1s, measured: 2s}
config: {acks: 1}
searches:
  random:
    workload: {saturate: {warmup: 100ms, measured: 1s}, paced: {warmup: 100ms, measured: 1s}}
    search: {method: random, trials: 10, seed: 4}
    executor: {kind: simulated}
rows:
  - {row: defaults, record_bytes: 1000}
  - {row: found, record_bytes: 1000, search: random, goal: latency}
  - {row: fast, record_bytes: 100, search: random, goal: throughput}
rounds: 2
"""
"""An experiment whose search runs on the simulated cluster."""


class ToldOfExperiment:
    """A reporter that keeps all sentences and measurements."""

    def __init__(self, stop_after: int | None = None) -> None:
        self.said: list[str] = []
        self.steps: list[ExperimentStep] = []
        self.trials: list[Trial] = []
        self._stop_after = stop_after

    def say(self, sentence: str) -> None:
        """Keep a sentence."""
        self.said.append(sentence)

    def window(self, step: ExperimentStep, window: Window) -> None:
        """Ignore a window."""

    def measured(self, step: ExperimentStep, trial: Trial) -> None:
        """Keep a measurement, and stop the experiment after the given number of them, as Ctrl-C does."""
        self.steps.append(step)
        self.trials.append(trial)
        if len(self.trials) == self._stop_after:
            raise KeyboardInterrupt


def small(text: str = SMALL, *, quick: bool = False) -> ExperimentSpec:
    """Return the small experiment, or that of another text."""
    return parse_experiment(text, name="small", folder=None, origin="small.yaml", environ={}, quick=quick)


def run_small(
    folder: Path, told: ToldOfExperiment | None = None, text: str = SMALL, runner: Runner | None = None
) -> ExperimentResults:
    """Run the small experiment in a folder, and return its results."""
    measure_experiment(small(text), text, folder, told or ToldOfExperiment(), simulated=runner or SimulatedRunner(0.02))
    return load_experiment(folder)
