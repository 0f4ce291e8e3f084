"""A study on a full disk ends with a message, and continues when there is room again."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.helpers.studies import Steady, Told, simulated_study
from tuner.execution.studies.run import measure_study
from tuner.model.errors import ResultsUnwritable
from tuner.results.study_results import StudyResults

DISK_BYTES = 4 << 20


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """Mount a small file system of its own."""
    folder = tmp_path / "disk"
    folder.mkdir()
    words = ["mount", "-t", "tmpfs", "-o", f"size={DISK_BYTES}", "none", str(folder)]
    mounted = subprocess.run(words, capture_output=True, check=False, text=True)
    if mounted.returncode:
        pytest.skip(f"this user may not mount a file system: {mounted.stderr.strip()}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", folder], check=True)


def run(folder: Path) -> StudyResults:
    return measure_study(simulated_study((100,), trials=6), "study: small", folder, Told(), simulated=Steady())


@pytest.mark.campaign
@pytest.mark.parametrize("left_kb", [0, 4, 16, 96, 128, 160, 192, 256])
def test_a_full_disk_is_an_error_and_the_study_continues_later(disk: Path, left_kb: int) -> None:
    filler = disk / "filler"
    filler.write_bytes(bytes(DISK_BYTES - (left_kb << 10) - 4096))
    with pytest.raises(
        ResultsUnwritable, match=rf"{disk}/night.* can't be written: .*(No space|full|I/O error)[^;]*; make room"
    ):
        run(disk / "night")
    filler.unlink()
    results = run(disk / "night")
    assert results.finished
    (size,) = results.sizes
    assert [trial.number for trial in size.trials] == list(range(len(size.trials)))


def test_an_error_names_the_file_that_is_in_place_of_a_folder(tmp_path: Path) -> None:
    (tmp_path / "studies").write_text("a file")
    said = rf"a file is in the way: {tmp_path}/studies; .*KAFKA_TUNER_STUDIES"
    for folder in (tmp_path / "studies" / "night", tmp_path / "studies" / "deep" / "night"):
        with pytest.raises(ResultsUnwritable, match=said):
            run(folder)


def test_an_error_about_a_folder_that_can_not_be_made_says_how_to_name_another() -> None:
    with pytest.raises(ResultsUnwritable, match=r"/proc/x/night.*No such file.*KAFKA_TUNER_STUDIES"):
        run(Path("/proc/x/night"))
