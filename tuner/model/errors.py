"""What can go wrong with a study, beside what the layers below raise; what the exit code tells a script.

StudyError
├── StudyNotFound       no study has that name                                   (exit 2)
├── StudyChanged        the file asks for another study than the one on record   (exit 2)
├── StudyBusy           another process is running it                            (exit 1)
├── StudyTakenOver      another driver has taken it over from this one           (exit 1)
├── RecordDamaged       the results store can't be read, or belongs to a newer release (exit 1)
├── StorageMisnamed     the storage's address is none                            (exit 2)
├── StorageUnreachable  the storage's server does not answer, or refuses us      (exit 1)
├── NoFeasibleConfig    nothing can be recommended under these conditions        (exit 5)
└── TooManyFailures     trial after trial gave no measurement                    (exit 1)
"""

from enum import IntEnum
from typing import Final

from runners.errors import RunnerError, SafetyStop, TargetError, WorkloadRefused
from search_spaces.errors import ConfigError


class StudyError(Exception):
    """Base of all errors about studies."""


class StudyNotFound(StudyError):  # noqa: N818 - names say what happened
    """No study of that name lies where we look."""


class StudyChanged(StudyError):  # noqa: N818
    """The study on record was asked another question; its trials can't answer this one."""


class StudyBusy(StudyError):  # noqa: N818
    """Another process runs the study."""


class StudyTakenOver(StudyError):  # noqa: N818
    """Another driver runs the study now; this one keeps nothing more, and ends."""


class StorageMisnamed(StudyError):  # noqa: N818
    """The storage's address can't be one, or nothing here can speak to it."""


class StorageUnreachable(StudyError):  # noqa: N818
    """The storage's server does not answer, or refuses us; the study can be gone on with."""


class RecordDamaged(StudyError):  # noqa: N818
    """The results store can't be read."""


class NoFeasibleConfig(StudyError):  # noqa: N818
    """No config keeps every condition."""


class TooManyFailures(StudyError):  # noqa: N818
    """Trial after trial gave no measurement: something other than the configs is wrong."""


class ExitCode(IntEnum):
    """Exit codes of `tuner`, the same for every verb."""

    DONE = 0
    """The command did what it was asked to do."""
    FAILED = 1
    """The command failed for a reason that no other code stands for."""
    USAGE = 2
    """The input is wrong: the command line, the study file, or a property. The message says what to change."""
    TARGET = 3
    """The cluster can't be reached, or it refuses us."""
    SAFETY = 4
    """A safety limit stopped the study: too many bytes in a trial, or too little free disk."""
    NO_FEASIBLE_CONFIG = 5
    """No config keeps every constraint."""
    THRESHOLD_MISSED = 99
    """`tuner verify` measured the config, and it is worse than it may be."""
    INTERRUPTED = 130
    """Ctrl-C or SIGTERM ended the command. The same command resumes a study."""


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
