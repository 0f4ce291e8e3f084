"""A test that every implementation of `ResultsStore` is tested by the contract."""

import importlib
import inspect
import pkgutil
from collections.abc import Iterator

import tuner.storage

# The modules are imported for their test classes. Importing the classes by name would run their tests twice.
from tests.tuner.storage import test_postgres, test_sqlite
from tests.tuner.storage.store_contract import ResultsStoreContract
from tuner.storage.protocols import ResultsStore


def stores() -> Iterator[type]:
    """Yield all classes of the package that have the methods of a results store."""
    methods = [name for name, each in inspect.getmembers(ResultsStore, inspect.isfunction) if not name.startswith("_")]
    for module in pkgutil.walk_packages(tuner.storage.__path__, "tuner.storage."):
        for _, each in inspect.getmembers(importlib.import_module(module.name), inspect.isclass):
            if each.__module__ == module.name and all(hasattr(each, name) for name in methods):
                yield each


def test_every_results_store_is_tested_by_the_contract() -> None:
    assert test_postgres.__name__
    assert test_sqlite.__name__
    found = set(stores()) - {ResultsStore}
    assert len(found) >= 2
    assert found == {subclass.covers for subclass in ResultsStoreContract.__subclasses__()}
