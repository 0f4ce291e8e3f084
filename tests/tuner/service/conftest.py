"""A running service with one finished study, for tests that only read from it, and one in the test's own process."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.helpers.service_in_process import Service, in_process
from tests.helpers.serving import Serving, serving
from tests.helpers.stored_studies import write_study
from tests.helpers.waiting import eventually


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    """A ready service whose only study is `overnight`."""
    root = tmp_path_factory.mktemp("served") / "studies"
    root.mkdir()
    write_study(root / "overnight")
    with serving(root, "--no-access-log") as found:
        eventually(lambda: found.ask("GET", "/readyz").status == 200)
        yield found


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    """A service without studies, in this process."""
    root = tmp_path / "studies"
    root.mkdir()
    with in_process(root) as found:
        yield found
