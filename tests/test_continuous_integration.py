"""What a run of `.ci/run` leaves behind, with steps that do nothing but write a file as the tests do."""

import os
import shutil
import subprocess
from pathlib import Path
from typing import Final

import pytest

from tests.helpers.repository import ROOT

_MAKE: Final = """#!/bin/sh
mkdir -p "$PYTEST_DEBUG_TEMPROOT/pytest-of-user"
echo seen > "$PYTEST_DEBUG_TEMPROOT/pytest-of-user/broker.log"
[ "$1" != "$FAILS" ]
"""


@pytest.mark.parametrize(("fails", "status", "kept"), [("", 0, 0), ("docs", 1, 1)])
def test_nothing_stays_in_memory_and_only_a_run_that_failed_leaves_files_on_the_disk(
    tmp_path: Path, fails: str, status: int, kept: int
) -> None:
    memory, disk = tmp_path / "memory", tmp_path / "disk"
    programs = {f"scripts/{name}": "#!/bin/sh\n" for name in ("get-postgres", "image", "with-docker")}
    programs |= {"scripts/test-folder": f"#!/bin/sh\necho '{memory}'\n", "bin/make": _MAKE}
    for folder in (memory, disk, tmp_path / ".ci", tmp_path / "scripts", tmp_path / "bin", tmp_path / "tests"):
        folder.mkdir()
    for name, text in programs.items():
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o700)
    (tmp_path / "tests" / "test_image.py").write_text("docker")
    shutil.copy(ROOT / ".ci" / "run", tmp_path / ".ci")
    path = f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}"
    environ = {**os.environ, "PATH": path, "TMPDIR": str(disk), "FAILS": fails}

    ran = subprocess.run([tmp_path / ".ci" / "run"], env=environ, capture_output=True, text=True, check=False)

    assert ran.returncode == status, ran.stdout + ran.stderr
    assert list(memory.iterdir()) == []
    logs = [file.relative_to(disk).parts[1:] for file in disk.rglob("broker.log")]
    assert logs == [("tests", "pytest-of-user", "broker.log")] * kept
    assert kept == len(list(disk.iterdir()))
