"""Errors about studies, and the exit code of every error, including those of `search_spaces` and `runners`.

StudyError
├── StudyNotFound       no study has that name                                   (exit 2)
├── StudyChanged        the study file no longer fits the trials measured so far (exit 2)
├── StudyBusy           another process is running the study                     (exit 1)
├── StudyTakenOver      another process has taken over the study from this one   (exit 1)
├── ResultsDamaged      the results store can't be read, or is of a newer release (exit 1)
├── ResultsUnwritable   the results can't be written, as on a full disk          (exit 1)
├── StorageMisnamed     the storage's address is not valid                       (exit 2)
├── StorageUnreachable  the storage's server does not answer, or refuses the tuner (exit 1)
├── NoFeasibleConfig    no measured config meets the constraints                 (exit 5)
│   └── NothingMeasured no baseline has been measured yet                        (exit 1)
├── DeadlinePassed      the time after which the study starts no trial has passed (exit 1)
├── LimitTooLow         a limit leaves too little time or too few bytes          (exit 2)
├── RequestRefused      what was asked for does not fit the study that it is about (exit 2)
├── NotAStudy           the name is that of an experiment                        (exit 2)
├── NothingToFit        nothing was measured that the performance model needs    (exit 1)
├── NotPredictable      no measurement covers what should be predicted           (exit 2)
└── TooManyFailures     several trials in a row gave no measurement              (exit 1)
"""

from enum import IntEnum, StrEnum
from typing import Final, Self

from runners.errors import RunnerError, SafetyStop, TargetError, WorkloadRefused
from search_spaces.errors import ConfigError


class StudyError(Exception):
    """Base of all errors about studies."""


class StudyNotFound(StudyError):
    """No study has this name."""


class StudyChanged(StudyError):
    """The study file's settings differ from those of the study's trials, so new trials can't be added to them."""


class StudyBusy(StudyError):
    """Another process is running the study."""


class StudyTakenOver(StudyError):
    """Another process has taken over the study, so this process stores nothing more and ends."""


class StorageMisnamed(StudyError):
    """The storage's address is not valid, or the driver for it is not installed."""


class StorageUnreachable(StudyError):
    """The storage's server does not answer, or refuses the tuner. The study can be resumed later."""


class ResultsDamaged(StudyError):
    """The results store can't be read: it is damaged, or a newer release wrote it."""


class ResultsUnwritable(StudyError):
    """A file of the results store can't be written, for example on a full disk. The study can be resumed later."""


class NoFeasibleConfig(StudyError):
    """No measured config meets every constraint, so none can be recommended."""


class NothingMeasured(NoFeasibleConfig):
    """A study has not measured its baseline yet, so nothing can be recommended."""


class NotAStudy(StudyError):
    """The name belongs to an experiment, and the request needs a study."""


class NothingToFit(StudyError):
    """A study has no measurements to which the performance model can be fitted."""


class NotPredictable(StudyError):
    """The measurements of a study do not cover what should be predicted; the message names each reason."""

    @classmethod
    def outside(cls, study: str, reasons: str) -> Self:
        """Return the error for a config or a load that differs too much from what a study has measured."""
        return cls(f"this can't be predicted from {study}: {reasons}; to know what it does, measure it (`tuner bench`)")


class TooManyFailures(StudyError):
    """Several trials in a row gave no measurement, so the cause is probably not their configs."""


class DeadlinePassed(StudyError):
    """The time after which the study may start no trial (`search.until`) has passed."""


class LimitTooLow(StudyError):
    """A limit of a new study leaves too little time or too few bytes to search and confirm each of its record sizes.

    Attributes:
        key: The key of the limit in a study file, such as `search.hours`.
        rule: The rule, what the study needs, and what the limit allows.
        least: The least value that is enough, as it is written in a study file.
    """

    def __init__(self, key: str, rule: str, least: str) -> None:
        self.key = key
        self.rule = rule
        self.least = least
        super().__init__(f"{key}: {rule}; give at least {least}")


class RequestRefused(StudyError):
    """The request does not fit its study; the message says what to change.

    Attributes:
        setting: The setting that the message is about, by its name in the REST API, such as `disk_bytes`; "" if
            there is no such setting, or several.
    """

    def __init__(self, message: str, setting: str = "") -> None:
        self.setting = setting
        super().__init__(message)


