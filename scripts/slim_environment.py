"""Removes from an environment what the container image never runs: half a gigabyte of code is load for every node.

    python scripts/slim_environment.py /opt/kafka-tuner

Whole parts only, each with the reason why nothing of ours reaches it. It fails when a part is
not there any more: then a new version has moved it, and this list is to be looked at.
"""

import shutil
import sys
from pathlib import Path
from typing import Final

_WITH_TESTS: Final = ("matplotlib", "numpy", "pandas", "scipy", "sklearn", "skops")
"""Packages that ship their own tests, in folders named `tests`."""

PARTS: Final = {
    "ray/jars": "workers written in Java",
    "ray/rllib": "Ray's reinforcement learning",
    "pyarrow": "tables in Arrow's format: MLflow wants it for models and data sets only, Ray and pandas do without",
    "pyarrow-*.dist-info": "what says that it is there",
    "plotly/labextension": "Plotly in notebooks",
}
"""Patterns below the packages' folder, and what lies there."""


def main() -> int:
    """Remove, and say how much; the exit status."""
    if len(sys.argv) != 2 or not (environment := Path(sys.argv[1])).is_dir():
        print("usage: slim_environment.py ENVIRONMENT")
        return 2
    (packages,) = environment.glob("lib/python3.*/site-packages")
    before = _bytes_in(packages)
    for pattern in PARTS:
        found = list(packages.glob(pattern))
        if not found:
            print(f"{pattern} must lie in {packages}, but does not: look at the list in {Path(__file__).name}")
            return 1
        for path in found:
            _remove(path)
    for package in _WITH_TESTS:
        for path in list((packages / package).rglob("tests")):
            _remove(path)
    print(f"removed {(before - _bytes_in(packages)) / 1e6:.0f} of {before / 1e6:.0f} MB")
    return 0


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _bytes_in(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file() and not path.is_symlink())


if __name__ == "__main__":
    sys.exit(main())
