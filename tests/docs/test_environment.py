"""The page of environment variables names every variable of ours that the program reads, and no other."""

import re

from tests.helpers.repository import ROOT

PAGE = (ROOT / "docs" / "reference" / "environment.md").read_text(encoding="utf-8")
READERS = [
    *(
        path
        for package in ("search_spaces", "runners", "objectives", "tuner")
        for path in (ROOT / package).rglob("*.py")
    ),
    ROOT / "scripts" / "container_health.py",
]


def test_the_page_lists_all_variables() -> None:
    read = {name for path in READERS for name in re.findall(r'"(KAFKA_TUNER_\w+)"', path.read_text(encoding="utf-8"))}
    assert set(re.findall(r"^`(KAFKA_TUNER_\w+)`$", PAGE, re.MULTILINE)) == read
