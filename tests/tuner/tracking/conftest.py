"""MLflow stores for the tests. An empty store is created once, because that takes seconds, and then copied."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from filelock import FileLock

from tests.helpers.invented_studies import baseline, study, trial
from tuner.model.spec import TrackingSpec
from tuner.tracking import TrackingLocation
from tuner.tracking.connection import connect

if TYPE_CHECKING:
    from mlflow import MlflowClient

_HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Ignore the deprecation warnings that MLflow and its database library cause."""
    for item in items:
        if _HERE in item.path.parents:
            for category in ("sqlalchemy.exc.SADeprecationWarning", "DeprecationWarning", "FutureWarning"):
                item.add_marker(pytest.mark.filterwarnings(f"ignore::{category}"))


@pytest.fixture(autouse=True)
def no_tracking_uri(monkeypatch: pytest.MonkeyPatch) -> None:
    """Unset MLFLOW_TRACKING_URI, so that no test writes to the MLflow of the user who runs the tests."""
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)


_CREATE = """
import sys
from pathlib import Path
from tuner.model.spec import TrackingSpec
from tuner.tracking import TrackingLocation
from tuner.tracking.connection import connect

connect(TrackingLocation.of(TrackingSpec(), Path(sys.argv[1])))
"""


@pytest.fixture(scope="session")
def created(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A SQLite file with MLflow's tables, created by a subprocess, and the output of that subprocess.

    All processes in which pytest runs the tests share the file.
    """
    own = tmp_path_factory.getbasetemp()
    folder = (own.parent if "PYTEST_XDIST_WORKER" in os.environ else own) / "empty-store"
    output = folder / "output.txt"
    with FileLock(folder.with_suffix(".lock")):
        if not output.exists():
            folder.mkdir(exist_ok=True)
            words = [sys.executable, "-c", _CREATE, str(folder)]
            ran = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=True)
            output.write_text(ran.stdout)
    return folder / "mlflow.db", output.read_text()


@pytest.fixture(scope="session")
def empty_store(created: tuple[Path, str]) -> Path:
    """A SQLite file with MLflow's tables."""
    return created[0]


@pytest.fixture(scope="session")
def creation_output(created: tuple[Path, str]) -> str:
    """The output of the process that created the SQLite file."""
    return created[1]


@pytest.fixture
def root(tmp_path: Path, empty_store: Path) -> Path:
    """A folder for studies with an empty MLflow store in it. Its name has characters that users put into names."""
    folder = tmp_path / "my studies, 100%"
    folder.mkdir()
    shutil.copy(empty_store, folder)
    return folder


@pytest.fixture
def client(root: Path) -> "MlflowClient":
    """A client of the MLflow store in the folder of the studies."""
    return connect(TrackingLocation.of(TrackingSpec(), root))


@pytest.fixture
def new_store(tmp_path: Path, empty_store: Path) -> Callable[[str], str]:
    """Return a function that creates another empty MLflow store and returns its URI."""

    def make(name: str) -> str:
        folder = tmp_path / name
        folder.mkdir()
        shutil.copy(empty_store, folder)
        return TrackingLocation.of(TrackingSpec(), folder).uri

    return make


@pytest.fixture
def night(root: Path) -> Path:
    """A study with three trials."""
    study(root / "night", baseline(), trial(1, 12.0, 15.0), trial(2, 9.0, 5.0)).close()
    return root / "night"
