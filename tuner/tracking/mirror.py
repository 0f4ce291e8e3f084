"""Copies a study to MLflow, again after errors: in a thread beside the running study, or once for `tuner sync`."""

import logging
import os
import sys
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, Final

from tuner.execution.mirroring import SyncOutcome
from tuner.model.errors import StorageUnreachable, StudyError
from tuner.model.facts import FINISHED_AT, IN_MLFLOW
from tuner.model.progress import StudyState, state_of
from tuner.model.spec import TrackingSpec
from tuner.storage.locations import storage_at
from tuner.storage.protocols import ResultsStore, Storage
from tuner.tracking.connection import ReportFailed, TrackingBusy, TrackingLocation, import_mlflow, reason
from tuner.tracking.session import MirrorSession, Report

_LOG: Final = logging.getLogger(__name__)
_FIRST_RETRY_S: Final = 1.0
_LAST_RETRY_S: Final = 60.0
# An update reads all results of the study, so the updates take longer and longer. An update uses the same cores as the
# process that runs the study, which proposes configs and may also send the load.
_SHARE: Final = 0.1
"""The largest share of the time that updates may take while the study runs."""
# The thread does not get the lowest priority of all, because the main thread may have to wait until this thread
# releases Python's global lock.
_NICENESS: Final = 10
_LONGEST_REST_S: Final = 30.0


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


def sync(
    folder: Path,
    tracking: TrackingSpec,
    on_progress: Callable[[int, int], None] = lambda _, __: None,
    *,
    extra_artifacts: Report | None = None,
    storage: Storage | None = None,
) -> SyncOutcome:
    """Write all results of a study to MLflow, and return when all are written or when writing has failed.

    Args:
        folder: The study's folder.
        tracking: The URI and the experiment of MLflow.
        on_progress: Receives the number of trials that are shown, and the number of all trials.
        extra_artifacts: Function that makes the report to store with the runs.
        storage: The storage that holds the study. None: the storage that the environment names.

    Raises:
        StudyNotFound: The folder holds no study.
        ResultsDamaged: The study's results can't be read.
        StorageUnreachable: The shared storage does not answer.
    """
    location = TrackingLocation.of(tracking, folder.parent)
    with closing((storage or storage_at()).read(folder)) as store:
        with closing(CatchingUp(store, folder, tracking, extra_artifacts, on_progress)) as work:
            state = state_of(store.progress(), finished=bool(store.facts().get(FINISHED_AT)))
            error = work.attempt(settle=True, state=state)
        behind = _behind(store, work.shown)
    return SyncOutcome(len(work.written), behind, location.shown, reason(error, location) if error else None)


def _give_way() -> None:
    """Lower the priority of this thread, so that it takes little CPU time from the measurement of the next trial."""
    if sys.platform == "linux":
        with suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _NICENESS)


