"""pyproject.toml has every package that the code imports, as CONTRIBUTING.md says."""

import ast
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib.metadata import packages_distributions
from typing import Final

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.helpers.repository import ROOT

PROGRAM: Final = ("search_spaces", "runners", "objectives", "tuner")
TOOLS: Final = ("tests", "benchmarks", "scripts", "docs")
NOT_DECLARED: Final = {
    "pydantic_core",  # every version of pydantic needs exactly one of it
    "botorch",  # a sampler that can be measured if it is there (benchmarks/searches/entries.py)
    "optuna_integration",
}


def imported(folders: tuple[str, ...]) -> Iterator[str]:
    """Yield the packages of others that are imported, anywhere in a module."""
    for file in (file for folder in folders for file in (ROOT / folder).rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                yield from (name.name.partition(".")[0] for name in node.names)
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                yield node.module.partition(".")[0]


@cache
def distributions() -> Mapping[str, Sequence[str]]:
    """Return which distributions each installed package comes from. Reading all their files takes seconds."""
    return packages_distributions()


@pytest.mark.parametrize(
    ("folders", "extras"),
    [
        pytest.param(PROGRAM, ("containers", "gp", "postgres"), id="program"),
        pytest.param(TOOLS, ("containers", "gp", "postgres", "dev"), id="tools"),
    ],
)
def test_every_imported_package_is_declared(folders: tuple[str, ...], extras: tuple[str, ...]) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    texts = [*project["dependencies"], *(text for extra in extras for text in project["optional-dependencies"][extra])]
    declared = {canonicalize_name(Requirement(text).name) for text in texts}
    others = set(imported(folders)) - {*sys.stdlib_module_names, *PROGRAM, *TOOLS, *NOT_DECLARED}
    missing = {
        name
        for name in others
        if not declared & {canonicalize_name(each) for each in distributions().get(name, [name])}
    }
    assert not missing
