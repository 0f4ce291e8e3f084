"""Names of the files in and beside a study's folder, and the names that the tuner gives to studies."""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Final

# The results, if the study is stored in folders.
RESULTS_FILE: Final = "results.db"
TRIALS_FOLDER: Final = "trials"
PROGRESS_FILE: Final = "progress.json"
LOCK_FILE: Final = "lock/study.lock"
STUDY_FILE: Final = "study.yaml"
"""The study file. A shared storage has its text; then only `tuner fork` writes this copy."""

# Files that can be made again from the results, and Ray's token.
REPORT_FILE: Final = "report.html"
RECOMMENDED: Final = "recommended"
RAY_FOLDER: Final = "ray"
BESIDE_RESULTS: Final = (REPORT_FILE, RECOMMENDED, RAY_FOLDER)
"""Files and folders in a study's folder besides the results. They are removed together with the study."""

# Files that the service writes.
SUBMITTED_FILE: Final = "submitted.yaml"
"""The study file as a client of the service submitted it."""
LOG_FILE: Final = "service.log"
OLD_LOG_FILE: Final = "service.old.log"
PROCESS_FILE: Final = "service-process.json"
OUTCOME_FILE: Final = "service-outcome.json"
TASK_FILE: Final = "service-task.json"
SERVICE_FILES: Final = (LOG_FILE, OLD_LOG_FILE, SUBMITTED_FILE, PROCESS_FILE, OUTCOME_FILE, TASK_FILE)

# Files and folders beside the folders of the studies.
TOKENS_FILE: Final = "tokens.json"
QUEUE_FILE: Final = "service.db"
MLFLOW_FILE: Final = "mlflow.db"
MLFLOW_ARTIFACTS: Final = "mlartifacts"
RESERVED_NAMES: Final = frozenset(
    {TOKENS_FILE, MLFLOW_ARTIFACTS}
    # Source: "Temporary Files Used By SQLite", sections 2.1 to 2.3.
    | {f"{file}{end}" for file in (QUEUE_FILE, MLFLOW_FILE) for end in ("", "-journal", "-wal", "-shm")}
)
"""Names that no study may have, because files or folders beside the studies have them."""


def verification_stem(file: str) -> str:
    """Return the beginning of the names of studies that verify a file: `verify-new` for `new.properties`."""
    return f"verify-{re.sub(r'[^A-Za-z0-9_.-]+', '-', Path(file).stem)}"[:80]


def numbered_name(stem: str, taken: Iterable[str]) -> str:
    """Return `STEM-1`, or the name with the next number that is not taken."""
    alike = {name for name in taken if name.startswith(stem)}
    return next(name for number in range(1, len(alike) + 2) if (name := f"{stem}-{number}") not in alike)
