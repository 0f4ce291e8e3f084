"""The style sheets, scripts and templates of the pages are files, and an installed package has all of them."""

import tomllib
from fnmatch import fnmatch
from pathlib import Path

from tests.helpers.repository import ROOT
from tests.helpers.stored_studies import study
from tuner.present.report.page import report_page

PACKAGES = ("search_spaces", "runners", "objectives", "tuner")
STATIC = ROOT / "tuner" / "present" / "report" / "static"


def test_every_file_that_is_not_python_is_package_data() -> None:
    data = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["package-data"]
    missing = [
        str(path.relative_to(ROOT))
        for package in PACKAGES
        for path in (ROOT / package).rglob("*")
        if path.is_file()
        and path.suffix not in (".py", ".pyc")
        and not any(fnmatch(str(path.relative_to(ROOT / package)), pattern) for pattern in data[package])
    ]
    assert missing == []


def test_the_report_holds_the_style_and_the_script_of_the_files(tmp_path: Path) -> None:
    page = report_page(study(tmp_path, trials=12))
    for file in ("style.css", "report.js"):
        assert (STATIC / file).read_text() in page
