"""The results store: the truth about a study. What stands here was measured; all else is made from it.

The seam is in `tuner.storage.protocols`, its implementations beside it; these are the names that the study's own parts
use.
"""

from tuner.storage.files import read_progress, write_atomically, write_progress
from tuner.storage.places import STUDY_FILE
from tuner.storage.protocols import ResultsStore
from tuner.storage.sqlite import SCHEMA_VERSION, SqliteStore

__all__ = [
    "SCHEMA_VERSION",
    "STUDY_FILE",
    "ResultsStore",
    "SqliteStore",
    "read_progress",
    "write_atomically",
    "write_progress",
]
