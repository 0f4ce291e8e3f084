"""Prints the requirements of the container image: the project's dependencies, and the extras that a service needs.

The list depends only on pyproject.toml. So the image's layer with the dependencies is rebuilt only when they change.
"""

import sys
import tomllib
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[1] / "pyproject.toml"
EXTRAS = ("postgres",)  # studies in a database that several hosts share


def requirements() -> list[str]:
    """Return the requirements of the container image, in pip's format."""
    project = tomllib.loads(PROJECT.read_text(encoding="utf-8"))["project"]
    extras = project.get("optional-dependencies", {})
    return [*project["dependencies"], *(each for name in EXTRAS for each in extras.get(name, ()))]


if __name__ == "__main__":
    sys.stdout.write("".join(f"{each}\n" for each in requirements()))
