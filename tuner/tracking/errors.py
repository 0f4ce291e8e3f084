"""What can go wrong with the mirror in MLflow; none of it touches the study's record.

StudyError
└── TrackingError           MLflow can't show the study now; `tuner sync` later      (exit 1)
    ├── TrackingBusy        another process is writing this study's mirror
    └── ReportFailed        trials are shown, but the report beside them could not be made
"""

from tuner.model.errors import StudyError


class TrackingError(StudyError):
    """MLflow can't show the study as things are."""


class TrackingBusy(TrackingError):  # noqa: N818 - names say what happened
    """Another process is writing this study's mirror."""


class ReportFailed(TrackingError):  # noqa: N818
    """Every trial is shown, but the report beside them could not be made."""
