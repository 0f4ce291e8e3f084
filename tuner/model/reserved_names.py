"""Files and folders that lie beside the folders of the studies. No study may have one of these names."""

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
