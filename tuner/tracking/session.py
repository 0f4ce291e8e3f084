"""One connection to MLflow, over which the new runs and files of a study are written. An error ends the connection."""

import logging
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from runners.host_processes.clean_up import temporary_folder
from tuner.execution.open_bench import counts
from tuner.model.facts import EXPERIMENT, MLFLOW_EXPERIMENT, STUDY_ID, TARGET
from tuner.model.progress import StudyState
from tuner.model.spec import TrackingSpec
from tuner.model.trial import Trial, TrialKind
from tuner.results.experiments.experiment_results import experiment_results
from tuner.results.study_results import results_of
from tuner.storage.protocols import ResultsStore
from tuner.tracking import tags
from tuner.tracking.connection import (
    PAGE,
    TEMPORARY_KIND,
    ReportFailed,
    TrackingBusy,
    TrackingLocation,
    connect,
    experiment_id,
    reason,
    runs_of,
)
from tuner.tracking.description import study_section, with_section
from tuner.tracking.experiment_layout import (
    experiment_files,
    experiment_key,
    experiment_run,
    experiment_table,
    measurement_key,
    measurement_run,
)
from tuner.tracking.run_content import RUNNING, status_of_study
from tuner.tracking.run_files import digest, latency_file, parent_files, upload, upload_report
from tuner.tracking.study_layout import SizeRuns, size_runs
from tuner.tracking.views import SavedView, of_study, views_of
from tuner.tracking.writer import ExistingRun, Writer

Report = Callable[[Path, Path], None]
"""A function that makes the report of a study. Arguments: the study's folder, and the folder to write the report to."""

_LOG: Final = logging.getLogger(__name__)
_PICTURE: Final = "front.png"
_WRITING: Final = "mlflow-mirror"


class UpdateStopped(Exception):
    """Raised to end an update of MLflow early, because the caller no longer waits for the update."""


