"""The table of benchmarks in docs/ARCHITECTURE.md names every module of `benchmarks`."""

import re

from tests.helpers.repository import ROOT


def test_the_table_of_benchmarks_names_every_module_once() -> None:
    page = (ROOT / "docs" / "ARCHITECTURE.md").read_text(encoding="utf-8")
    section = page.partition("\n## Benchmarks\n")[2].partition("\n## ")[0]
    named = re.findall(r"`(\w+\.py)`", section)
    assert sorted(named) == sorted(file.name for file in (ROOT / "benchmarks").glob("[!_]*.py"))
