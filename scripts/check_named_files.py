"""Checks that every file of this project that the documents and pyproject.toml name exists."""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
_PLACES = ("search_spaces", "runners", "objectives", "tuner", "tests", "benchmarks", "scripts", "examples")
_NAMED = re.compile(rf"\b(?:{'|'.join(_PLACES)})/[\w./*-]*\.(?:py|csv|yaml|json)\b")


def main() -> int:
    """Print the names of missing files and return the exit status."""
    documents = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), ROOT / "pyproject.toml"]
    named = {
        (document.relative_to(ROOT), path)
        for document in documents
        for path in _NAMED.findall(document.read_text(encoding="utf-8"))
    }
    gone = sorted(
        f"{document} names {path}, which does not exist" for document, path in named if not any(ROOT.glob(path))
    )
    print("\n".join(gone) if gone else f"named files: all {len(named)} exist")
    return bool(gone)


if __name__ == "__main__":
    sys.exit(main())
