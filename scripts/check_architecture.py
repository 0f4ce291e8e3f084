"""Checks that docs/ARCHITECTURE.md names each module of the packages, and no module that is gone."""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "ARCHITECTURE.md"
PACKAGES = ("search_spaces", "runners", "objectives", "tuner")


def main() -> int:
    """Print what differs; the exit status."""
    files = {file.name for package in PACKAGES for file in (ROOT / package).rglob("*.py")} - {"__init__.py"}
    scripts = {file.name for file in (ROOT / "scripts").glob("*.py")}
    named = set(re.findall(r"`(?:[\w/]+/)?(\w+\.py)`", PAGE.read_text(encoding="utf-8")))
    missing, gone = sorted(files - named), sorted(named - files - scripts)
    for label, names in (("does not name", missing), ("names what is gone:", gone)):
        if names:
            print(f"{PAGE.relative_to(ROOT)} {label} {', '.join(names)}")
    if missing or gone:
        return 1
    print(f"architecture: {len(files)} modules, each with its place in {PAGE.name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
