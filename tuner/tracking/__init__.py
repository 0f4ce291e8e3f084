"""Copies the results of studies to MLflow, where users can view them. A study itself reads only its own results store.

Importing this package does not import MLflow.
"""

from tuner.execution.mirroring import SyncOutcome
from tuner.tracking.connection import ReportFailed, TrackingBusy, TrackingError, TrackingLocation, tracking_of
from tuner.tracking.mirror import MlflowMirror, sync
from tuner.tracking.recommendations_in_mlflow import recommend_from_tracking, recommendations_from_tracking
from tuner.tracking.session import Report
from tuner.tracking.views import links_of

__all__ = [
    "MlflowMirror",
    "Report",
    "ReportFailed",
    "SyncOutcome",
    "TrackingBusy",
    "TrackingError",
    "TrackingLocation",
    "links_of",
    "recommend_from_tracking",
    "recommendations_from_tracking",
    "sync",
    "tracking_of",
]
