"""Counts how many trials samplers need, on simulated clusters with known best configs and on a measured table.

python -m benchmarks.samplers [--seeds 20] [--first-seed 0] [--trials 100] [--samplers "bayesian;tpe"]
    [--problems "embedded:1000;remote:10000;table"] [--noise 0.05] [--processes 1] [--one-table] [--json FILE]
python -m benchmarks.samplers --merge FILE... [--one-table] [--json FILE]
python -m benchmarks.samplers --ask-at 2000
python -m benchmarks.samplers --grids 3,4,5
python -m benchmarks.samplers --short

A problem has one of these forms. `embedded:1000` is a simulated cluster with a record size. `embedded:1000:100` is the
same, but 40 trials with records of 100 B come first, and their front is used as starting points. `embedded:1000/3` has
three producers. The names with `table` are measured grids (`benchmarks.problems.searched.TABLES`): `table` has 1 kB
records, and `java-table:100` has the Java client and records of 100 B. In `java-table/median`, the latency that is
optimised is the median in place of the p99.

Trials are counted as in a study. Trial 0 is the baseline (the client's defaults), which is measured again every ten
trials, and samplers that learn begin with the starting points. The sampler gets values with noise, but the search is
judged by true values. Its score is the area under its front, in logarithms of gains over the defaults, relative to the
best possible area. The exit code is 1 if the default sampler misses its goal with 20 seeds or more.
"""

import argparse
import sys
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from benchmarks.evidence import benchmark_parser, run_benchmark, whole_number
from benchmarks.problems.searched import TABLES, Problem, Volume, problem_of
from benchmarks.searches.entries import ENTRIES, NEEDED
from benchmarks.searches.search_runs import StoredSearch, ask_costs_s, stored_search
from benchmarks.searches.tables import load, missed, one_table, save, tables
from runners.errors import WorkloadRefused
from search_spaces.configs.producer_config import ProducerConfig

PROBLEMS: Final = ("embedded:1000", "embedded:10000", "remote:1000", "remote:10000", "table")
SHORT: Final = ("random", "shuffled grid", "quasi-random", "nsga2", "tpe", "bayesian")
_SHORT_SEEDS: Final = 3
_SHORT_TRIALS: Final = 30


def main() -> None:
    """Run the comparison, or another measurement that an option asks for, and print the result as Markdown."""
    parser = benchmark_parser(__doc__)
    parser.add_argument("--seeds", type=whole_number, default=20)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--trials", type=whole_number, default=100)
    parser.add_argument("--samplers", help="names of samplers, separated by ; (default: all that can run)")
    parser.add_argument("--problems", default=";".join(PROBLEMS), help="names of problems, separated by ;")
    parser.add_argument("--noise", type=float, default=0.05)
    parser.add_argument("--processes", type=whole_number, default=1)
    parser.add_argument("--json", type=Path, help="file to which the searches are written, for a later --merge")
    parser.add_argument(
        "--merge", type=Path, nargs="+", help="print the searches in these files instead of running new ones"
    )
    parser.add_argument(
        "--ask-at", type=whole_number, help="only measure the time of a proposal after this many trials"
    )
    parser.add_argument("--grids", help="only print the area that grids with this many steps per knob cover: 3,4,5")
    parser.add_argument("--one-table", action="store_true", help="print one table of all problems, with fewer columns")
    parser.add_argument("--short", action="store_true", help="only show that the benchmark works, with few trials")
    asked = parser.parse_args()
    try:
        for name in asked.problems.split(";"):
            problem_of(name, asked.noise)
    except (ValueError, WorkloadRefused) as error:
        parser.error(f"--problems: {error}")
    if missing := [str(file) for file in asked.merge or () if not file.is_file()]:
        parser.error(f"--merge: no such file: {', '.join(missing)}")
    if asked.ask_at:
        _print_costs(asked.ask_at)
        return
    if asked.grids:
        steps = asked.grids.split(",")
        if wrong := [each for each in steps if not each.isdecimal() or int(each) < 2]:
            parser.error(f"--grids must be whole numbers from 2, separated by commas, but got {', '.join(wrong)}")
        _print_grids(asked.problems.split(";"), [int(each) for each in steps])
        return
    if asked.short:
        asked.seeds, asked.trials = _SHORT_SEEDS, _SHORT_TRIALS
    names = asked.samplers.split(";") if asked.samplers else list(SHORT if asked.short else ENTRIES)
    if unknown := [name for name in names if name not in ENTRIES]:
        parser.error(f"--samplers must be among {'; '.join(ENTRIES)}, but got {'; '.join(unknown)}")
    searches = [each for file in asked.merge for each in load(file)] if asked.merge else list(_searches(asked, names))
    if asked.json:
        save(asked.json, searches)
    print(one_table(searches) if asked.one_table else tables(searches))
    if misses := missed(searches):
        print("\n".join(misses))
        sys.exit(1)


def _searches(asked: argparse.Namespace, names: list[str]) -> Iterator[StoredSearch]:
    seeds = range(asked.first_seed, asked.first_seed + asked.seeds)
    for name, modules in NEEDED.items():
        missing = [module for module in modules if find_spec(module) is None]
        if name in names and missing:
            print(f"{name} is left out, because it needs {' and '.join(missing)}, not installed here", flush=True)
            names = [each for each in names if each != name]
    tasks = [
        (problem, name, seed, asked.trials, asked.noise)
        for problem in asked.problems.split(";")
        for name in names
        for seed in seeds
    ]
    if asked.processes == 1:
        yield from map(stored_search, tasks)
        return
    with ProcessPoolExecutor(asked.processes) as pool:
        yield from pool.map(stored_search, tasks, chunksize=max(1, asked.seeds))


def _print_grids(names: list[str], every_steps: list[int]) -> None:
    """Print the share of the best area that whole grids cover.

    Args:
        names: The names of the problems.
        every_steps: Numbers of steps per knob. Each makes one grid, in addition to that of sensible configs.
    """
    print("| problem | grid | configs | area |\n| --- | --- | ---: | ---: |")
    for name in (name for name in names if name not in TABLES):
        problem = problem_of(name, 0.05)
        best = problem.best_volume()
        grids: dict[str, Iterable[ProducerConfig]] = {"sensible": problem.grid()}
        grids |= {f"{steps} steps": problem.space.grid(steps) for steps in every_steps}
        for grid, configs in grids.items():
            volume, area, count = Volume(), 0.0, 0
            for count, config in enumerate(configs, start=1):  # noqa: B007 - its last value is the number of configs
                area = volume.add(problem.gains(config))
            print(f"| `{name}` | {grid} | {count:,} | {area / best:.2f} |", flush=True)


def _print_costs(trials: int) -> None:
    """Print the time that proposals take after the given number of trials, for each sampler."""
    problem: Problem = problem_of(PROBLEMS[0], 0.05)
    print(f"| sampler | ms per proposal after {trials:,} trials: median | longest of 20 |\n| --- | --- | --- |")
    for name in ("tpe", "bayesian"):
        costs_s = sorted(ask_costs_s(problem, ENTRIES[name], trials))
        print(f"| {name} | {1e3 * costs_s[len(costs_s) // 2]:.0f} | {1e3 * costs_s[-1]:.0f} |", flush=True)


if __name__ == "__main__":
    run_benchmark(main)
