"""Tests lie where CONTRIBUTING.md says: in folders like those of the packages."""

from collections import defaultdict
from pathlib import Path
from typing import Final

import pytest

from tests.helpers.repository import ROOT

PACKAGES: Final = ("benchmarks", "objectives", "runners", "search_spaces", "tuner")
TESTS: Final = ROOT / "tests"
FILES: Final = sorted(file.relative_to(TESTS) for package in PACKAGES for file in (TESTS / package).rglob("test_*.py"))


def place_of(package: Path) -> Path:
    """Return the folder for the tests of a package: its own one, or the nearest one above that exists."""
    return next(folder for folder in (package, *package.parents) if (TESTS / folder).is_dir())


def test_every_folder_of_tests_is_that_of_a_package() -> None:
    folders = {file.parent for file in FILES}
    assert {Path(package) for package in PACKAGES} <= folders
    assert [each for each in folders if not (ROOT / each / "__init__.py").is_file()] == []
    assert [each for each in folders if not (TESTS / each / "__init__.py").is_file()] == []


@pytest.mark.parametrize("package", PACKAGES)
def test_a_file_of_tests_with_the_name_of_a_module_lies_in_the_folder_of_its_package(package: str) -> None:
    places = defaultdict(set)
    for file in (ROOT / package).rglob("*.py"):
        name = file.parent.name if file.stem == "__init__" else file.stem
        places[f"test_{name}"].add(place_of(file.parent.relative_to(ROOT)))
    named = [file for file in FILES if file.parts[0] == package and file.stem in places]
    assert named
    assert [str(file) for file in named if file.parent not in places[file.stem]] == []
