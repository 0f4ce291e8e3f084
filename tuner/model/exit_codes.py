"""What the command's exit code tells a script."""

from enum import IntEnum
from typing import Final

from runners.errors import RunnerError, SafetyStop, TargetError, WorkloadRefused
from search_spaces.errors import ConfigError
from tuner.model.errors import NoFeasibleConfig, StorageMisnamed, StudyChanged, StudyError, StudyNotFound


class ExitCode(IntEnum):
    """Exit codes of `tuner`, the same for every verb."""

    DONE = 0
    FAILED = 1
    USAGE = 2
    TARGET = 3
    SAFETY = 4
    NO_FEASIBLE_CONFIG = 5
    THRESHOLD_MISSED = 99
    INTERRUPTED = 130


EXPECTED: Final = (ConfigError, RunnerError, StudyError)
"""Errors that end a command with a sentence; any other is a defect, and shows where it happened."""
_CODES: Final[dict[type[Exception], ExitCode]] = {
    ConfigError: ExitCode.USAGE,
    WorkloadRefused: ExitCode.USAGE,
    StudyNotFound: ExitCode.USAGE,
    StudyChanged: ExitCode.USAGE,
    StorageMisnamed: ExitCode.USAGE,
    NoFeasibleConfig: ExitCode.NO_FEASIBLE_CONFIG,
    TargetError: ExitCode.TARGET,
    SafetyStop: ExitCode.SAFETY,
}


def exit_code_of(error: BaseException) -> ExitCode:
    """The exit code that stands for an error."""
    return next((code for kind, code in _CODES.items() if isinstance(error, kind)), ExitCode.FAILED)
