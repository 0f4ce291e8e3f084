"""Fixtures that the tests of `runners` share."""

from collections.abc import Iterator

import pytest

from runners.clusters.cluster import RunningCluster
from tests.runners_tests.mock_cluster import running_mock_cluster


@pytest.fixture(scope="session")
def mock_cluster() -> Iterator[RunningCluster]:
    """One mock cluster for all tests of the session. Each test uses its own topic name."""
    with running_mock_cluster() as cluster:
        yield cluster
