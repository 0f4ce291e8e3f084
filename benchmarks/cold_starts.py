"""Runs the quick-start study again and again on a cold machine, to see how often it is right, and how soon.

python -m benchmarks.cold_starts [--starts 10] [--keep FOLDER]

Each start is a new process with a new broker, in a new folder. Before each start the operating system drops its file
caches, if this user has the right to request that. The first baseline should have the throughput that the baseline has
in the rounds of the confirmation, because the search compares all configs with the first baseline. The time to a
recommendation is counted from the start of the process to the end of the last trial that the recommendation needs. The
studies are deleted, unless `--keep` names a new folder for them.
"""

import math
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from benchmarks.evidence import TUNER, add_keep, benchmark_parser, run_benchmark, whole_number
from tuner.model.errors import ExitCode, NoFeasibleConfig
from tuner.model.trial import CONFIRMING_KINDS
from tuner.present.recommendations.recommendation_words import in_short
from tuner.results.recommendations.recommend import recommend
from tuner.results.study_results import SizeResults, StudyResults, load_results

STUDY: Final = Path(__file__).parents[1] / "examples" / "quickstart.yaml"
HEAD: Final = (
    "| start | record | baseline at first, MB/s | in the rounds, MB/s | ratio | recommendation | known after |\n"
    "| ---: | ---: | ---: | ---: | ---: | --- | ---: |"
)
_DROP_CACHES: Final = Path("/proc/sys/vm/drop_caches")
_NEAR_RATIO: Final = 0.10
_GOAL_NEAR_SHARE: Final = 0.9
_GOAL_PROVEN_SHARES: Final[Mapping[str, float]] = {"1000": 1.0, "100": 0.8}
"""The share of the starts in which a recommendation must be proven, by record size."""
_GOAL_FIRST_S: Final = 240.0
_GOAL_ALL_S: Final = 420.0
_USERS: Final = ("KAFKA_TUNER_STUDIES", "KAFKA_TUNER_STORAGE", "MLFLOW_TRACKING_URI")
"""Environment variables that would make the studies be stored among the user's studies."""


@dataclass(frozen=True, slots=True)
class Found:
    """The results of one start for one record size.

    Attributes:
        record_bytes: The record size.
        first_mb_per_s: Throughput of the first baseline trial; NaN if there is none.
        rounds_mb_per_s: Throughput of the baseline in the confirmation; NaN if it was not measured there.
        proven: Whether the recommended config is proven better than the baseline.
        advice: The recommendation in words.
        known_s: Seconds from the start of the process to the last trial of the confirmation; infinite if there is none.
    """

    record_bytes: str
    first_mb_per_s: float
    rounds_mb_per_s: float
    proven: bool
    advice: str
    known_s: float

    @property
    def ratio(self) -> float:
        """The throughput of the first baseline trial, divided by the baseline's throughput in the rounds."""
        return self.first_mb_per_s / self.rounds_mb_per_s

    @property
    def near(self) -> bool:
        """Whether the first baseline is within 10 % of the baseline in the rounds."""
        return abs(self.ratio - 1) <= _NEAR_RATIO


@dataclass(frozen=True, slots=True)
class Goal:
    """A statement that should hold in most starts, and the number of starts in which it holds.

    Attributes:
        what: The statement.
        holds: The number of starts in which the statement holds.
        starts: The number of starts.
        share: The share of the starts in which the statement should hold.
    """

    what: str
    holds: int
    starts: int
    share: float = 1.0

    @property
    def met(self) -> bool:
        """Whether the goal is met."""
        return self.holds >= self.share * self.starts

    def __str__(self) -> str:
        """Return the goal in words."""
        met = "met" if self.met else "**missed**"
        return f"{self.what}: {self.holds} of {self.starts} (goal: {100 * self.share:.0f} %, {met})"


def main() -> None:
    """Run the study from cold starts. The exit code is 1 if a goal is missed."""
    parser = benchmark_parser(__doc__)
    parser.add_argument("--starts", type=whole_number, default=10, help="how often to run the study (default 10)")
    add_keep(parser, "the studies of the starts")
    asked = parser.parse_args()
    starts: list[list[Found]] = []
    for number in range(asked.starts):
        dropped = _drop_caches()
        if not number:
            print(f"Caches of files dropped before each start: {'yes' if dropped else 'no, only root may'}.\n\n{HEAD}")
        with tempfile.TemporaryDirectory(prefix="tuner-cold-") as folder:
            starts.append(_start(Path(folder)))
            if asked.keep:
                shutil.copytree(folder, asked.keep / f"start-{number}")
        print(*table(number, starts[-1]), sep="\n", flush=True)
    print()
    reached = goals(starts)
    for goal in reached:
        print(f"- {goal}")
    sys.exit(0 if all(goal.met for goal in reached) else 1)