class MlflowMirror:
    """Writes a study to MLflow while the study runs, in a separate thread.

    The study never waits for MLflow, and an error of MLflow never ends it.

    Args:
        folder: The study's folder. The results store must exist when `start` is called.
        tracking: The URI and the experiment of MLflow.
        on_warning: Function that is called once, in the separate thread, with one sentence, if MLflow can't be written
            to.
        extra_artifacts: Function that makes the report to store with the runs at the end.
        storage: The storage that holds the study. None: the storage that the environment names.
    """

    def __init__(
        self,
        folder: Path,
        tracking: TrackingSpec,
        on_warning: Callable[[str], None],
        *,
        extra_artifacts: Report | None = None,
        storage: Storage | None = None,
    ) -> None:
        self._storage = storage or storage_at()
        self._folder, self._tracking, self._report = folder, tracking, extra_artifacts
        self._on_warning = on_warning
        self._location = TrackingLocation.of(tracking, folder.parent)
        self._news, self._ending, self._given_up = threading.Event(), threading.Event(), threading.Event()
        self._imported = threading.Event()
        self._thread = threading.Thread(target=self._run, name="mlflow-mirror", daemon=True)
        self._runs_written = self._shown = 0
        self._error: str | None = None
        self._state = StudyState.RUNNING
        self._remember: Callable[[str, Any], None] = lambda _, __: None
        self._in_mlflow: Mapping[str, Any] | None = None

    def start(self, remember: Callable[[str, Any], None] = lambda _, __: None) -> None:
        """Start the thread that writes to MLflow; see `Mirror.start`."""
        self._remember = remember
        self._news.set()
        self._thread.start()

    def poke(self) -> None:
        """Tell the thread that writes to MLflow that there are new results, without waiting for the thread."""
        self._news.set()

    def behind(self, stored: int) -> int:
        """Return the number of trials that MLflow may not show yet. This sends no request to MLflow."""
        return max(0, stored - self._shown) if self._thread.ident is not None else 0

    def finish(self, timeout_s: float, state: StudyState = StudyState.FINISHED) -> SyncOutcome:
        """Wait until MLflow shows all results or the time limit is over, then stop the thread."""
        if self._thread.ident is None:
            return SyncOutcome(0, 0, self._location.shown, None)
        self._state = state
        self._ending.set()
        self._news.set()
        # If Python ends while a thread imports a library in C++, the process aborts ("exception not rethrown").
        self._imported.wait()
        self._thread.join(timeout_s)
        self._given_up.set()
        late = f"MLflow was not brought up to date within {timeout_s:g} s" if self._thread.is_alive() else None
        try:
            with closing(self._storage.read(self._folder)) as store:
                behind = _behind(store, self._shown)
        except StorageUnreachable as error:  # the study has ended successfully, and must not fail now
            return SyncOutcome(self._runs_written, 0, self._location.shown, str(error))
        return SyncOutcome(self._runs_written, behind, self._location.shown, self._error or late)

    def _run(self) -> None:
        _give_way()
        with suppress(Exception):  # if MLflow can't be imported, the first attempt to write says so
            import_mlflow()  # this takes seconds, and `finish` waits for it
        self._imported.set()
        try:
            store = self._storage.read(self._folder)
        except StudyError as error:
            self._error = str(error)
            self._on_warning(f"MLflow will not show the study: {error}")
            return
        with (
            closing(store),
            closing(CatchingUp(store, self._folder, self._tracking, self._report, goes_on=self._goes_on)) as work,
        ):
            self._keep_up(work)

    def _keep_up(self, work: CatchingUp) -> None:
        retry_s, warned = 0.0, False
        while not self._given_up.is_set():
            self._wait(retry_s)
            ending, began_s = self._ending.is_set(), time.monotonic()
            error = work.attempt(settle=ending, state=self._state if ending else StudyState.RUNNING)
            self._runs_written, self._shown = len(work.written), work.shown
            self._error = reason(error, self._location) if error else None
            if error is None and retry_s:
                _LOG.info("MLflow at %s is back, and shows all trials", self._location.shown)
            self._store_in_mlflow_fact(work.in_mlflow)
            if ending and (error is None or isinstance(error, ReportFailed)):
                return
            if error is None:
                retry_s = 0.0
                took_s = time.monotonic() - began_s
                self._ending.wait(min(took_s * (1 / _SHARE - 1), _LONGEST_REST_S))
                continue
            retry_s = min(max(_FIRST_RETRY_S, 2 * retry_s), _LAST_RETRY_S)
            if not warned and not isinstance(error, TrackingBusy):
                warned = True
                self._on_warning(
                    f"MLflow at {self._location.shown} can't be written to ({self._error}): no results are lost, and "
                    f"the study continues; if MLflow stays behind, `tuner sync {self._folder.name}` updates it"
                )

    def _store_in_mlflow_fact(self, in_mlflow: Mapping[str, Any] | None) -> None:
        """Store where MLflow holds the study, if this has changed. Links to MLflow need this fact."""
        if in_mlflow is not None and in_mlflow != self._in_mlflow and not self._given_up.is_set():
            with suppress(StudyError):
                self._remember(IN_MLFLOW, in_mlflow)
                self._in_mlflow = in_mlflow

    def _wait(self, retry_s: float) -> None:
        """Wait for new results, or after an error until it is time to try again.

        The time between two tries grows with each error. At the end of the study, the time between two tries is only a
        second.
        """
        if not retry_s:
            self._news.wait()
        elif self._ending.is_set():
            self._given_up.wait(_FIRST_RETRY_S)
        else:
            self._ending.wait(retry_s)
        self._news.clear()

    def _goes_on(self) -> bool:
        return not self._given_up.is_set()


def _behind(store: ResultsStore, shown: int) -> int:
    return max(0, len(store.trials()) - shown)
