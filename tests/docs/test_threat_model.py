"""The tests that the threat model in SECURITY.md names exist."""

import re

from tests.helpers.repository import ROOT


def test_each_test_of_the_threat_model_exists() -> None:
    page = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`(test_\w+)`", page))
    sources = "".join(file.read_text(encoding="utf-8") for file in (ROOT / "tests").rglob("test_*.py"))
    assert len(named) > 10
    assert named <= set(re.findall(r"def (test_\w+)\(", sources))
