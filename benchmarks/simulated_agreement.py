"""Computes how well the simulated cluster ranks configs that were really measured.

python -m benchmarks.simulated_agreement [--table FILE]... [--cluster NAME]

A preset is a set of constants of the simulated cluster. The benchmark compares tables 14 to 22 of the VU thesis with
the preset for its Java client. It compares the grid that we measured on an embedded broker with the preset for that
broker. With `--table`, it also compares your table, a CSV file as `benchmarks.problems.table` describes it, with the
preset of `--cluster`. It prints Spearman's rank correlation, over all configs and as the mean within record sizes. The
goal is 0.7 for each objective.
"""

import sys
from pathlib import Path
from typing import Final

from benchmarks.evidence import benchmark_parser, run_benchmark
from benchmarks.problems.agreement import agreements
from benchmarks.problems.clusters import JAVA_LAPTOP, PRESETS
from benchmarks.problems.table import MeasuredTable, UnreadableTable, embedded_grid, thesis_tables
from runners.performance_model.constants import EMBEDDED, ClusterConstants

GOAL: Final = 0.7
OBJECTIVES: Final = ("mb_per_s", "latency_p99_ms", "saturated_latency_mean_ms")
"""The metrics that have a goal: the objectives of a study, and the only latency that the thesis has."""


def main() -> None:
    """Print the correlations. The exit code is 1 if a correlation misses the goal, and 2 if a table can't be read."""
    parser = benchmark_parser(__doc__)
    parser.add_argument("--table", type=Path, action="append", default=[], help="a measured table of your own")
    parser.add_argument(
        "--cluster", choices=sorted(PRESETS), default=EMBEDDED.name, help="the preset with which --table is compared"
    )
    asked = parser.parse_args()
    try:
        compared = [(thesis_tables(), JAVA_LAPTOP), (embedded_grid(), EMBEDDED)]
        compared += [(MeasuredTable.load(path), PRESETS[asked.cluster]) for path in asked.table]
    except UnreadableTable as error:
        print(error, file=sys.stderr)
        sys.exit(2)
    met = [_shown(table, cluster) for table, cluster in compared]
    sys.exit(0 if all(met) else 1)


def _shown(table: MeasuredTable, cluster: ClusterConstants) -> bool:
    print(f"{table.title}: {len(table.rows)} rows, compared with the preset {cluster.name}\n")
    print("| metric | configs | correlation | within record sizes |\n| --- | ---: | ---: | ---: |")
    found = agreements(table, cluster)
    for each in found:
        print(f"| {each.metric} | {each.configs} | {each.correlation:.3f} | {each.within_sizes:.3f} |")
    print()
    judged = [each.correlation for each in found if each.metric in OBJECTIVES]
    return bool(judged) and all(correlation >= GOAL for correlation in judged)


if __name__ == "__main__":
    run_benchmark(main)
