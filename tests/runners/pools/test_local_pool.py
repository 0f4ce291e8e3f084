"""The pool of threads keeps the contract."""

from collections.abc import Callable, Iterator
from contextlib import closing

import pytest

from runners.load.isolated import Isolated
from runners.pools.local_pool import LocalPool
from runners.pools.pool import Pool
from runners.runner import Runner
from tests.runners.pools.pool_contract import PATIENCE_S, PoolContract


class TestLocalPool(PoolContract):
    covers = LocalPool

    @pytest.fixture
    def pool(self) -> Iterator[Pool]:
        with closing(LocalPool(capacity=2)) as pool:
            yield pool

    @pytest.fixture
    def own_pool(self) -> Callable[[], Pool]:
        return lambda: LocalPool(capacity=2)

    def mortal(self, runner: Runner) -> Runner:
        return Isolated(runner, patience_s=PATIENCE_S)
