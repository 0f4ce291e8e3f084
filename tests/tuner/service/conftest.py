"""A running service with one finished study, for tests that only read from it."""

from collections.abc import Iterator

import pytest

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
