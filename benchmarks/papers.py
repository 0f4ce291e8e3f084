"""Runs the quick forms of all experiments that come with the tuner, and reports them as one page.

    python -m benchmarks.papers [--keep FOLDER]

The time counts from the start of the command to its end, with the start of each experiment's brokers. The results are
deleted, unless `--keep` names a new folder for them; there, `tuner experiment report NAME` shows them again.
"""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from benchmarks.evidence import add_keep, benchmark_parser, run_benchmark
from tuner.storage.home import ROOT_VARIABLE

MOST_MINUTES: Final = 40.0
_TUNER: Final = str(Path(sys.executable).with_name("tuner"))


def main() -> None:
    """Run the experiments, and print their report. The exit code is 1 if they took too long."""
    parser = benchmark_parser(__doc__)
    add_keep(parser, "the results")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="tuner-papers-") as folder:
        environ = {**os.environ, ROOT_VARIABLE: str(asked.keep or folder)}
        began_s = time.monotonic()
        _tuner(environ, "run", "papers", "--quick", "--no-mlflow")
        minutes = (time.monotonic() - began_s) / 60
        report = _tuner(environ, "report", "papers-quick", "--format", "markdown")
    met = minutes <= MOST_MINUTES
    goal = f"goal: at most {MOST_MINUTES:.0f}, {'met' if met else '**missed**'}"
    print(f"All together took {minutes:.0f} minutes ({goal}).\n")
    print(report)
    sys.exit(0 if met else 1)


def _tuner(environ: Mapping[str, str], *words: str) -> str:
    """Run a command of `tuner experiment`, and return what it printed; its progress goes to standard error."""
    command = [_TUNER, "experiment", *words]
    return subprocess.run(command, env=dict(environ), stdout=subprocess.PIPE, text=True, check=True).stdout


if __name__ == "__main__":
    run_benchmark(main)
