"""These tests fail for a new runner, wrapper, load client or pool until it is tested by its contract."""

import importlib
import inspect
import pkgutil
from collections.abc import Iterator

import runners
from runners.librdkafka.librdkafka_runner import GENERATORS
from runners.librdkafka.load_client import LoadClient
from runners.pools.pool import Pool
from runners.runner import Runner
from tests.helpers.runner_contract import RunnerContract
from tests.runners import test_runners

# The modules are imported instead of their classes, because pytest would collect imported classes a second time.
from tests.runners.librdkafka import test_load_clients
from tests.runners.librdkafka.fake_client import FakeClient
from tests.runners.librdkafka.load_client_contract import LoadClientContract
from tests.runners.pools import test_local_pool, test_ray_pool
from tests.runners.pools.pool_contract import PoolContract

RUNNER_PARAMETERS = ["self", "config", "workload", "watch"]
CLIENT_METHODS = ("send", "drain", "waiting", "purge", "close")
POOL_METHODS = ("submit", "next_done", "close")


def classes() -> Iterator[type]:
    """Yield all classes that `runners` defines."""
    for module in pkgutil.walk_packages(runners.__path__, "runners."):
        for _, each in inspect.getmembers(importlib.import_module(module.name), inspect.isclass):
            if each.__module__ == module.name:
                yield each


def is_runner(each: type) -> bool:
    run = inspect.getattr_static(each, "run", None)
    return inspect.isfunction(run) and list(inspect.signature(run).parameters) == RUNNER_PARAMETERS


def is_load_client(each: type) -> bool:
    return all(inspect.isfunction(inspect.getattr_static(each, name, None)) for name in CLIENT_METHODS)


def is_pool(each: type) -> bool:
    return all(inspect.isfunction(inspect.getattr_static(each, name, None)) for name in POOL_METHODS)


def covered(contract: type[RunnerContract] | type[LoadClientContract] | type[PoolContract]) -> set[type]:
    """Return what the test classes of a contract cover, including indirect subclasses."""
    found: set[type] = set()
    for subclass in contract.__subclasses__():
        if subclass.__name__.startswith("Test"):
            found.add(subclass.covers)
        found |= covered(subclass)
    return found


def test_every_runner_and_wrapper_is_tested_by_the_contract() -> None:
    found = {each for each in classes() if is_runner(each)} - {Runner}
    assert test_runners.__name__
    assert found
    assert found == covered(RunnerContract)


def test_every_load_client_is_tested_by_the_contract() -> None:
    found = {each for each in classes() if is_load_client(each)} - {LoadClient}
    assert test_load_clients.__name__
    assert found >= set(GENERATORS.values())
    assert found | {FakeClient} == covered(LoadClientContract)


def test_every_pool_is_tested_by_the_contract() -> None:
    found = {each for each in classes() if is_pool(each)} - {Pool}
    assert test_local_pool.__name__
    assert test_ray_pool.__name__
    assert found
    assert found == covered(PoolContract)
