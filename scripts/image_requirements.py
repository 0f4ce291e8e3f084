"""Prints what the container image installs besides ourselves: our dependencies, and the extras that a service needs.

From pyproject.toml alone, so that a layer of the image that holds them is built anew only when they change.
"""

import sys
import tomllib
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[1] / "pyproject.toml"
EXTRAS = ("postgres",)  # studies in a database that several hosts share


def requirements() -> list[str]:
    """One requirement a line, as pip reads them."""
    project = tomllib.loads(PROJECT.read_text(encoding="utf-8"))["project"]
    extras = project.get("optional-dependencies", {})
    return [*project["dependencies"], *(each for name in EXTRAS for each in extras.get(name, ()))]


if __name__ == "__main__":
    sys.stdout.write("".join(f"{each}\n" for each in requirements()))
