"""Long texts that are made to keep the program busy: they are refused or read in time that grows with their length."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from search_spaces.errors import PropertiesFileError
from search_spaces.files.properties_file import MAX_BYTES as MOST_PROPERTIES
from search_spaces.files.properties_file import read_properties
from tests.tuner.study_file.corpus import LEAST, parse
from tuner.service.submission import text_of_json
from tuner.study_file import StudyFileError
from tuner.study_file.fields import LONGEST_TEXT
from tuner.study_file.strict_yaml import MAX_BYTES


@pytest.mark.campaign
def test_no_regular_expression_tries_every_way_to_split_a_text() -> None:
    asked = [sys.executable, "-m", "tests.security.hostile_patterns"]
    ran = subprocess.run(asked, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout[-1_000:] + ran.stderr[-1_000:]


@pytest.mark.parametrize(
    "key",
    [
        "constraints: [{}]",
        "objectives: {}",
        "study: {}",
        "baseline: {}",
        "target: {{bootstrap: {}}}",
        "search: {{hours: {}}}",
        "search: {{max_bytes: {}}}",
        "search: {{until: {}}}",
        "search: {{trials: {}}}",
        "tracking: {{experiment: {}}}",
    ],
)
def test_a_text_of_a_study_file_has_a_greatest_length(key: str) -> None:
    with pytest.raises(StudyFileError, match=f"at most {LONGEST_TEXT} characters"):
        parse(LEAST + key.format("'" + "1" * (LONGEST_TEXT + 1) + "'"))


def test_a_record_size_has_a_greatest_length() -> None:
    mix = ",".join(f"{size}:1" for size in range(1, LONGEST_TEXT))
    with pytest.raises(StudyFileError, match=f"at most {LONGEST_TEXT} characters"):
        parse(f"workload: {{record_bytes: '{mix}'}}\n")


def test_blanks_in_a_constraint_count_as_one() -> None:
    blanks = " " * 500
    spec = parse(f"{LEAST}constraints: ['{blanks}mb_per_s{blanks}>={blanks}0.9{blanks}x{blanks}baseline']\n")
    assert "mb_per_s" in str(spec.constraints[0])
    with pytest.raises(StudyFileError, match="must read like"):
        parse(f"{LEAST}constraints: ['mb_per_s >= 1{blanks}y']\n")


def test_variables_do_not_fill_the_memory() -> None:
    with pytest.raises(StudyFileError, match=f"at most {MAX_BYTES} characters"):
        parse(f"{LEAST}study: '{'${A}' * 10_000}'\n", A="a" * 100_000)


def test_nested_json_is_not_written_at_many_times_its_length() -> None:
    text = "[" * 500 + ",".join("1" * 20_000) + "]" * 500
    assert json.loads(text_of_json(text)) == json.loads(text)
    assert len(text_of_json(text)) < 2 * len(text)


def test_a_properties_file_has_a_greatest_length(tmp_path: Path) -> None:
    file = tmp_path / "large.properties"
    file.write_text("a=b\n" + "#" * MOST_PROPERTIES)
    with pytest.raises(PropertiesFileError, match=f"at most {MOST_PROPERTIES} bytes"):
        read_properties(file)
    with pytest.raises(PropertiesFileError, match=f"at most {MOST_PROPERTIES} bytes"):
        read_properties(Path("/dev/zero"))
