"""The table of benchmarks in docs/ARCHITECTURE.md names every module and every package of `benchmarks`."""

import re

from tests.helpers.repository import ROOT

BENCHMARKS = ROOT / "benchmarks"
MODULES = sorted(BENCHMARKS.glob("[!_]*.py"))


def test_the_table_of_benchmarks_names_every_module_and_package_once() -> None:
    page = (ROOT / "docs" / "ARCHITECTURE.md").read_text(encoding="utf-8")
    table = page.partition("\n## Benchmarks\n")[2].partition("\n## ")[0].partition("| --- |")[2]
    packages = sorted(file.parent.name for file in BENCHMARKS.glob("*/__init__.py"))
    assert sorted(re.findall(r"`(\w+\.py)`", table)) == [file.name for file in MODULES]
    assert sorted(name for name in re.findall(r"`(\w+)`", table) if name in packages) == packages


def test_every_module_but_evidence_can_be_run() -> None:
    texts = {file.name: file.read_text(encoding="utf-8") for file in MODULES}
    assert [name for name, text in texts.items() if '\nif __name__ == "__main__":\n' not in text] == ["evidence.py"]
