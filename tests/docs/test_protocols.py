"""The table of protocols in docs/ARCHITECTURE.md has all protocols of the code, with their members."""

import ast
import re
from collections.abc import Iterator
from typing import Final

from tests.helpers.repository import ROOT

PACKAGES: Final = ("search_spaces", "runners", "objectives", "tuner")


def classes() -> Iterator[ast.ClassDef]:
    for package in PACKAGES:
        for file in (ROOT / package).rglob("*.py"):
            tree = ast.parse(file.read_text(encoding="utf-8"))
            yield from (node for node in ast.walk(tree) if isinstance(node, ast.ClassDef))


def members(protocol: ast.ClassDef) -> set[str]:
    methods = {node.name for node in protocol.body if isinstance(node, ast.FunctionDef)}
    attributes = (node.target for node in protocol.body if isinstance(node, ast.AnnAssign))
    return methods | {target.id for target in attributes if isinstance(target, ast.Name)}


def words(cell: str) -> set[str]:
    return set(re.findall(r"`(\w+)`", cell))


def test_the_table_of_protocols_is_that_of_the_code() -> None:
    page = (ROOT / "docs" / "ARCHITECTURE.md").read_text(encoding="utf-8")
    table = page.partition("\n## Protocols and their implementations\n")[2].partition("\n## ")[0]
    rows = [line.strip("| ").split(" | ") for line in table.splitlines() if line.startswith("| `")]
    all_classes = list(classes())
    protocols = {
        node.name: members(node)
        for node in all_classes
        if any(isinstance(base, ast.Name) and base.id == "Protocol" for base in node.bases)
    }
    shown: dict[str, set[str] | None] = {
        name: None if described.startswith("see ") else words(described)
        for names, described, _ in rows
        for name in words(names) - {"BayesianSampler"}
    }
    assert shown.keys() == protocols.keys()
    assert {name: described or protocols[name] for name, described in shown.items()} == protocols
    assert {name for *_, implementations in rows for name in words(implementations)} <= {
        *(node.name for node in all_classes),
        "GridSampler",
    }
