"""Where the corpus stands, and short ways to read it."""

from pathlib import Path
from typing import Final

from tuner.model.spec import StudySpec
from tuner.study_file import load_study, parse_study

GOOD: Final = sorted((Path(__file__).parent / "good").glob("*.yaml"))
EXAMPLES: Final = sorted((Path(__file__).parents[2] / "examples").glob("*.yaml"))
SECRET: Final = "hunter2-and-more"
ENVIRON: Final = {"KAFKA_PASSWORD": SECRET, "SIZES": "100:70,1000:30", "PARTITIONS": "6"}
LEAST: Final = "workload: {record_bytes: 100}\n"


def load(name: str) -> StudySpec:
    """A study of the good corpus."""
    spec, _ = load_study(next(path for path in GOOD if path.stem == name), ENVIRON)
    return spec


def parse(text: str, **environ: str) -> StudySpec:
    """A study from text, with these variables, that may read no file."""
    return parse_study(text, name="study", folder=None, origin="study.yaml", environ=environ)
