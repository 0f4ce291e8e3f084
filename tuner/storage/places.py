"""Names on this host: the folder of all studies, and what lies in a study's own."""

import os
from pathlib import Path
from typing import Final

ROOT_VARIABLE: Final = "KAFKA_TUNER_STUDIES"
RESULTS_FILE: Final = "results.db"
STUDY_FILE: Final = "study.yaml"


def studies_root() -> Path:
    """The folder of all studies: `$KAFKA_TUNER_STUDIES`, else `studies` below the working directory."""
    return Path(os.environ.get(ROOT_VARIABLE) or "studies").expanduser().absolute()


def size_name(record_bytes: str) -> str:
    """A record size or mix as part of a file's name: `100-0.7_1000-0.3`."""
    return record_bytes.replace(":", "-").replace(",", "_")
