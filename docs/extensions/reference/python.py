"""Makes the directives with which Sphinx describes the public Python interface from its docstrings."""

import dataclasses
import inspect
from collections.abc import Iterable
from types import ModuleType

import tuner
from objectives.scoring import Constraint, Objective
from runners import errors as runner_errors
from runners.measurements.measurement import Measurement
from search_spaces import ProducerConfig
from search_spaces import errors as config_errors
from tuner import client as client_module
from tuner.execution.experiments.experiment_reporter import ExperimentReporter
from tuner.execution.studies.study_progress import Reporter
from tuner.model import errors as study_errors
from tuner.model.goals import Goal
from tuner.model.trial import Trial
from tuner.results.experiments.experiment_results import ExperimentResults
from tuner.results.experiments.row_results import Mean, RowResults
from tuner.results.recommendations.recommendation import Recommendation
from tuner.results.study_results import SizeResults, StudyResults
from tuner.search import optuna_export
from tuner.study_file import StudyFileError

from .markdown import fenced, together

_RESULTS = (
    Recommendation,
    StudyResults,
    SizeResults,
    Trial,
    Measurement,
    ProducerConfig,
    Goal,
    Objective,
    Constraint,
    ExperimentResults,
    RowResults,
    Mean,
)


def facade() -> str:
    """Return the Sphinx directives for everything that `import tuner` offers."""
    return together(*(_directive(getattr(tuner, name), f"{tuner.__name__}.{name}") for name in tuner.__all__))


def results() -> str:
    """Return the Sphinx directives for the classes that the functions of `tuner` return or take."""
    return _described([*_RESULTS, Reporter, ExperimentReporter])


def client() -> str:
    """Return the Sphinx directives for the client of the service."""
    return _described(_public(client_module))


def errors() -> str:
    """Return the Sphinx directives for the errors that the functions of `tuner` raise."""
    modules = (study_errors, optuna_export, runner_errors, config_errors)
    return _described([StudyFileError, *(error for module in modules for error in _public(module, Exception))])


def _public(module: ModuleType, kind: type = object) -> list[type]:
    """Return the public classes of a given kind that a module defines, in the order of the module."""
    return [
        found
        for name, found in vars(module).items()
        if inspect.isclass(found) and issubclass(found, kind) and found.__module__ == module.__name__ and name[0] != "_"
    ]


def _described(things: Iterable[type]) -> str:
    return together(*(_directive(thing, f"{thing.__module__}.{thing.__qualname__}") for thing in things))


def _directive(thing: object, path: str) -> str:
    """Return the directive that makes Sphinx describe a class or a function."""
    if inspect.isfunction(thing):
        return fenced("{eval-rst}", f".. autofunction:: {path}")
    if dataclasses.is_dataclass(thing) and thing in _RESULTS:
        path += "()"  # users never create these objects, so the long list of parameters is hidden
    is_error = inspect.isclass(thing) and issubclass(thing, BaseException)
    more = "\n   :show-inheritance:" if is_error else ""
    return fenced("{eval-rst}", f".. {'autoexception' if is_error else 'autoclass'}:: {path}\n   :members:{more}")
