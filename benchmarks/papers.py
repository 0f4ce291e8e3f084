"""Runs the quick versions of all experiments that come with the tuner, and reports them as one page.

    python -m benchmarks.papers [--keep FOLDER]
    python -m benchmarks.papers --full linkedin-consumers [--rounds 1] [--keep FOLDER]

The time counts from the start of the command to its end, with the start of each experiment's brokers. The results are
deleted, unless `--keep` names a new folder for them; there, `tuner experiment report NAME` shows them again. With
`--write`, a picture of each experiment is drawn into docs/pictures, too. `--full` runs the full version of one
experiment instead, which takes from 15 minutes to 22 hours (`tuner experiment list`).
"""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from benchmarks.evidence import PAGES, TUNER, add_keep, benchmark_parser, run_benchmark, whole_number
from tuner.experiment_file import paper_experiments
from tuner.present.report.experiment_pictures import draw_experiment
from tuner.results.experiments.experiment_results import load_experiment
from tuner.storage.locations import ROOT_VARIABLE
from tuner.study_file import QUICK_SUFFIX

MOST_MINUTES: Final = 40.0
METRICS_DRAWN: Final = 2
PICTURES: Final = PAGES.parent / "pictures"
_DIFFERENCE: Final = "- Differs from the paper: "


def main() -> None:
    """Run the experiments, and print their report. The exit code is 1 if they took too long."""
    parser = benchmark_parser(__doc__)
    add_keep(parser, "the results")
    parser.add_argument("--full", choices=paper_experiments(), metavar="NAME", help="run this experiment in full")
    parser.add_argument("--rounds", type=whole_number, help="with --full: how many rounds, instead of the file's")
    asked = parser.parse_args()
    if asked.rounds and not asked.full:
        parser.error("--rounds needs --full")
    with tempfile.TemporaryDirectory(prefix="tuner-papers-") as folder:
        root = asked.keep or Path(folder)
        environ = {**os.environ, ROOT_VARIABLE: str(root)}
        if asked.full:
            rounds = ["--rounds", str(asked.rounds)] if asked.rounds else []
            _tuner(environ, "run", asked.full, "--no-mlflow", *rounds)
            if asked.write:
                picture = PICTURES / f"{asked.full}-full.png"
                draw_experiment(load_experiment(root / asked.full), picture, most=METRICS_DRAWN)
            print(in_full(asked.full, _tuner(environ, "report", asked.full, "--format", "markdown")))
            return
        began_s = time.monotonic()
        _tuner(environ, "run", "papers", "--quick", "--no-mlflow")
        minutes = (time.monotonic() - began_s) / 60
        report = _tuner(environ, "report", "papers-quick", "--format", "markdown")
        if asked.write:
            for name in paper_experiments():
                results = load_experiment(root / f"{name}{QUICK_SUFFIX}")
                draw_experiment(results, PICTURES / f"{name}.png", most=METRICS_DRAWN)
    met = minutes <= MOST_MINUTES
    goal = f"goal: at most {MOST_MINUTES:.0f}, {'met' if met else '**missed**'}"
    print(f"All together took {minutes:.0f} minutes ({goal}).\n")
    print(with_pictures(report))
    sys.exit(0 if met else 1)


def in_full(name: str, report: str) -> str:
    """Return the report of the full version of an experiment with its picture.

    The differences from the paper are left out, because the report of the quick version lists them on the same page.
    """
    kept = "".join(line for line in report.splitlines(keepends=True) if not line.startswith(_DIFFERENCE))
    return f"### {name}\n\n![Metrics of {name}](../pictures/{name}-full.png)\n\n{kept}"


def with_pictures(report: str) -> str:
    """Return a report of several experiments with a picture below the heading of each."""
    for name in paper_experiments():
        heading = f"## {name}{QUICK_SUFFIX}\n"
        report = report.replace(heading, f"{heading}\n![Metrics of {name}](../pictures/{name}.png)\n")
    return report


def _tuner(environ: Mapping[str, str], *words: str) -> str:
    """Run a command of `tuner experiment`, and return what it printed; its progress goes to standard error."""
    command = [TUNER, "experiment", *words]
    return subprocess.run(command, env=dict(environ), stdout=subprocess.PIPE, text=True, check=True).stdout


if __name__ == "__main__":
    run_benchmark(main)
