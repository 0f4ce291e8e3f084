"""Measures the recommendations of a real study again, to see whether their gains hold.

python -m benchmarks.live STUDY [--repeats 10]

For each record size of the study, each repeat runs `tuner verify`. This command starts a new broker, warms it up, and
measures the recommended config in turn with the baseline for two rounds. In each repeat, the config should be better
than the baseline. Its gain should lie inside the interval that the study predicted for one more round.
"""

import json
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.evidence import TUNER, benchmark_parser, run_benchmark, whole_number
from objectives.ratios import Ratio
from tuner.model.errors import NoFeasibleConfig, StudyNotFound
from tuner.model.goals import Goal, goal_metrics
from tuner.results.recommendations.recommend import recommend
from tuner.results.recommendations.recommendation import Recommendation
from tuner.results.study_results import StudyResults, load_results
from tuner.storage.locations import find_study

GOALS = (Goal.THROUGHPUT, Goal.LATENCY)
GOAL_INSIDE_RATIO = 0.9


@dataclass(frozen=True, slots=True)
class Case:
    """A recommendation that is measured again, with the record size and the metric of its goal."""

    record_bytes: str
    found: Recommendation
    metric: str

    @property
    def stated(self) -> Ratio:
        """The gain that the study stated for this recommendation."""
        return self.found.gains[self.metric]


def main() -> None:
    """Measure every recommendation again. The exit code is 1 if a goal is missed or there is no recommendation."""
    parser = benchmark_parser(__doc__)
    parser.add_argument("study")
    parser.add_argument("--repeats", type=whole_number, default=10)
    asked = parser.parse_args()
    try:
        results = load_results(find_study(asked.study))
    except StudyNotFound as error:
        parser.error(str(error))
    kept = []
    print("| record size | goal | config | metric | gain (95 %) | one more round (95 %) | repeats | inside | better |")
    print("| ---: | --- | --- | --- | --- | --- | --- | --- | --- |")
    for case in _cases(results):
        gains = [_again(asked.study, case) for _ in range(asked.repeats)]
        inside = sum(case.stated.repeat_low <= gain <= case.stated.repeat_high for gain in gains)
        better = sum(gain > 1.0 for gain in gains)
        changed = " ".join(f"{name}={value}" for name, value in case.found.config.values.items())
        stated = case.stated
        print(
            f"| {case.record_bytes} | {case.found.goal} | `{changed}` | {case.metric} | {stated} | "
            f"{stated.repeat_low:.2f} to {stated.repeat_high:.2f} | {', '.join(f'{gain:.2f}' for gain in gains)} | "
            f"{inside} of {len(gains)} | {better} of {len(gains)} |",
            flush=True,
        )
        kept.append(inside >= GOAL_INSIDE_RATIO * len(gains) and better == len(gains))
    sys.exit(0 if kept and all(kept) else 1)


def _cases(results: StudyResults) -> list[Case]:
    """Return one recommendation with a proven gain for each record size that has one."""
    found = []
    for size in results.sizes:
        for goal in GOALS:
            (metric,) = goal_metrics(goal, results.objectives)
            try:
                each = recommend(results, size.record_bytes, goal)
            except NoFeasibleConfig:
                continue
            if not each.is_baseline and metric in each.gains and each.gains[metric].low > 1.0:
                found.append(Case(size.record_bytes, each, metric))
                break
        else:
            print(f"{size.record_bytes} B: the study recommends no config with a proven gain", file=sys.stderr)
    return found


def _again(study: str, case: Case) -> float:
    with tempfile.TemporaryDirectory(prefix="tuner-live-") as folder:
        file = Path(folder) / "recommended.properties"
        file.write_text("".join(f"{name}={value}\n" for name, value in case.found.config.values.items()))
        words = ["verify", str(file), "--study", study, "--record-bytes", case.record_bytes]
        words += ["--rounds", "2", "--max-rounds", "2", "--json"]
        run = subprocess.run(
            [TUNER, *words],
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
        )
        if not run.stdout:
            sys.exit(run.stderr)
        (size,) = json.loads(run.stdout)["sizes"]
    print(_summary(size, case.metric), file=sys.stderr, flush=True)
    gain: float = size["gains"][case.metric]["value"]
    return gain


def _summary(size: dict[str, Any], metric: str) -> str:
    values = [f"{size[side][metric]:.4g}" for side in ("baseline", "values")]
    return f"{size['record_bytes']} B {metric}: {' -> '.join(values)}, gain {size['gains'][metric]['value']:.2f}"


if __name__ == "__main__":
    run_benchmark(main)