class MirrorSession:
    """A connection over which one study is written to MLflow. It remembers which runs MLflow holds.

    After an error, the remembered runs may be wrong. In that case, close the session and open a new session.

    Args:
        store: The results store of the study.
        folder: The study's folder.
        tracking: The URI and the experiment of MLflow.
        written: A set to which the keys of all created or changed runs are added.
        goes_on: Called before each trial is written. If it returns False, `catch_up` raises `UpdateStopped`.

    Raises:
        TrackingBusy: Another process is writing this study to MLflow.
        TrackingError: The MLflow experiment of the study was deleted.
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
        self._location = TrackingLocation.of(tracking, folder.parent)
        self._views_refused = False
        self._written_findings: dict[str, str] = {}
        self._written_section = ""
        lock = store.hold(_WRITING)
        if lock is None:
            raise TrackingBusy(
                f"only one process at a time may write {folder.name} to MLflow, but the running study or another "
                "`tuner sync` is writing the study now: wait, that process brings MLflow up to date"
            )
        self._lock = lock
        try:
            facts = store.facts()
            self._client = connect(self._location)
            # Older releases did not store the name of a default experiment.
            name = tracking.experiment or facts.get(MLFLOW_EXPERIMENT) or f"kafka-tuner/{facts[TARGET]}"
            self._experiment_id = experiment_id(self._client, self._location, name)
            self._experiment_tags = dict(self._client.get_experiment(self._experiment_id).tags)
            self._writer = Writer(self._client, self._experiment_id, str(facts[STUDY_ID]), written)
            self._mark_left_behind(str(facts[STUDY_ID]), name)
        except BaseException:
            self._lock.close()
            raise

    @property
    def in_mlflow(self) -> Mapping[str, Any]:
        """Where MLflow holds the study, as the fact `IN_MLFLOW` describes it."""
        return {"experiment_id": str(self._experiment_id), "views": not self._views_refused}

    def close(self) -> None:
        """Close the session: release the lock, so that another process may write this study to MLflow."""
        self._lock.close()

    def catch_up(
        self, *, settle: bool, state: StudyState, on_progress: Callable[[int, int], None] = lambda _, __: None
    ) -> None:
        """Make MLflow show all results of the study.

        Args:
            settle: Whether to compare every run and file with MLflow, which takes longer. If False, only new trials and
                changed tags are written. In MLflow, the values of old trials then stay the same, although later trials
                may change them.
            state: The state of the study.
            on_progress: Receives the number of trials that are shown, and the number of all trials.

        Raises:
            UpdateStopped: `goes_on` returned False.
        """
        if EXPERIMENT in self._store.facts():
            self._catch_up_experiment(settle=settle, state=state, on_progress=on_progress)
            return
        study = results_of(self._store, self._folder)
        by_size, status = size_runs(study), status_of_study(state, finished=study.finished)
        done, total = 0, sum(len(size.trials) for size in study.sizes)
        for runs in by_size:
            content = runs.parent(status, self._picture(runs))
            parent = self._writer.write(content)
            if content.status != RUNNING:
                # After Ctrl-C, little time is left, so the status comes before the trials.
                self._writer.end(content)
            for trial in runs.size.trials:
                if not self._goes_on():
                    raise UpdateStopped
                key = runs.trial_key(trial)
                run = self._writer.known(key)
                if settle or run is None or not run.ended:
                    child = runs.child(trial, parent.run_id)
                    run = self._writer.write(child)
                    self._writer.end(child)
                else:
                    self._writer.mark(key, runs.marks(trial, parent.run_id))
                self._show_latency(runs, run, trial)
                done += 1
                on_progress(done, total)
            # Some numbers in the files change with every trial. While the study runs, the files are only written again
            # if the front or a recommendation has changed.
            if settle or self._written_findings.get(runs.key) != runs.findings:
                self._upload(runs.key, parent, parent_files(runs))
                self._written_findings[runs.key] = runs.findings
            self._writer.end(content)
        self._write_views(views_of(study))
        self._show_description(by_size)

    def _catch_up_experiment(self, *, settle: bool, state: StudyState, on_progress: Callable[[int, int], None]) -> None:
        """Make MLflow show all measurements of an experiment; see `catch_up`."""
        results = experiment_results(self._store, self._folder)
        by_name = {row.row.name: row for row in results.rows}
        measured = [*results.burn_in, *(trial for row in results.rows for trial in row.trials)]
        if not counts(self._store):
            # The experiment is removed if it ends now, so MLflow gets no run for it, and lacks nothing.
            on_progress(len(measured), len(measured))
            return
        content = experiment_run(results, status_of_study(state, finished=results.finished))
        parent = self._writer.write(content)
        for done, trial in enumerate(measured, 1):
            if not self._goes_on():
                raise UpdateStopped
            written_run = self._writer.known(measurement_key(results, trial))
            if settle or written_run is None or not written_run.ended:
                child = measurement_run(results, by_name[trial.row], trial, parent.run_id)
                self._writer.write(child)
                self._writer.end(child)
            on_progress(done, len(measured))
        if settle:
            files = experiment_files(results, self._store.study_file())
            self._upload(experiment_key(results), parent, files)
        self._writer.end(content)
        self._write_views([experiment_table(results)])

    def add_report(self, make: Report) -> None:
        """Make the report of the study, and store it with the MLflow run of each record size.

        Raises:
            ReportFailed: The report could not be made.
        """
        study = results_of(self._store, self._folder)
        with temporary_folder(TEMPORARY_KIND, "tuner-report-") as folder:
            try:
                make(self._folder, folder)
            except Exception as error:  # the report comes from other code, which may raise any error
                raise ReportFailed(f"the report could not be made ({reason(error, self._location)})") from error
            written_runs = {runs.size.record_bytes: self._writer.known(runs.key) for runs in size_runs(study)}
            parents = {record_bytes: known.run_id for record_bytes, known in written_runs.items() if known is not None}
            upload_report(self._client, parents, [size.record_bytes for size in study.sizes], folder)
            for runs in size_runs(study):
                if (folder / runs.size.record_bytes / _PICTURE).is_file() and runs.size.record_bytes in parents:
                    self._writer.mark(runs.key, {tags.PICTURE: _PICTURE})
                    self._writer.mark(runs.key, {tags.NOTE: runs.note(self._picture(runs))})
            self._show_description(size_runs(study))

    def _mark_left_behind(self, study_id: str, name: str) -> None:
        """Mark the study's runs in other experiments as old, because `tracking.experiment` has changed."""
        from mlflow.exceptions import MlflowException

        try:
            experiments = self._client.search_experiments(max_results=PAGE)
            others = [each.experiment_id for each in experiments if each.experiment_id != self._experiment_id]
            for run in runs_of(self._client, others, of_study(study_id)) if others else ():
                is_parent = run.data.tags.get(tags.KIND) in (tags.STUDY_KIND, tags.EXPERIMENT_KIND)
                if is_parent and run.data.tags.get(tags.MOVED_TO) != name:
                    self._client.set_tag(run.info.run_id, tags.NOTE, f"Old: {run.info.run_name} is in {name} now.")
                    self._client.set_tag(run.info.run_id, tags.MOVED_TO, name)
        except MlflowException as error:  # the user may read that experiment, but not change it
            _LOG.info("MLflow does not mark the runs in another experiment as old: %s", reason(error, self._location))

    def _show_latency(self, runs: SizeRuns, existing: ExistingRun, trial: Trial) -> None:
        wanted = trial.number in runs.size.front or trial.kind is TrialKind.BASELINE
        if not wanted or tags.HISTOGRAMS in existing.tags:
            return
        files = latency_file(self._store, trial)
        if files:
            upload(self._client, existing.run_id, files)
            self._writer.mark(runs.trial_key(trial), {tags.HISTOGRAMS: "true"})

    def _picture(self, runs: SizeRuns) -> str | None:
        """Return the address of the picture of a front, relative to MLflow's pages; None if MLflow does not hold it."""
        known = self._writer.known(runs.key)
        if known is None or tags.PICTURE not in known.tags:
            return None
        return f"get-artifact?path={known.tags[tags.PICTURE]}&run_uuid={known.run_id}"

    def _write_views(self, prepared: Iterable[SavedView]) -> None:
        """Write prepared views as tags of the experiment.

        If MLflow refuses a tag, the links to the view hold its filter instead; see `SavedView.link`.
        """
        from mlflow.exceptions import MlflowException

        try:
            for view in prepared:
                value = view.value(self._experiment_tags.get(view.tag), round(time.time() * 1000))
                if value is not None:
                    self._client.set_experiment_tag(self._experiment_id, view.tag, value)
                    self._experiment_tags[view.tag] = value
        except MlflowException as error:
            self._views_refused = True
            _LOG.info("MLflow does not keep the prepared views: %s", reason(error, self._location))

    def _show_description(self, shown: Sequence[SizeRuns]) -> None:
        """Write the study's recommendations into the description of the experiment, if they have changed."""
        from mlflow.exceptions import MlflowException

        if not shown:
            return
        section = study_section(shown, [found for runs in shown if (found := self._picture(runs)) is not None])
        if section == self._written_section:
            return
        try:
            # Another study may have written its section meanwhile.
            kept = self._client.get_experiment(self._experiment_id).tags.get(tags.NOTE, "")
            if section not in kept:
                self._client.set_experiment_tag(self._experiment_id, tags.NOTE, with_section(kept, section))
            self._written_section = section
        except MlflowException as error:
            _LOG.info("MLflow does not keep the description: %s", reason(error, self._location))

    def _upload(self, key: str, run: ExistingRun, files: Mapping[str, str]) -> None:
        """Store files with a run, unless MLflow holds them already."""
        contents = digest(files)
        if run.tags.get(tags.FILES) != contents:
            upload(self._client, run.run_id, files)
            self._writer.mark(key, {tags.FILES: contents})
