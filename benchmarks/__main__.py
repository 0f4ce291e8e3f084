"""Runs most benchmarks one after another.

    python -m benchmarks [generator] [java_generator] [paced] [latency_agreement] [memory] ... [--short] [--write]

A full run takes an hour or more. With `--short` it takes about 7 minutes, and only shows that the benchmarks work.
`--write` puts the results on the pages of docs/evidence. The other benchmarks are run by their own commands only, such
as `python -m benchmarks.papers`.
"""

import argparse
import shlex
import subprocess
import sys
from typing import Final

from benchmarks.evidence import WRITE, commands

PROGRAMS: Final[dict[str, tuple[str, ...]]] = {
    "generator": ("--rounds", "2", "--seconds", "1", "--warmup", "1"),
    "java_generator": ("--rounds", "2", "--seconds", "1", "--warmup", "1"),
    "consumer_generator": ("--rounds", "2", "--megabytes", "200", "--peers", "java"),
    "paced": ("--runs", "2", "--seconds", "3"),
    "latency_agreement": ("--runs", "1", "--seconds", "5"),
    "memory": ("--minutes", "0.5"),
    "overhead": ("--real-trials", "3", "--trials", "40", "--large", "300"),
    "end_to_end": ("--rounds", "1", "--records", "2000"),
    "prediction": (),
    "fetch_sizes": ("--rounds", "1", "--megabytes", "1000"),
    "inspection": ("--topics", "32", "--runs", "1"),
    "simulated_agreement": (),
    "racing": ("--seeds", "2", "--trials", "20"),
    "samplers": ("--short",),
    "service": ("--seconds", "20"),
    "zones": ("--seconds", "1"),
    "trust": ("--studies", "2", "--trials", "12"),
}
"""The benchmarks that are run, by name, each with the arguments that make it short for `--short`."""


def main() -> None:
    """Run the benchmarks that the command line names, or all.

    The exit code is 1 if one of them missed a goal or failed. Both end with the same exit code, so we don't know which.
    """
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", nargs="*", metavar="program", help="a benchmark to run (default: all)")
    parser.add_argument("--short", action="store_true", help="only show within minutes that the benchmarks work")
    parser.add_argument("--write", action="store_true", help="put the results on the pages of docs/evidence")
    asked = parser.parse_args()
    if asked.short and asked.write:
        parser.error("--write must not be given with --short, because short runs give no results")
    if unknown := sorted(set(asked.programs) - set(PROGRAMS)):
        parser.error(f"a program must be one of {', '.join(PROGRAMS)}, but got {', '.join(unknown)}")
    failed = []
    for name in asked.programs or PROGRAMS:
        print(f"\n## {name}\n", flush=True)
        runs = _runs(name, short=asked.short, write=asked.write)
        codes = [subprocess.run([sys.executable, "-m", *words], check=False).returncode for words in runs]
        if any(codes):
            failed.append(name)
    if failed:
        print(f"\nbenchmarks that missed a goal or ended with an error: {', '.join(failed)}")
        sys.exit(1)


def _runs(name: str, *, short: bool, write: bool) -> list[list[str]]:
    """Return the module and the arguments of each run of a benchmark.

    Args:
        name: Name of the benchmark.
        short: Whether to run it once, with few repeats.
        write: Whether to run it once for each place that the evidence pages have for it, with the arguments given
            there.
    """
    module = f"benchmarks.{name}"
    if write:
        placed = [shlex.split(command)[2:] for command in commands()]
        return [[*words, WRITE] for words in placed if words[0] == module]
    return [[module, *(PROGRAMS[name] if short else ())]]


if __name__ == "__main__":
    main()
