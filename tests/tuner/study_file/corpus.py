"""The paths of the corpus of study files, and short functions to read study files."""

from pathlib import Path
from typing import Final

from tests.helpers.repository import ROOT
from tuner.model.spec import StudySpec
from tuner.study_file import parse_study, read_study_file

GOOD: Final = sorted((Path(__file__).parent / "good").glob("*.yaml"))
EXAMPLES: Final = sorted((ROOT / "examples").glob("*.yaml"))
SECRET: Final = "hunter2-and-more"
ENVIRON: Final = {"KAFKA_PASSWORD": SECRET, "SIZES": "100:70,1000:30", "PARTITIONS": "6"}
LEAST: Final = "workload: {record_bytes: 100}\n"


def load(name: str) -> StudySpec:
    """Return a study from the folder `good`, by the file's name without extension."""
    spec, _ = read_study_file(next(path for path in GOOD if path.stem == name), ENVIRON)
    return spec


def parse(text: str, **environ: str) -> StudySpec:
    """Return the study of a text, with these environment variables. The text may not name local files."""
    return parse_study(text, name="study", folder=None, origin="study.yaml", environ=environ)
