"""Brings the runs of one study in MLflow to what they are to be, and writes the difference only.

What MLflow holds is read once, at the start; so a run that was made just before a crash is found again by its key, and
nothing about the mirror needs to be kept on our side.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from tuner.tracking.layout import KEY_TAG, PARENT_KIND, RUNNING, STUDY_ID_TAG, VOLUME, Point, Shown

if TYPE_CHECKING:
    from mlflow import MlflowClient
    from mlflow.entities import Run

_PAGE: Final = 1_000


@dataclass(slots=True)
class Known:
    """A run as MLflow holds it.

    Attributes:
        run_id: MLflow's name of it.
        status: MLflow's word.
        tags: By name.
        params: By name.
        metrics: Latest value by name.
        volume: Hypervolume by step; of parent runs.
    """

    run_id: str
    status: str
    tags: dict[str, str] = field(default_factory=dict)
    params: dict[str, str] = field(default_factory=dict)
    metrics: dict[str, float] = field(default_factory=dict)
    volume: dict[int, float] = field(default_factory=dict)

    @property
    def ended(self) -> bool:
        """Whether it was written to its end; what never changes is not looked at again."""
        return self.status != RUNNING


class Writer:
    """Writes the runs of one study.

    Attributes:
        written: Keys of the runs that were made or changed.
    """

    def __init__(self, client: "MlflowClient", experiment_id: str, study_id: str) -> None:
        self._client, self._experiment_id = client, experiment_id
        self.written: set[str] = set()
        self._known: dict[str, Known] = {}
        # Those written to their end first: where a crash or a slow answer has doubled a run, the other one goes.
        for run in sorted(self._runs(study_id), key=lambda run: (run.info.status == RUNNING, run.info.run_id)):
            key = run.data.tags.get(KEY_TAG, "")
            if key in self._known:
                client.delete_run(run.info.run_id)
            else:
                self._known[key] = self._read(run)

    def known(self, key: str) -> Known | None:
        """The run under that key, as MLflow holds it; None if it is not there."""
        return self._known.get(key)

    def write(self, shown: Shown) -> Known:
        """Make or change a run; its end is written by `end`, when all that belongs to it is there."""
        known = self._known.get(shown.key) or self._create(shown)
        params = {name: text for name, text in shown.params.items() if name not in known.params}
        last = max((point.step for point in shown.points), default=0)
        points = [point for point in shown.points if _is_new(point, last, known)]
        self._log(shown.key, known, shown.tags, params, points)
        return known

    def mark(self, key: str, tags: Mapping[str, str]) -> None:
        """Change tags of a run that is known."""
        self._log(key, self._known[key], tags, {}, ())

    def end(self, shown: Shown) -> None:
        """Give a run its status."""
        known = self._known[shown.key]
        if known.status == shown.status:
            return
        if shown.end_ms is None:
            self._client.update_run(known.run_id, status=shown.status)
        else:
            self._client.set_terminated(known.run_id, status=shown.status, end_time=shown.end_ms)
        known.status = shown.status
        self.written.add(shown.key)

    def _runs(self, study_id: str) -> "list[Run]":
        found: list[Run] = []
        token = None
        while True:
            page = self._client.search_runs(
                [self._experiment_id], f"tags.`{STUDY_ID_TAG}` = '{study_id}'", max_results=_PAGE, page_token=token
            )
            found += page
            token = page.token
            if not token:
                return found

    def _read(self, run: "Run") -> Known:
        data = run.data
        known = Known(run.info.run_id, run.info.status, dict(data.tags), dict(data.params), dict(data.metrics))
        if data.tags.get("tuner.kind") == PARENT_KIND:
            history = self._client.get_metric_history(run.info.run_id, VOLUME)
            for metric in sorted(history, key=lambda metric: metric.timestamp):
                known.volume[metric.step] = metric.value
        return known

    def _create(self, shown: Shown) -> Known:
        tags = dict(shown.tags)
        run = self._client.create_run(self._experiment_id, shown.start_ms, tags, shown.name)
        self._known[shown.key] = known = Known(run.info.run_id, RUNNING, tags)
        self.written.add(shown.key)
        return known

    def _log(
        self,
        key: str,
        known: Known,
        tags: Mapping[str, str],
        params: Mapping[str, str],
        points: Sequence[Point],
    ) -> None:
        from mlflow.entities import Metric, Param, RunTag

        changed = {name: text for name, text in tags.items() if known.tags.get(name) != text}
        if not (changed or params or points):
            return
        self._client.log_batch(
            known.run_id,
            metrics=[Metric(point.name, point.value, point.at_ms, point.step) for point in points],
            params=[Param(name, text) for name, text in params.items()],
            tags=[RunTag(name, text) for name, text in changed.items()],
            synchronous=True,
        )
        known.tags.update(changed)
        known.params.update(params)
        known.metrics.update((point.name, point.value) for point in points)
        known.volume.update((point.step, point.value) for point in points if point.name == VOLUME)
        self.written.add(key)


def _is_new(point: Point, last: int, known: Known) -> bool:
    if point.name != VOLUME:
        return known.metrics.get(point.name) != point.value
    if point.step not in known.volume:
        return True
    # The baseline's median moves with each repeat, and all volumes with it: the latest is put right, history stays.
    return point.step == last and known.volume[point.step] != point.value