def found_in(results: StudyResults, began: datetime) -> list[Found]:
    """Return what a study found for each record size.

    Args:
        results: The results of the study.
        began: When the process of the study was started.
    """
    return [_found(results, size, began) for size in results.sizes]


def table(number: int, found: Sequence[Found]) -> list[str]:
    """Return the table rows of one start, for the table with the head `HEAD`."""
    return [
        f"| {number} | {each.record_bytes} | {each.first_mb_per_s:.0f} | {each.rounds_mb_per_s:.0f} | {each.ratio:.2f} "
        f"| {each.advice} | {each.known_s:.0f} s |"
        for each in found
    ] or [f"| {number} | | | | | the study failed | |"]


def goals(starts: Sequence[Sequence[Found]]) -> list[Goal]:
    """Return each goal with its result.

    Args:
        starts: The results of each start by record size; empty for a start whose study failed.
    """
    all_starts, reached = len(starts), []
    for record_bytes, share in _GOAL_PROVEN_SHARES.items():
        of_size = [each for found in starts for each in found if each.record_bytes == record_bytes]
        near, proven = sum(each.near for each in of_size), sum(each.proven for each in of_size)
        reached += [
            Goal(
                f"{record_bytes} B: first baseline within {100 * _NEAR_RATIO:.0f} % of the baseline in the rounds",
                near,
                all_starts,
                _GOAL_NEAR_SHARE,
            ),
            Goal(f"{record_bytes} B: recommends a config that is proven better", proven, all_starts, share),
        ]
    times = [sorted(each.known_s for each in found) for found in starts if found]
    soon, done = sum(each[0] <= _GOAL_FIRST_S for each in times), sum(each[-1] <= _GOAL_ALL_S for each in times)
    return [
        *reached,
        Goal(f"first recommendation within {_GOAL_FIRST_S / 60:.0f} minutes", soon, all_starts),
        Goal(f"all recommendations within {_GOAL_ALL_S / 60:.0f} minutes", done, all_starts),
    ]


def _found(results: StudyResults, size: SizeResults, began: datetime) -> Found:
    ends = [
        datetime.fromisoformat(trial.started_at) + timedelta(seconds=trial.duration_s)
        for trial in size.trials
        if trial.kind in CONFIRMING_KINDS
    ]
    again = size.remeasured_baseline
    proven, advice = _recommended(results, size.record_bytes)
    return Found(
        size.record_bytes,
        size.baseline.metrics["mb_per_s"] if size.baseline else math.nan,
        again.metrics["mb_per_s"] if again else math.nan,
        proven,
        advice,
        (max(ends) - began).total_seconds() if ends else math.inf,
    )


def _recommended(results: StudyResults, record_bytes: str) -> tuple[bool, str]:
    try:
        found = recommend(results, record_bytes)
    except NoFeasibleConfig as error:
        return False, str(error)
    return found.proven, in_short(found) if found.proven else "none is proven"


def _start(folder: Path) -> list[Found]:
    """Run the study in a new process and a new folder, and return what it found; nothing if it failed."""
    began = datetime.now(UTC)
    run = subprocess.run(
        [TUNER, "run", str(STUDY)],
        cwd=folder,
        env={name: value for name, value in os.environ.items() if name not in _USERS},
        capture_output=True,
        text=True,
        check=False,
    )
    if run.returncode not in (ExitCode.DONE, ExitCode.NO_FEASIBLE_CONFIG):
        print(run.stderr, file=sys.stderr, flush=True)
        return []
    return found_in(load_results(folder / "studies" / STUDY.stem), began)


def _drop_caches() -> bool:
    """Let the operating system drop its file caches, and return whether this user has the right to request that."""
    os.sync()
    try:
        _DROP_CACHES.write_text("3")
    except OSError:
        return False
    return True


if __name__ == "__main__":
    run_benchmark(main)
