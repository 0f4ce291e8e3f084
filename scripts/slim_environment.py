"""Removes parts of an environment that the container image never runs, to save half a gigabyte per node.

    python scripts/slim_environment.py /opt/kafka-tuner

Only whole parts are removed, and the list in this script describes each part. The script fails if a part is missing,
because then a new version of the package has moved it, and the list must be revised.
"""

import shutil
import sys
from pathlib import Path
from typing import Final

_WITH_TESTS: Final = ("matplotlib", "numpy", "pandas", "scipy", "sklearn", "skops")
"""Packages that contain their tests, in folders named `tests`, which are removed."""

PARTS: Final = {
    "ray/jars": "workers written in Java",
    "ray/rllib": "Ray's reinforcement learning",
    "pyarrow": "tables in Arrow's format: MLflow needs it for models and data sets only, Ray and pandas work without",
    "pyarrow-*.dist-info": "the metadata of pyarrow",
    "plotly/labextension": "Plotly in notebooks",
}
"""The parts to remove, as patterns below the folder of packages, each with a description."""


def main() -> int:
    """Remove the parts of the environment, print how many MB were removed, and return the exit status."""
    if len(sys.argv) != 2 or not (environment := Path(sys.argv[1])).is_dir():
        print("usage: slim_environment.py ENVIRONMENT")
        return 2
    (packages,) = environment.glob("lib/python3.*/site-packages")
    before = _bytes_in(packages)
    for pattern in PARTS:
        paths = list(packages.glob(pattern))
        if not paths:
            print(f"{packages} must contain {pattern}, but does not; revise the list in {Path(__file__).name}")
            return 1
        for path in paths:
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
