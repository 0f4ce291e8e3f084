"""What can go wrong in the service, beside what studies raise themselves.

StudyError                      (tuner.model.errors)
└── ServiceError                the service can't do what it is asked               (exit 1)
    ├── ServiceConfigError      the operator's file or a token is no good: mend it  (exit 1)
    ├── JobNotFound             no study of that name was submitted                 (HTTP 404)
    ├── NameTaken               another study has the name: choose another          (HTTP 409)
     ├── WrongMove               the study's state does not allow it                 (HTTP 409)
     └── TokensBusy              another command changes the tokens: try again later (exit 1)
"""

from tuner.model.errors import StudyError


class ServiceError(StudyError):
    """Base of all errors of the service."""


class ServiceConfigError(ServiceError):
    """What the operator gave the service can't be used."""


class TokensBusy(ServiceError):  # noqa: N818 - names say what happened
    """Another process changes the file of the tokens."""


class JobNotFound(ServiceError):  # noqa: N818
    """No study of that name is in the queue."""


class NameTaken(ServiceError):  # noqa: N818
    """Another study has that name."""


class WrongMove(ServiceError):  # noqa: N818
    """A study can't go from its state to the one asked for."""
