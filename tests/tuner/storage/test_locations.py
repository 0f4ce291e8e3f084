"""Tests of finding a study by its name, folder or study file, and of the error for an unknown study."""

import os
from pathlib import Path

import pytest

from tuner.model.errors import ResultsDamaged, StudyNotFound
from tuner.model.study_files import RESULTS_FILE
from tuner.storage.locations import ROOT_VARIABLE, find_study, studies_root, study_folder
from tuner.storage.sqlite import FolderStorage, SqliteStore
from tuner.study_file import StudyFileError


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(ROOT_VARIABLE, str(tmp_path / "studies"))
    monkeypatch.chdir(tmp_path)
    return tmp_path / "studies"


def make(folder: Path, written_s: int = 0) -> Path:
    SqliteStore(folder).close()
    os.utime(folder / RESULTS_FILE, (written_s, written_s))
    return folder


def test_the_variable_sets_the_folder_of_studies(root: Path) -> None:
    assert studies_root() == root
    assert study_folder("overnight") == root / "overnight"


@pytest.mark.parametrize("value", [None, ""])
def test_the_default_folder_is_in_the_working_directory(
    root: Path, monkeypatch: pytest.MonkeyPatch, value: str | None
) -> None:
    monkeypatch.delenv(ROOT_VARIABLE)
    if value is not None:
        monkeypatch.setenv(ROOT_VARIABLE, value)
    assert studies_root() == Path.cwd() / "studies"


def test_the_root_is_absolute_and_may_start_with_a_tilde(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(ROOT_VARIABLE, "some/where")
    assert studies_root() == Path.cwd() / "some/where"
    monkeypatch.setenv("HOME", str(root))
    monkeypatch.setenv(ROOT_VARIABLE, "~/studies")
    assert studies_root() == root / "studies"


@pytest.mark.parametrize(
    "given",
    ["overnight", "studies/overnight", "studies/overnight/results.db", "files/overnight.yaml", "overnight.yaml"],
)
def test_a_study_is_found_by_name_by_folder_and_by_study_file(root: Path, given: str) -> None:
    make(root / "overnight")
    assert find_study(given) == root / "overnight"


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("study: orders\n", "orders"),
        ("study: {name: orders}\n", "orders"),
        ('{"study": "orders"}', "orders"),
        ("study: ${TEAM}s\n", "orders"),
        ("workload: {record_bytes: 100}\n", "overnight"),
    ],
)
@pytest.mark.parametrize("file", ["overnight.yaml", "overnight.yml", "overnight"])
def test_a_study_file_stands_for_the_study_that_it_names(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, name: str, file: str
) -> None:
    monkeypatch.setenv("TEAM", "order")
    make(root / "orders")
    make(root / "overnight")
    folder = tmp_path / "files"
    folder.mkdir()
    (folder / file).write_text(text)
    assert find_study(f"files/{file}") == root / name


def test_a_file_whose_study_has_not_begun_is_not_an_older_study(root: Path, tmp_path: Path) -> None:
    make(root / "overnight")
    (tmp_path / "overnight.yaml").write_text("study: overnight-b\n")
    with pytest.raises(StudyNotFound, match=r"there is no study 'overnight-b', which overnight\.yaml names,"):
        find_study("overnight.yaml")
    (tmp_path / "overnight.yaml").write_text("study: [\n")
    with pytest.raises(StudyFileError, match=r"^overnight\.yaml, line "):
        find_study("overnight.yaml")
    (tmp_path / "LICENSE").write_text('a word: "of" another: kind')
    with pytest.raises(StudyNotFound, match=r"there is no study 'LICENSE' .*there are: overnight"):
        find_study("LICENSE")
    (tmp_path / "overnight.properties").write_text("linger.ms=5\n")
    with pytest.raises(StudyNotFound):
        find_study("overnight.properties")


@pytest.mark.parametrize("given", ["v1.2", "studies/v1.2"])
def test_only_the_end_of_a_study_file_is_left_out(root: Path, given: str) -> None:
    make(root / "v1")
    with pytest.raises(StudyNotFound, match=r"there is no study '.*v1\.2'.* there are: v1$"):
        find_study(given)


def test_a_folder_anywhere_is_found_by_its_path(root: Path, tmp_path: Path) -> None:
    make(tmp_path / "copied" / "overnight")
    assert find_study("copied/overnight") == tmp_path / "copied" / "overnight"
    assert find_study(str(tmp_path / "copied" / "overnight")) == tmp_path / "copied" / "overnight"


def test_a_name_with_a_dot_is_not_taken_for_a_study_file(root: Path) -> None:
    make(root / "v1.2")
    assert find_study("v1.2") == root / "v1.2"
    with pytest.raises(StudyNotFound):
        find_study("v1")


def test_a_study_whose_name_continues_after_a_dot_is_another_study(root: Path) -> None:
    make(root / "v1")
    assert FolderStorage().has(root / "v1")
    assert not FolderStorage().has(root / "v1.2")


def test_the_error_for_an_unknown_study_names_the_others(root: Path) -> None:
    make(root / "first", 1_000)
    make(root / "second", 2_000)
    with pytest.raises(StudyNotFound, match=f"no study 'third' below {root} .*; there are: second, first"):
        find_study("third")
    with pytest.raises(StudyNotFound, match=r"; did you mean first\? there are: second, first"):
        find_study("frist")


def test_a_folder_in_place_of_the_results_is_named(root: Path) -> None:
    (root / "first" / RESULTS_FILE).mkdir(parents=True)
    make(root / "second")
    said = f"{root / 'first' / RESULTS_FILE} must be a SQLite file of kafka-tuner, but is a folder; move it away"
    for given in ("first", "studies/first"):
        with pytest.raises(ResultsDamaged, match=said):
            find_study(given)
    with pytest.raises(ResultsDamaged, match=said):
        SqliteStore(root / "first")
    with pytest.raises(StudyNotFound, match=r"there are: second$"):
        find_study("third")


def test_the_error_names_only_the_newest_of_many_studies(root: Path) -> None:
    for number in range(15):
        make(root / f"verify-{number}", 1_000 + number)
    with pytest.raises(StudyNotFound, match=r"there are: verify-14, verify-13, .*, verify-3 and 3 older ones$"):
        find_study("third")


def test_the_error_without_any_study_says_how_to_make_one(root: Path) -> None:
    with pytest.raises(StudyNotFound, match=r"none has begun yet; `tuner run` begins one"):
        find_study("overnight")
    with pytest.raises(
        StudyNotFound, match=r"no experiment 'one' .*none has begun yet; `tuner experiment run` begins one"
    ):
        find_study("one", what="experiment")
    assert not root.exists(), "looking for a study must create nothing"


def test_studies_are_listed_newest_first_without_other_folders(root: Path) -> None:
    assert FolderStorage().names(root) == []
    for name, written_s in (("a", 3_000), ("b", 1_000), ("c", 2_000)):
        make(root / name, written_s)
    (root / "notes").mkdir()
    assert FolderStorage().names(root) == ["a", "c", "b"]
    assert FolderStorage().names(root / "notes") == []
