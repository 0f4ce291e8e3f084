"""What can go wrong with a study, beside what the layers below raise.

StudyError
├── StudyNotFound       no study has that name                                   (exit 2)
├── StudyChanged        the file asks for another study than the one on record   (exit 2)
├── StudyBusy           another process is running it                            (exit 1)
├── RecordDamaged       the results store can't be read, or belongs to a newer release (exit 1)
├── NoFeasibleConfig    nothing can be recommended under these conditions        (exit 5)
└── TooManyFailures     trial after trial gave no measurement                    (exit 1)
"""


class StudyError(Exception):
    """Base of all errors about studies."""


class StudyNotFound(StudyError):  # noqa: N818 - names say what happened
    """No study of that name lies where we look."""


class StudyChanged(StudyError):  # noqa: N818
    """The study on record was asked another question; its trials can't answer this one."""


class StudyBusy(StudyError):  # noqa: N818
    """Another process runs the study."""


class RecordDamaged(StudyError):  # noqa: N818
    """The results store can't be read."""


class NoFeasibleConfig(StudyError):  # noqa: N818
    """No config keeps every condition."""


class TooManyFailures(StudyError):  # noqa: N818
    """Trial after trial gave no measurement: something other than the configs is wrong."""