class ExitCode(IntEnum):
    """Exit codes of `tuner`, the same for every command."""

    DONE = 0
    """The command succeeded."""
    FAILED = 1
    """The command failed for a reason that has no exit code of its own."""
    USAGE = 2
    """The input is wrong: the command line, the study file, or a property. Or a study can't be resumed with these
    settings or on this host. The message says what to change."""
    TARGET = 3
    """The cluster can't be reached, or it refuses the tuner."""
    SAFETY = 4
    """A safety limit stopped the study: too many bytes in a trial, or too little free space on a disk."""
    NO_FEASIBLE_CONFIG = 5
    """No config meets every constraint."""
    FAULTY_FILE = 97
    """`tuner lint` found errors in the file: the client would refuse it, or could not send with it."""
    UNDECIDED = 98
    """`tuner verify` measured the config, but the intervals are too wide to tell whether the config is worse."""
    THRESHOLD_MISSED = 99
    """`tuner verify` found the config worse than the command's options allow, or refused it before any measurement."""
    INTERRUPTED = 130
    """Ctrl-C, SIGTERM or the end of the SSH session ended the command. The same command resumes a study."""


EXPECTED: Final = (ConfigError, RunnerError, StudyError)
"""Errors that end a command with a message. Any other error is a bug and ends the command with a traceback."""
_CODES: Final[dict[type[Exception], ExitCode]] = {
    ConfigError: ExitCode.USAGE,
    WorkloadRefused: ExitCode.USAGE,
    StudyNotFound: ExitCode.USAGE,
    StudyChanged: ExitCode.USAGE,
    StorageMisnamed: ExitCode.USAGE,
    LimitTooLow: ExitCode.USAGE,
    NotPredictable: ExitCode.USAGE,
    RequestRefused: ExitCode.USAGE,
    NotAStudy: ExitCode.USAGE,
    NothingMeasured: ExitCode.FAILED,
    NoFeasibleConfig: ExitCode.NO_FEASIBLE_CONFIG,
    TargetError: ExitCode.TARGET,
    SafetyStop: ExitCode.SAFETY,
}


def exit_code_of(error: BaseException) -> ExitCode:
    """Return the exit code for an error."""
    return next((code for kind, code in _CODES.items() if isinstance(error, kind)), ExitCode.FAILED)


class ProblemKind(StrEnum):
    """A kind of problem. It is the last part of the `type` of a problem document (RFC 9457).

    Attributes:
        status: The HTTP status.
        exit_code: The exit code with which `tuner --server` ends. It is that of the same error without a service.
    """

    status: int
    exit_code: ExitCode

    def __new__(cls, name: str, status: int, exit_code: ExitCode = ExitCode.FAILED) -> "ProblemKind":  # noqa: D102
        kind = str.__new__(cls, name)
        kind._value_ = name
        kind.status = status
        kind.exit_code = exit_code
        return kind

    BAD_REQUEST = "bad-request", 400, ExitCode.USAGE
    NO_TOKEN = "no-token", 401
    NEEDS_TOKENS = "needs-tokens", 403
    NOT_ALLOWED = "not-allowed", 403
    WRONG_ORIGIN = "wrong-origin", 403
    NOT_FOUND = "not-found", 404, ExitCode.USAGE
    NOT_A_STUDY = "not-a-study", 404, ExitCode.USAGE
    NOTHING_MEASURED = "nothing-measured", 404
    RESULTS_DAMAGED = "results-damaged", 404
    NO_FEASIBLE_CONFIG = "no-feasible-config", 404, ExitCode.NO_FEASIBLE_CONFIG
    WRONG_METHOD = "wrong-method", 405
    TOO_SLOW = "too-slow", 408
    NAME_TAKEN = "name-taken", 409, ExitCode.USAGE
    SETTINGS_CHANGED = "settings-changed", 409, ExitCode.USAGE
    WRONG_STATE = "wrong-state", 409
    TOO_LARGE = "too-large", 413, ExitCode.USAGE
    WRONG_TYPE = "wrong-type", 415, ExitCode.USAGE
    WRONG_HOST = "wrong-host", 421
    INVALID = "invalid", 422, ExitCode.USAGE
    LIMIT_TOO_LOW = "limit-too-low", 422, ExitCode.USAGE
    STUDY_FILE = "study-file", 422, ExitCode.USAGE
    DEFECT = "defect", 500
    TOO_MANY_CONNECTIONS = "too-many-connections", 503
    TOO_MANY_STREAMS = "too-many-streams", 503
    UNAVAILABLE = "unavailable", 503


def exit_code_of_problem(kind: str) -> ExitCode:
    """Return the exit code for a kind of problem; 1 for an unknown kind, such as that of a proxy or a newer service."""
    return next((each.exit_code for each in ProblemKind if each == kind), ExitCode.FAILED)
