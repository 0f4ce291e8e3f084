"""Runs the benchmarks one after another.

    python -m benchmarks [generator] [paced] [latency_agreement] [memory] [overhead] [--short] [--write]

All of them take an hour or more. `--short` takes about 7 minutes and only shows that they work. `--write` puts the
results on the pages of docs/evidence.
"""

import argparse
import subprocess
import sys
from typing import Final

PROGRAMS: Final[dict[str, tuple[str, ...]]] = {
    "generator": ("--rounds", "2", "--seconds", "1", "--warmup", "1"),
    "paced": ("--runs", "2", "--seconds", "3"),
    "latency_agreement": ("--runs", "1", "--seconds", "5"),
    "memory": (
        "--minutes",
        "0.5",
    ),
    "overhead": ("--real-trials", "3", "--trials", "40", "--large", "300"),
    "simulated_agreement": (),
    "racing": ("--seeds", "2", "--trials", "20"),
    "samplers": ("--short",),
    "service": ("--seconds", "20"),
    "trust": ("--studies", "2", "--trials", "12"),
}
"""Each benchmark with its arguments for `--short`."""


def main() -> None:
    """Run the named benchmarks, or all; the exit code is 1 if one of them missed a goal."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", nargs="*", metavar="program", help="all by default")
    parser.add_argument("--short", action="store_true", help="show only that they work, in minutes")
    parser.add_argument("--write", action="store_true", help="put the results on the pages of docs/evidence")
    asked = parser.parse_args()
    if unknown := sorted(set(asked.programs) - set(PROGRAMS)):
        parser.error(f"programs are {', '.join(PROGRAMS)}, not {', '.join(unknown)}")
    missed = []
    for name in asked.programs or PROGRAMS:
        print(f"\n## {name}\n", flush=True)
        words = PROGRAMS[name] if asked.short else ("--write",) if asked.write else ()
        if subprocess.run([sys.executable, "-m", f"benchmarks.{name}", *words], check=False).returncode:
            missed.append(name)
    if missed:
        print(f"\nmissed a goal: {', '.join(missed)}")
        sys.exit(1)


if __name__ == "__main__":
    main()
