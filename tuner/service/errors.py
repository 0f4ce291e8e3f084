"""Errors of the service, in addition to those that studies raise.

StudyError                      (tuner.model.errors)
├── RequestRefused
│   └── TokenNameRefused        a token can't get this name, or none has it                       (exit 2)
└── ServiceError                the service can't do what it was asked to do                      (exit 1)
    ├── ServiceConfigError      the service's config file or the token file is wrong: correct it  (exit 1)
    ├── JobNotFound             no study of this name was submitted                               (HTTP 404)
    ├── NameTaken               another study has this name: choose another name                  (HTTP 409)
    ├── WrongMove               the study's state does not allow the request                      (HTTP 409)
    └── TokensBusy              another command is changing the tokens: try again later           (exit 1)
"""

from tuner.model.errors import RequestRefused, StudyError


class ServiceError(StudyError):
    """Base of all errors of the service."""


class ServiceConfigError(ServiceError):
    """The service's config file, its tokens or its address can't be used."""


class TokenNameRefused(RequestRefused):
    """A token can't get the name that was given, or no token has it."""


class TokensBusy(ServiceError):
    """Another process is changing the token file."""


class JobNotFound(ServiceError):
    """No study of this name was submitted to the service."""


class NameTaken(ServiceError):
    """Another study with a different study file already has this name, and can't be replaced."""


class WrongMove(ServiceError):
    """A study can't go from its present state to the requested state."""
