"""Compares the content that a run should have with what MLflow holds, and writes only the difference.

At the start, the writer asks MLflow for the study's runs, and identifies each run by a key in its tags. So it also
finds runs that were created just before a crash, and we need no list of runs outside MLflow.
"""

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from tuner.tracking.connection import runs_of
from tuner.tracking.run_content import RUNNING, MetricPoint, RunContent
from tuner.tracking.study_layout import VOLUME, may_be_withdrawn
from tuner.tracking.tags import KEY, KIND, MOVED_TO, STUDY_ID, STUDY_KIND

if TYPE_CHECKING:
    from mlflow import MlflowClient
    from mlflow.entities import Run


@dataclass(slots=True)
class ExistingRun:
    """A run in MLflow, with the content that we have read from it or written to it.

    Attributes:
        run_id: MLflow's id of the run.
        name: The name that MLflow shows.
        status: The status under MLflow's name.
        tags: Tags by name.
        params: Params by name.
        metrics: Latest value of each metric by name.
        volume: Hypervolume by trial number; empty for the runs of trials.
    """

    run_id: str
    name: str
    status: str
    tags: dict[str, str] = field(default_factory=dict)
    params: dict[str, str] = field(default_factory=dict)
    metrics: dict[str, float] = field(default_factory=dict)
    volume: dict[int, float] = field(default_factory=dict)

    @property
    def ended(self) -> bool:
        """Whether the run is complete.

        Most content of a complete run never changes, so it is not compared with new content.
        """
        return self.status != RUNNING


class Writer:
    """Writes the runs of one study to MLflow.

    Args:
        client: The client of MLflow.
        experiment_id: The experiment that the runs belong to.
        study_id: The id of the study.
        written: A set to which the keys of all created or changed runs are added.
    """

    def __init__(self, client: "MlflowClient", experiment_id: str, study_id: str, written: set[str]) -> None:
        self._client, self._experiment_id, self._written = client, experiment_id, written
        self._known: dict[str, ExistingRun] = {}
        # A crash or a slow answer may have created a run twice. Complete runs come first, so that they are kept and
        # the other copy is deleted.
        runs = runs_of(client, [experiment_id], f"tags.`{STUDY_ID}` = '{study_id}'")
        for run in sorted(runs, key=lambda run: (run.info.status == RUNNING, run.info.run_id)):
            key = run.data.tags.get(KEY, "")
            if not key.startswith(f"{study_id}/"):
                continue  # somebody else made this run and tagged it with the study's id
            if key in self._known:
                client.delete_run(run.info.run_id)
            else:
                self._known[key] = self._read(run)
                if MOVED_TO in run.data.tags:  # the study has come back to this experiment
                    client.delete_tag(run.info.run_id, MOVED_TO)

    def known(self, key: str) -> ExistingRun | None:
        """Return the run with that key, with the content that it has in MLflow.

        The result is None if MLflow holds no run with that key.
        """
        return self._known.get(key)

    def write(self, content: RunContent) -> ExistingRun:
        """Create or update a run, but don't set its final status.

        The caller sets the final status with `end` later.
        """
        run = self._known.get(content.key) or self._create(content)
        if run.name != content.name:  # an earlier release has written the run
            self._client.update_run(run.run_id, name=content.name)
            run.name = content.name
            self._written.add(content.key)
        params = {name: text for name, text in content.params.items() if name not in run.params}
        last = max((point.step for point in content.points), default=0)
        points = [point for point in content.points if _is_new(point, last, run)]
        # MLflow can't delete a metric.
        shown_names = {point.name for point in content.points}
        gone = [name for name in run.metrics if may_be_withdrawn(name) and name not in shown_names]
        points += [MetricPoint(name, math.nan, last, 0) for name in gone if not math.isnan(run.metrics[name])]
        # Of two values with the same step, MLflow shows the one with the later time, or else the larger one.
        now_ms = round(time.time() * 1000)
        points = [replace(point, at_ms=now_ms) if point.name in run.metrics else point for point in points]
        self._log(content.key, run, content.tags, params, points)
        return run

    def mark(self, key: str, tags: Mapping[str, str]) -> None:
        """Set tags of the run with that key, which must exist in MLflow."""
        self._log(key, self._known[key], tags, {}, ())

    def end(self, content: RunContent) -> None:
        """Set the status of a run and, if the run is complete, its end time."""
        run = self._known[content.key]
        if run.status == content.status:
            return
        if content.end_ms is None:
            self._client.update_run(run.run_id, status=content.status)
        else:
            self._client.set_terminated(run.run_id, status=content.status, end_time=content.end_ms)
        run.status = content.status
        self._written.add(content.key)

    def _read(self, run: "Run") -> ExistingRun:
        info, data = run.info, run.data
        existing = ExistingRun(
            info.run_id, info.run_name, info.status, dict(data.tags), dict(data.params), dict(data.metrics)
        )
        if data.tags.get(KIND) == STUDY_KIND:
            history = self._client.get_metric_history(run.info.run_id, VOLUME)
            for metric in sorted(history, key=lambda metric: metric.timestamp):
                existing.volume[metric.step] = metric.value
        return existing

    def _create(self, content: RunContent) -> ExistingRun:
        tags = dict(content.tags)
        run = self._client.create_run(self._experiment_id, content.start_ms, tags, content.name)
        self._known[content.key] = known = ExistingRun(run.info.run_id, content.name, RUNNING, tags)
        self._written.add(content.key)
        return known

    def _log(
        self,
        key: str,
        existing: ExistingRun,
        tags: Mapping[str, str],
        params: Mapping[str, str],
        points: Sequence[MetricPoint],
    ) -> None:
        from mlflow.entities import Metric, Param, RunTag

        changed = {name: text for name, text in tags.items() if existing.tags.get(name) != text}
        if not (changed or params or points):
            return
        self._client.log_batch(
            existing.run_id,
            metrics=[Metric(point.name, point.value, point.at_ms, point.step) for point in points],
            params=[Param(name, text) for name, text in params.items()],
            tags=[RunTag(name, text) for name, text in changed.items()],
            synchronous=True,
        )
        existing.tags.update(changed)
        existing.params.update(params)
        existing.metrics.update((point.name, point.value) for point in points)
        existing.volume.update((point.step, point.value) for point in points if point.name == VOLUME)
        self._written.add(key)


def _is_new(point: MetricPoint, last: int, existing: ExistingRun) -> bool:
    if point.name != VOLUME:
        return existing.metrics.get(point.name) != point.value
    if point.step not in existing.volume:
        return True
    # Each new baseline trial changes the baseline's median, and so the hypervolume of every step. Only the latest step
    # is corrected; the earlier ones stay as they were.
    return point.step == last and existing.volume[point.step] != point.value
