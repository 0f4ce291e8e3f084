"""Names of the files and folders in a study's folder."""

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
