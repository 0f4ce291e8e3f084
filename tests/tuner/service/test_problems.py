"""An error of the service ends a command with the exit code that the same error has without a service."""

import pytest

from runners.errors import WorkloadRefused
from search_spaces.errors import ConfigError
from tests.helpers.command import tuner
from tests.helpers.serving import Serving
from tuner.model.errors import (
    ExitCode,
    LimitTooLow,
    NoFeasibleConfig,
    NotAStudy,
    NothingMeasured,
    NothingToFit,
    RequestRefused,
    StudyBusy,
    StudyChanged,
    StudyError,
    StudyNotFound,
    exit_code_of,
    exit_code_of_problem,
)
from tuner.service.problems import problem_of
from tuner.study_file import FileProblem, StudyFileError

ERRORS = (
    *(
        kind("text")
        for kind in (
            ConfigError, NoFeasibleConfig, NotAStudy, NothingMeasured, NothingToFit, RequestRefused, StudyBusy,
            StudyChanged, StudyError, StudyNotFound, WorkloadRefused,
        )
    ),
    LimitTooLow("search.hours", "rule", "1"),
    StudyFileError("study.yaml", [FileProblem(1, "name", "must be text")]),
)  # fmt: skip


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_an_error_has_the_exit_code_that_it_has_without_a_service(error: Exception) -> None:
    assert problem_of(error).kind.exit_code is exit_code_of(error)


def test_an_unknown_kind_of_problem_is_a_failure() -> None:
    assert exit_code_of_problem("made-up") is ExitCode.FAILED
    assert exit_code_of_problem("") is ExitCode.FAILED


def test_a_study_compared_with_itself_is_wrong_input(served: Serving) -> None:
    assert tuner("--server", served.url, "compare", "overnight", "overnight").code == ExitCode.USAGE
