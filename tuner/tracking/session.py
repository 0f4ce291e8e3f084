"""One attempt after the other to make MLflow show a study: connected, with what MLflow holds at hand."""

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Final

from tuner.model.spec import TrackingSpec
from tuner.model.trial import Kind, Trial
from tuner.results.study_results import results_of
from tuner.storage.protocols import ResultsStore
from tuner.tracking.connection import ReportFailed, TrackingBusy, TrackingLocation, connect, experiment_id, reason
from tuner.tracking.layout import SizeView, views
from tuner.tracking.writer import ExistingRun, Writer, digest, latency_file, parent_files, upload, upload_report

Report = Callable[[Path, Path], None]
"""Makes a study's report: takes its folder, and the folder to fill."""

_WRITING: Final = "mlflow-mirror"
_FILES_TAG: Final = "tuner.files"
_LATENCY_TAG: Final = "tuner.histograms"


class Stopped(Exception):  # noqa: N818 - names say what happened
    """Whoever asked for the work no longer waits for it."""


class MirrorSession:
    """What it knows of MLflow is good until the first error; then a new one is opened.

    Args:
        store: The study's record.
        folder: Where it lies.
        tracking: Where the mirror is.
        written: Keys of the runs made or changed are added to it.
        goes_on: Asked before each run whether to go on.

    Raises:
        TrackingBusy: Another process is writing the mirror.
        TrackingError: The experiment was deleted.
    """

    def __init__(
        self,
        store: ResultsStore,
        folder: Path,
        tracking: TrackingSpec,
        written: set[str],
        goes_on: Callable[[], bool] = lambda: True,
    ) -> None:
        self._store, self._folder, self._goes_on = store, folder, goes_on
        self._place = TrackingLocation.of(tracking, folder.parent)
        self._told: dict[str, str] = {}
        lock = store.hold(_WRITING)
        if lock is None:
            raise TrackingBusy(
                f"one process at a time may write the mirror of {folder.name}, but its run or another "
                "`tuner sync` is doing it; it catches up by itself"
            )
        self._lock = lock
        try:
            facts = store.facts()
            self._client = connect(self._place)
            name = tracking.experiment or f"kafka-tuner/{facts['target']}"
            experiment = experiment_id(self._client, self._place, name)
            self._writer = Writer(self._client, experiment, str(facts["study_id"]), written)
        except BaseException:
            self._lock.close()
            raise

    def close(self) -> None:
        """Let others write the mirror."""
        self._lock.close()

    def catch_up(self, *, settle: bool, on_progress: Callable[[int, int], None] = lambda _, __: None) -> None:
        """Show what the record holds.

        Args:
            settle: Look at every run and file, not only at those that are new or that the front's moving changed:
                gains of old trials follow the baseline's median, and are put right then.
            on_progress: Told how many trials are shown, and of how many.

        Raises:
            Stopped: `goes_on` said no.
        """
        study = results_of(self._store, self._folder)
        done, total = 0, sum(len(size.trials) for size in study.sizes)
        for view in views(study):
            shown = view.parent()
            parent = self._writer.write(shown)
            for trial in view.size.trials:
                if not self._goes_on():
                    raise Stopped
                key = view.trial_key(trial)
                known = self._writer.known(key)
                if settle or known is None or not known.ended:
                    child = view.child(trial, parent.run_id)
                    known = self._writer.write(child)
                    self._writer.end(child)
                else:
                    self._writer.mark(key, view.marks(trial, parent.run_id))
                self._show_latency(view, known, trial)
                done += 1
                on_progress(done, total)
            # Numbers in them change with every trial; what they say does not.
            if settle or self._told.get(view.key) != view.findings:
                self._show_files(view, parent)
                self._told[view.key] = view.findings
            self._writer.end(shown)

    def add_report(self, make: Report) -> None:
        """Put a report beside the runs.

        Raises:
            ReportFailed: It could not be made.
        """
        study = results_of(self._store, self._folder)
        with tempfile.TemporaryDirectory(prefix="tuner-report-") as folder:
            try:
                make(self._folder, Path(folder))
            except Exception as error:  # the report is another part's work, and may fail in any way
                raise ReportFailed(f"the report could not be made ({reason(error, self._place)})") from error
            found = {view.size.record_bytes: self._writer.known(view.key) for view in views(study)}
            parents = {record_bytes: known.run_id for record_bytes, known in found.items() if known is not None}
            upload_report(self._client, parents, [size.record_bytes for size in study.sizes], Path(folder))

    def _show_latency(self, view: SizeView, known: ExistingRun, trial: Trial) -> None:
        wanted = trial.number in view.size.front or trial.kind is Kind.BASELINE
        if not wanted or _LATENCY_TAG in known.tags:
            return
        files = latency_file(self._store, trial)
        if files:
            upload(self._client, known.run_id, files)
            self._writer.mark(view.trial_key(trial), {_LATENCY_TAG: "true"})

    def _show_files(self, view: SizeView, parent: ExistingRun) -> None:
        files = parent_files(view)
        contents = digest(files)
        if parent.tags.get(_FILES_TAG) != contents:
            upload(self._client, parent.run_id, files)
            self._writer.mark(view.key, {_FILES_TAG: contents})


class CatchingUp:
    """Keeps a session between attempts as long as it is good.

    Args:
        store: The study's record.
        folder: Where it lies.
        tracking: Where MLflow is.
        report: Makes the report that is put beside the runs; may be None.
        on_progress: Told how many trials are shown, and of how many.
        goes_on: Asked before each run whether to go on.

    Attributes:
        shown: Trials that MLflow is known to show.
        written: Keys of the runs made or changed.
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

    def attempt(self, *, settle: bool) -> Exception | None:
        """Try once.

        Args:
            settle: Look at every run, and put the report beside them.

        Returns:
            Why MLflow does not show everything; None if it does.
        """
        try:
            if self._session is None:
                self._session = MirrorSession(self._store, self._folder, self._tracking, self.written, self._goes_on)
            self._session.catch_up(settle=settle, on_progress=self._progress)
            if settle and self._report is not None:
                self._session.add_report(self._report)
        except ReportFailed as error:
            return error
        except Exception as error:  # noqa: BLE001 - whatever MLflow, its database or the network do, a study goes on
            self.close()
            return error
        return None

    def close(self) -> None:
        """Let go of MLflow; another attempt reads anew what it holds."""
        if self._session is not None:
            self._session.close()
            self._session = None

    def _progress(self, shown: int, total: int) -> None:
        self.shown = max(self.shown, shown)
        self._on_progress(shown, total)
