"""Python that the documents show compiles, and uses only names that exist; what reads a finished study is run."""

import ast
import importlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.pages import NOT_RUN, Block, blocks
from tests.helpers.repository import KEPT_STUDIES, ROOT

PYTHON_BLOCKS = [block for block in blocks() if block.language in ("python", "py")]
KEPT = "quickstart"
MEASURES = frozenset({"run_study", "bench", "Client"})


def names_in(block: Block) -> set[str]:
    """Return all names and attributes that a block uses."""
    tree = ast.parse(block.text)
    return {each.id for each in ast.walk(tree) if isinstance(each, ast.Name)} | {
        each.attr for each in ast.walk(tree) if isinstance(each, ast.Attribute)
    }


def is_run(block: Block) -> bool:
    """Return whether a block reads the study that is kept for tests, and starts nothing."""
    return f'"{KEPT}"' in block.text and not names_in(block) & MEASURES and NOT_RUN not in block.words


@pytest.mark.parametrize("block", PYTHON_BLOCKS, ids=str)
def test_a_block_of_python_compiles_and_imports(block: Block) -> None:
    tree = ast.parse(block.text, str(block))
    modules: dict[str, object] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for name in node.names:
                modules[name.asname or name.name] = importlib.import_module(name.name)
        elif isinstance(node, ast.ImportFrom):
            assert node.module is not None
            found = importlib.import_module(node.module)
            assert [name.name for name in node.names if not hasattr(found, name.name)] == []
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in modules:
            assert hasattr(modules[node.value.id], node.attr), f"{node.value.id}.{node.attr}"


@pytest.mark.parametrize("block", [*filter(is_run, PYTHON_BLOCKS)], ids=str)
def test_a_block_that_reads_a_finished_study_runs(block: Block, tmp_path: Path) -> None:
    kept = KEPT_STUDIES / "quickstart-35028fe"
    shutil.copytree(kept, tmp_path / "studies" / KEPT)
    environ = {**os.environ, "KAFKA_TUNER_STUDIES": str(tmp_path / "studies"), "PYTHONPATH": str(ROOT)}
    ran = subprocess.run(
        [sys.executable, "-c", block.text], cwd=tmp_path, env=environ, capture_output=True, text=True, timeout=120,
        check=False,
    )  # fmt: skip
    assert ran.returncode == 0, f"{block}\n{ran.stderr}"
