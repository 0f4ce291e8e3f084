"""Study files are read from disk; the shortest file, files that are too large, and the form of messages."""

import os
from pathlib import Path

import pytest

from runners.workload import RecordSizes
from tests.helpers.stored_studies import study_text
from tests.tuner.study_file.corpus import LEAST, parse
from tuner.model.goals import PRESETS, Goal
from tuner.model.spec import StudySpec, WorkloadSpec
from tuner.study_file import StudyFileError, read_study_file
from tuner.study_file.strict_yaml import MAX_BYTES


def test_three_lines_are_a_study(tmp_path: Path) -> None:
    path = tmp_path / "orders.yaml"
    path.write_text("workload:\n  record_bytes:\n    - 1000\n")
    spec, _ = read_study_file(path, {})
    assert spec == StudySpec(name="orders", workload=WorkloadSpec((RecordSizes.fixed(1000),)))
    assert spec.objectives == PRESETS[Goal.BALANCED][0]


def test_a_file_with_windows_line_ends_and_a_byte_order_mark_is_read(tmp_path: Path) -> None:
    path = tmp_path / "orders.yaml"
    path.write_bytes(b"\xef\xbb\xbfworkload:\r\n  record_bytes: 10\r\n")
    spec, text = read_study_file(path, {})
    assert str(spec.workload.record_sizes[0]) == "10"
    assert text == "workload:\r\n  record_bytes: 10\r\n"


def test_a_file_name_that_is_no_valid_study_name_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "my orders.yaml"
    path.write_text(LEAST)
    with pytest.raises(StudyFileError, match="give the study a name"):
        read_study_file(path, {})


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"workload:\n  record_bytes: 1\nstudy: \xff\n", "line 3: a study file must be UTF-8 text"),
        (b"#" * (MAX_BYTES + 1), f"at most {MAX_BYTES} bytes"),
        (b"workload:\n  record_bytes: 1 \x07\n", "line 2: the file must be printable text"),
    ],
)
def test_a_file_that_is_no_text_is_refused(tmp_path: Path, data: bytes, said: str) -> None:
    path = tmp_path / "orders.yaml"
    path.write_bytes(data)
    with pytest.raises(StudyFileError, match=said):
        read_study_file(path, {})


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StudyFileError, match="a study file must be readable: No such file"):
        read_study_file(tmp_path / "orders.yaml", {})
    with pytest.raises(StudyFileError, match="a study file must be readable: Is a directory"):
        read_study_file(tmp_path, {})


def test_a_message_lists_a_limited_number_of_problems() -> None:
    with pytest.raises(StudyFileError, match="has 100 problems") as caught:
        parse(LEAST + "".join(f"key{number}: 1\n" for number in range(100)))
    assert str(caught.value).endswith("and 60 more")
    with pytest.raises(StudyFileError, match="at most 1000 values"):
        parse(LEAST + "".join(f"key{number}: 1\n" for number in range(5_000)))


def test_one_problem_reads_as_one_line() -> None:
    with pytest.raises(StudyFileError) as caught:
        parse(LEAST + "search: {trials: none}\n")
    said = "study.yaml, line 2, search.trials: must be a whole number from 1 to 1,000,000, but got 'none'"
    assert str(caught.value) == said


def test_several_problems_read_as_a_list() -> None:
    with pytest.raises(StudyFileError) as caught:
        parse("search: {trials: none}\n" + LEAST + "durability: some\n")
    lines = str(caught.value).splitlines()
    assert lines[0] == "study.yaml has 2 problems:"
    assert lines[1].startswith("  line 1, search.trials: ")
    assert lines[2].startswith("  line 3, durability: ")


@pytest.mark.parametrize("text", ["study: mlflow.db\nworkload: {record_bytes: 1}\n", "workload: {record_bytes: 1}\n"])
def test_a_study_cannot_have_the_name_of_a_file_beside_studies(tmp_path: Path, text: str) -> None:
    (tmp_path / "mlflow.db.yaml").write_text(text)
    with pytest.raises(StudyFileError, match=r"must not have the name of another file .* but got 'mlflow\.db'"):
        read_study_file(tmp_path / "mlflow.db.yaml")


def test_the_study_files_that_tests_write_are_accepted() -> None:
    spec = parse(study_text("night", "1000", "100:0.7,1000:0.3"))
    assert (spec.name, [str(size) for size in spec.workload.record_sizes]) == ("night", ["1000", "100:0.7,1000:0.3"])


def test_a_maximum_below_the_usual_rounds_lowers_them() -> None:
    for confirm, rounds in (("max_rounds: 5", 5), ("max_rounds: 50", 8), ("rounds: 30", 30)):
        assert parse(f"{LEAST}confirm: {{{confirm}}}\n").confirm.rounds == rounds


def test_a_study_that_is_read_from_a_pipe_is_named_in_its_file_and_names_files_of_the_working_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.properties").write_text("linger.ms=7\n")
    with pytest.raises(StudyFileError, match="study: this must be given in a file that is read from a pipe"):
        read_study_file(_pipe(LEAST), {})
    spec, _ = read_study_file(_pipe(f"study: orders\n{LEAST}\nbaseline: mine.properties\n"), {})
    assert (spec.name, spec.baseline.linger_ms) == ("orders", 7)


def _pipe(text: str) -> Path:
    """Return the path of a pipe that holds a text, as a shell writes it for `<(...)`."""
    reading, writing = os.pipe()
    os.write(writing, text.encode())
    os.close(writing)
    return Path(f"/dev/fd/{reading}")
