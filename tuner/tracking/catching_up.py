"""Repeats writing to MLflow after errors, each time over a new connection, until it holds all results of a study."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tuner.model.progress import StudyState
from tuner.model.spec import TrackingSpec
from tuner.storage.protocols import ResultsStore
from tuner.tracking.connection import ReportFailed
from tuner.tracking.session import MirrorSession, Report


class CatchingUp:
    """Writes all results of a study to MLflow, in as many attempts as needed.

    Each attempt after an error opens a new connection to MLflow.

    Args:
        store: The results store of the study.
        folder: The study's folder.
        tracking: The URI and the experiment of MLflow.
        report: Function that makes the report to store with the runs; None for no report.
        on_progress: Receives the number of trials that are shown, and the number of all trials.
        goes_on: Called before each trial is written. If it returns False, the attempt ends.

    Attributes:
        shown: The number of trials that MLflow is known to show.
        written: The keys of all runs that were created or changed.
        in_mlflow: Where MLflow holds the study, as the fact `IN_MLFLOW` describes it; None until the first attempt that
            wrote everything.
    """

    def __init__(
        self,
        store: ResultsStore,
        folder: Path,
        tracking: TrackingSpec,
        report: Report | None,
        on_progress: Callable[[int, int], None] = lambda _, __: None,
        goes_on: Callable[[], bool] = lambda: True,
    ) -> None:
        self._store, self._folder, self._tracking, self._report = store, folder, tracking, report
        self._on_progress, self._goes_on = on_progress, goes_on
        self._session: MirrorSession | None = None
        self.shown = 0
        self.written: set[str] = set()
        self.in_mlflow: Mapping[str, Any] | None = None

    def attempt(self, *, settle: bool, state: StudyState = StudyState.RUNNING) -> Exception | None:
        """Try once to make MLflow show all results of the study.

        Args:
            settle: Whether to check also the runs that are complete, and to store the report of the study.
            state: The state of the study.

        Returns:
            The error because of which the attempt failed, or None if MLflow shows everything.
        """
        try:
            if self._session is None:
                self._session = MirrorSession(self._store, self._folder, self._tracking, self.written, self._goes_on)
            self._session.catch_up(settle=settle, state=state, on_progress=self._progress)
            self.in_mlflow = self._session.in_mlflow
            if settle and self._report is not None:
                self._session.add_report(self._report)
        except ReportFailed as error:
            return error
        except Exception as error:  # noqa: BLE001 - no error of MLflow, its database or the network may end a study
            self.close()
            return error
        return None

    def close(self) -> None:
        """Close the connection to MLflow. The next attempt connects again, and reads again which runs MLflow holds."""
        if self._session is not None:
            self._session.close()
            self._session = None

    def _progress(self, shown: int, total: int) -> None:
        self.shown = max(self.shown, shown)
        self._on_progress(shown, total)
