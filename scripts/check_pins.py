"""Checks that constraints.txt pins each package that this environment has for the project, at its version.

A dependency added to pyproject.toml without `make lock` would be installed at whatever version is newest on the day.
"""

import sys
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

CONSTRAINTS = Path(__file__).resolve().parents[1] / "constraints.txt"


def main() -> int:
    """Print what is not pinned; the exit status."""
    pins = read_pins(CONSTRAINTS.read_text(encoding="utf-8"))
    wrong = []
    for name, version in sorted(installed_for("kafka-tuner", {"dev"}).items()):
        pinned = pins.get(name)
        if pinned is None:
            wrong.append(f"{name} {version} is installed but not pinned")
        elif pinned != version:
            wrong.append(f"{name} is pinned to {pinned}, but {version} is installed")
    if wrong:
        print(
            "constraints.txt must pin what is installed:",
            *wrong,
            "Run `make lock`, or `make test` for the pins there are.",
            sep="\n  ",
        )
        return 1
    print(f"pins: {len(pins)} packages, all as constraints.txt says")
    return 0


def read_pins(text: str) -> dict[str, str]:
    """Canonical name to version, of each `name==version` line."""
    lines = (line.partition("#")[0].strip() for line in text.splitlines())
    pairs = (line.split("==", 1) for line in lines if line)
    return {canonicalize_name(name): version for name, version in pairs}


def installed_for(project: str, extras: set[str]) -> dict[str, str]:
    """Canonical name to version, of each package that the project needs here, itself left out."""
    found: dict[str, str] = {}
    seen: set[tuple[str, str]] = set()
    waiting = [(project, extra) for extra in ("", *extras)]
    while waiting:
        name, extra = waiting.pop()
        if (name, extra) in seen:
            continue
        seen.add((name, extra))
        package = distribution(name)
        if name != project:
            found[name] = package.version
        waiting += [step for requirement in _requirements(package, extra) for step in _steps(requirement)]
    return found


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
