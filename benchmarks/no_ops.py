"""Checks that a real study recommends no change when no change can help.

python -m benchmarks.no_ops [--studies 5]

Each study starts a new embedded broker. It searches only one knob, which has no effect: `batch.num.messages`, with
values above the number of records that fit into `batch.size`. So every change that a study recommends is wrong.
"""

import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NoReturn

from benchmarks.evidence import benchmark_parser, run_benchmark, whole_number
from runners.workload import RecordSizes
from search_spaces.librdkafka.knobs import KNOBS
from search_spaces.space.parameters import KnobChange
from tuner.execution.studies.run import measure_study
from tuner.execution.studies.study_progress import SilentReporter
from tuner.model.errors import NoFeasibleConfig
from tuner.model.goals import Goal
from tuner.model.spec import ConfirmSpec, Executor, PhaseSpec, SearchSpec, StudySpec, WorkloadSpec
from tuner.model.trial import CONFIRMING_KINDS
from tuner.results.recommendations.recommend import recommend
from tuner.results.study_results import StudyResults

SEARCHED = "batch.num.messages"
NO_EFFECT = ("10000", "12000", "15000", "20000", "30000", "50000")
"""Values of `batch.num.messages` that all perform the same. The first is the client's default."""


def main() -> None:
    """Run the studies; the exit code is 1 if one of them recommends a change."""
    run_studies(__doc__, _spec, studies=5)


def run_studies(doc: str | None, spec_of: Callable[[int], StudySpec], *, studies: int) -> NoReturn:
    """Run studies in which no change can help; the exit code is 1 if one of them recommends a change.

    Args:
        doc: The docstring of the benchmark.
        spec_of: Returns the study of a seed.
        studies: Default number of studies.
    """
    parser = benchmark_parser(doc)
    parser.add_argument("--studies", type=whole_number, default=studies)
    asked = parser.parse_args()
    wrong = _changes_recommended([spec_of(seed) for seed in range(asked.studies)])
    print(f"\nStudies that recommend a change, although no change can help: {wrong} of {asked.studies} (goal: 0)")
    sys.exit(1 if wrong else 0)


def _changes_recommended(specs: Sequence[StudySpec]) -> int:
    """Run studies of one record size in which no change can help, and print what each of them found.

    Returns:
        How many studies recommend a change.
    """
    wrong = 0
    for number, spec in enumerate(specs):
        started = time.monotonic()
        with tempfile.TemporaryDirectory(prefix="tuner-no-ops-") as folder:
            results = measure_study(spec, "", Path(folder) / spec.name, SilentReporter())
        size = results.sizes[0]
        changed = [goal for goal in Goal if _recommends_change(results, goal)]
        wrong += bool(changed)
        gains = "; ".join(
            f"{metric} {ratio}" for each in size.confirmations for metric, ratio in each.gains.items() if each.goals
        )
        steps = sum(trial.kind in CONFIRMING_KINDS for trial in size.trials)
        print(
            f"- study {number}: recommends {', '.join(map(str, changed)) or 'to keep the baseline'}; "
            f"{len(size.trials)} trials, {steps} of them in the confirmation, {time.monotonic() - started:.0f} s; "
            f"gains in the confirmation: {gains or 'none was measured'}",
            flush=True,
        )
    return wrong


def _recommends_change(results: StudyResults, goal: Goal) -> bool:
    try:
        return not recommend(results, results.sizes[0].record_bytes, goal).is_baseline
    except NoFeasibleConfig as error:
        print(f"  goal {goal}: {error}", file=sys.stderr)
        return False


def _spec(seed: int) -> StudySpec:
    space = {name: KnobChange(off=True) for name in (knob.name for knob in KNOBS) if name != SEARCHED}
    space[SEARCHED] = KnobChange(choices=NO_EFFECT)
    load = WorkloadSpec((RecordSizes.fixed(1000),), saturate=PhaseSpec(1.0, 1.5), paced=PhaseSpec(1.0, 1.5), seed=seed)
    return StudySpec(
        f"no-ops-{seed}",
        load,
        space=space,
        search=SearchSpec(trials=8, baseline_every=4, burn_in_max=3, seed=seed),
        confirm=ConfirmSpec(rounds=6, max_rounds=8, nominees=1, nominee_repeats=0, undo_rounds=0),
        executor=Executor.LOCAL,
    )


if __name__ == "__main__":
    run_benchmark(main)
