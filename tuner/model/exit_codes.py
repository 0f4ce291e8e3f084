"""What the command's exit code tells a script."""

from enum import IntEnum

from runners.errors import SafetyStop, TargetError, WorkloadRefused
from search_spaces.errors import ConfigError
from tuner.model.errors import NoFeasibleConfig, StorageMisnamed, StudyChanged, StudyNotFound


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


def exit_code_of(error: BaseException) -> ExitCode:
    """The exit code that stands for an error."""
    match error:
        case ConfigError() | WorkloadRefused():
            return ExitCode.USAGE
        case StudyNotFound() | StudyChanged() | StorageMisnamed():
            return ExitCode.USAGE
        case NoFeasibleConfig():
            return ExitCode.NO_FEASIBLE_CONFIG
        case TargetError():
            return ExitCode.TARGET
        case SafetyStop():
            return ExitCode.SAFETY
        case _:
            return ExitCode.FAILED
