"""Checks that constraints.txt pins every installed package that the project needs, at its installed version.

If somebody adds a dependency to pyproject.toml without `make lock`, it is installed at the newest version of the day.
A package may also need a newer Python than the oldest that the project supports, such as the 3.11.2 of Debian 12.
"""

import sys
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

OLDEST_PYTHON = "3.11.0"
CONSTRAINTS = Path(__file__).resolve().parents[1] / "constraints.txt"


def main() -> int:
    """Print the packages with a wrong pin or with none, and return the exit status."""
    pins = read_pins(CONSTRAINTS.read_text(encoding="utf-8"))
    wrong = []
    for name, version in sorted(installed_for("kafka-tuner", {"dev"}).items()):
        pinned = pins.get(name)
        if pinned is None:
            wrong.append(f"{name} {version} is installed but not pinned")
        elif pinned != version:
            wrong.append(f"{name} is pinned to {pinned}, but {version} is installed")
        python = distribution(name).metadata["Requires-Python"] or ""
        if OLDEST_PYTHON not in SpecifierSet(python):
            wrong.append(f"{name} {version} needs Python {python}: pin a version that runs on {OLDEST_PYTHON}")
    if wrong:
        print(
            "constraints.txt must pin the installed packages:",
            *wrong,
            "Run `make lock` to pin the installed packages, or `make test` to install the pinned ones.",
            sep="\n  ",
        )
        return 1
    print(f"pins: constraints.txt has {len(pins)} packages and pins everything that is installed for the project")
    return 0


def read_pins(text: str) -> dict[str, str]:
    """Return the pinned version of each package, by canonical name, from lines of the form `name==version`."""
    lines = (line.partition("#")[0].strip() for line in text.splitlines())
    pairs = (line.split("==", 1) for line in lines if line)
    return {canonicalize_name(name): version for name, version in pairs}


def installed_for(project: str, extras: set[str]) -> dict[str, str]:
    """Return the version of every installed package that the project needs, by canonical name.

    The project itself is left out.
    """
    versions: dict[str, str] = {}
    visited: set[tuple[str, str]] = set()
    waiting = [(project, extra) for extra in ("", *extras)]
    while waiting:
        name, extra = waiting.pop()
        if (name, extra) in visited:
            continue
        visited.add((name, extra))
        package = distribution(name)
        if name != project:
            versions[name] = package.version
        waiting += [step for requirement in _requirements(package, extra) for step in _steps(requirement)]
    return versions


def _requirements(package: Distribution, extra: str) -> list[Requirement]:
    requirements = [Requirement(text) for text in package.requires or []]
    return [r for r in requirements if r.marker is None or r.marker.evaluate({"extra": extra})]


def _steps(requirement: Requirement) -> list[tuple[str, str]]:
    name = canonicalize_name(requirement.name)
    try:
        distribution(name)
    except PackageNotFoundError:
        sys.exit(f"{name} is needed but not installed; run `make test`, which installs it.")
    return [(name, extra) for extra in ("", *requirement.extras)]


if __name__ == "__main__":
    sys.exit(main())
