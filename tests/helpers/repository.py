"""The paths of the repository and of the files that tests of several packages read from it."""

from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
KEPT_STUDIES: Final = ROOT / "tests" / "tuner" / "storage" / "kept"
"""Studies, and databases, that earlier releases have stored."""
