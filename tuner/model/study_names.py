"""Names that the tuner gives to studies, and names that no study may have."""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Final

TOKENS_FILE: Final = "tokens.json"
QUEUE_FILE: Final = "service.db"
MLFLOW_FILE: Final = "mlflow.db"
MLFLOW_ARTIFACTS: Final = "mlartifacts"
RESERVED_NAMES: Final = frozenset(
    {TOKENS_FILE, MLFLOW_ARTIFACTS}
    # Source: "Temporary Files Used By SQLite", sections 2.1 to 2.3.
    | {f"{file}{end}" for file in (QUEUE_FILE, MLFLOW_FILE) for end in ("", "-journal", "-wal", "-shm")}
)
"""Names of files and folders that lie beside the folders of the studies."""


def verification_stem(file: str) -> str:
    """Return what the names of the studies that verify a file begin with: `verify-new` for `new.properties`."""
    return f"verify-{re.sub(r'[^A-Za-z0-9_.-]+', '-', Path(file).stem)}"[:80]


def numbered_name(stem: str, taken: Iterable[str]) -> str:
    """Return `STEM-1`, or the name with the next number that is not taken."""
    alike = {name for name in taken if name.startswith(stem)}
    return next(name for number in range(1, len(alike) + 2) if (name := f"{stem}-{number}") not in alike)
