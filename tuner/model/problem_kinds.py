"""The kinds of problem documents that the service answers with, and what each means to HTTP and to the command line."""

from enum import StrEnum

from tuner.model.errors import ExitCode


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
