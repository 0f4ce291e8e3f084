"""The study file of `tuner init` states the defaults, and each line that is commented out can be used."""

import re
from pathlib import Path

import pytest

from runners.workload import RecordSizes
from tests.tuner.study_file.corpus import parse
from tuner.study_file import STARTER_TEXT, parse_study, read_study_file, starter_text


def test_the_starter_states_the_defaults() -> None:
    sizes = (RecordSizes.fixed(100), RecordSizes.fixed(1000))
    assert parse(STARTER_TEXT) == parse("workload: {record_bytes: [100, 1000]}\n")
    assert parse(STARTER_TEXT).workload.record_sizes == sizes


OPTIONS = [line for line in STARTER_TEXT.splitlines() if re.match(r"#(  )?\w+: ", line)]


@pytest.mark.parametrize("line", OPTIONS)
def test_each_option_of_the_starter_can_be_used(line: str, tmp_path: Path) -> None:
    (tmp_path / "producer.properties").write_text("acks=all\n")
    text = STARTER_TEXT.replace(line, line[1:])
    if line.startswith(("#target", "#  container")):
        text = text.replace("  brokers: 1 ", "  #brokers: 1 ")
    if line.startswith("#target"):
        text = text.replace("\ntarget:\n", "\n")
    spec = parse_study(text, name="x", folder=tmp_path, origin="starter", environ={})
    assert spec != parse(STARTER_TEXT)


@pytest.mark.parametrize(
    ("file", "name"),
    [("zwei worte.yaml", "zwei-worte"), ("übung.yaml", "bung"), ("12 .yaml", "12"), ("ß.yaml", "study"),
     ("mlflow.db.yaml", "study"), (f"{'x' * 150}.yaml", "x" * 100)],
)  # fmt: skip
def test_a_file_whose_name_is_no_valid_study_name_names_its_study(file: str, name: str, tmp_path: Path) -> None:
    (tmp_path / file).write_text(starter_text(file=file))
    assert read_study_file(tmp_path / file)[0].name == name
