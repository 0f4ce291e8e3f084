"""The prepared views of a study in MLflow: tables and charts in MLflow's menu *Views*, which a link opens.

MLflow keeps a view as a tag of the experiment, in a format that it does not document.
Source: the web pages of MLflow 3.17.2 (mlflow/server/js). tests/campaign/test_mlflow_in_a_browser.py opens each view.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import quote, urlsplit

from objectives.metrics import OUTCOME_METRICS, Direction
from objectives.scoring import Objective
from tuner.model.facts import STUDY_ID
from tuner.model.goals import goals_of
from tuner.model.trial import CONFIRMING_KINDS, TrialKind
from tuner.results.study_results import SizeResults, StudyResults
from tuner.tracking import tags
from tuner.tracking.connection import TrackingError, TrackingLocation, read_from, runs_of
from tuner.tracking.run_content import TRIAL_NUMBER
from tuner.tracking.study_layout import TIMES, VOLUME

RUN_NAME: Final = "attributes.`Run Name`"
_MOST_KNOBS: Final = 12
_SECTION: Final = "tuner"


@dataclass(frozen=True, slots=True)
class SavedView:
    """One prepared view.

    Attributes:
        key: The id of the view in MLflow. It never changes, so that a view is updated and not added again.
        name: The name in MLflow's menu.
        condition: Which runs the view shows, in MLflow's filter language.
        order_by: The metric by which the runs are sorted.
        ascending: Whether the lowest value comes first.
        columns: The columns of the table.
        charts: The charts, as MLflow describes them. Empty if the view is a table.
    """

    key: str
    name: str
    condition: str
    order_by: str
    ascending: bool
    columns: tuple[str, ...]
    charts: tuple[Mapping[str, Any], ...] = ()

    @property
    def tag(self) -> str:
        """The name of the experiment tag that holds the view."""
        return tags.VIEW + self.key

    def value(self, kept: str | None, now_ms: int) -> str | None:
        """Return the content that the experiment tag should have, or None if the tag has it already.

        Args:
            kept: The content of the tag; None if there is no such tag.
            now_ms: The time now, in milliseconds since 1970 in UTC.
        """
        old = _parsed(kept)
        new = {"name": self.name, "state": json.dumps(self._state())}
        if all(old.get(name) == text for name, text in new.items()):
            return None
        return json.dumps({"createdAt": now_ms, **old, **new, "updatedAt": now_ms})

    def link(self, address: str, experiment_id: str, *, saved: bool) -> str:
        """Return a link that opens the view in MLflow.

        Args:
            address: The address of the MLflow server.
            experiment_id: The experiment of the study.
            saved: Whether the experiment has the view's tag. If not, the link holds the filter and the order of the
                runs, and MLflow chooses the columns.
        """
        parameters = {"viewStateShareKey": self.key}
        if not saved:
            order = metric_column(self.order_by)
            parameters = {
                "searchFilter": self.condition,
                "orderByKey": order,
                "orderByAsc": str(self.ascending).lower(),
            }
        # Without the type, MLflow opens its pages for language models.
        parameters |= {"workflowType": "machine_learning", **({"compareRunsMode": "CHART"} if self.charts else {})}
        query = "&".join(f"{name}={quote(text, safe='')}" for name, text in parameters.items())
        return f"{address}/#/experiments/{experiment_id}/runs?{query}"

    def _state(self) -> dict[str, Any]:
        section = {"uuid": _SECTION, "name": self.name, "display": True, "columns": 2}
        section |= dict.fromkeys(("isReordered", "deleted", "isGenerated"), False)
        return {
            "searchFilter": self.condition,
            "orderByKey": metric_column(self.order_by),
            "orderByAsc": self.ascending,
            "startTime": "ALL",
            "lifecycleFilter": "Active",
            "datasetsFilter": [],
            "modelVersionFilter": "All Runs",
            "selectedColumns": list(self.columns),
            "runsHiddenMode": "SHOW_ALL",
            "columnOrder": list(self.columns),
            # Without `isAccordionReordered`, MLflow sorts our section by its name among its own sections of metrics.
            **(
                {"compareRunCharts": list(self.charts), "compareRunSections": [section], "isAccordionReordered": True}
                if self.charts
                else {}
            ),
        }


def views_of(study: StudyResults) -> Iterator[SavedView]:
    """Yield the prepared views of a study, the front of each record size first."""
    study_id = str(study.facts[STUDY_ID])
    conditions = [
        (size, f"{of_study(study_id)} and {tag_condition(tags.RECORD_BYTES)} = '{size.record_bytes}'")
        for size in study.sizes
        if size.trials
    ]
    yield from (_front(study, size, condition) for size, condition in conditions)
    yield from (_charts(study, size, condition) for size, condition in conditions)
    objectives = [objective.metric for objective in study.objectives]
    numbers = [metric_column(name) for name in objectives]
    size_column, kind, verdict = map(tag_column, (tags.RECORD_BYTES, tags.KIND, tags.VERDICT))
    times = [metric_column(f"{name}{TIMES}") for name in objectives]
    yield SavedView(
        f"tuner-{study_id}-trials",
        f"{study.name}: all trials",
        f"{of_study(study_id)} and {tag_condition(tags.KIND)} != '{tags.STUDY_KIND}'",
        order_by=TRIAL_NUMBER,
        ascending=True,
        columns=(RUN_NAME, size_column, kind, *numbers, *times, verdict, tag_column(tags.CHANGED)),
    )
    yield SavedView(
        f"tuner-{study_id}-confirmations",
        f"{study.name}: confirmations",
        f"{of_study(study_id)} and {tag_condition(tags.KIND)} = '{TrialKind.CONFIRM}'",
        order_by=TRIAL_NUMBER,
        ascending=True,
        columns=(RUN_NAME, size_column, tag_column(tags.ROUND), tag_column(tags.CONFIG), *numbers, verdict),
    )
    best = [metric_column(f"best_{name}") for name in objectives]
    goals = goals_of(study.objectives)
    proven = [
        metric_column(f"{goal}/{name}_gain{end}") for goal in goals for name in objectives for end in ("", "_low")
    ]
    yield SavedView(
        # Studies with other objectives in the same experiment need other columns.
        f"tuner-studies-{'-'.join(objectives)}",
        f"Studies side by side ({', '.join(objectives)})",
        f"{tag_condition(tags.KIND)} = '{tags.STUDY_KIND}'",
        order_by=VOLUME,
        ascending=False,
        columns=(RUN_NAME, size_column, metric_column(VOLUME), *best, *proven),
    )


def links_of(study: StudyResults, location: TrackingLocation, address: str | None = None) -> dict[str, str]:
    """Return the links that open the views of a study in MLflow, by the names of the views.

    Args:
        study: The results of the study.
        location: Where MLflow keeps the results.
        address: The address of the MLflow server. None: the address that the location names.

    Raises:
        TrackingError: MLflow can't be read, or does not hold the study.
    """
    if address is None:
        # A link is for a browser, so it holds no user name and no password.
        parts = urlsplit(location.uri)
        address = parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl().rstrip("/")
    with read_from(location) as client:
        experiments = [each.experiment_id for each in client.search_experiments()]
        of_all = runs_of(client, experiments, of_study(str(study.facts[STUDY_ID])), ["attributes.start_time DESC"])
        old = {run.info.experiment_id for run in of_all if tags.MOVED_TO in run.data.tags}
        runs = [run for run in of_all if run.info.experiment_id not in old]
        if not runs:
            raise TrackingError(
                f"MLflow does not hold the study {study.name}; `tuner sync {study.name}` writes it there"
            )
        experiment = client.get_experiment(runs[0].info.experiment_id)
    experiment_id = str(experiment.experiment_id)
    return {each.name: each.link(address, experiment_id, saved=each.tag in experiment.tags) for each in views_of(study)}


def _front(study: StudyResults, size: SizeResults, condition: str) -> SavedView:
    first = study.objectives[0]
    names = [objective.metric for objective in study.objectives]
    return SavedView(
        f"tuner-{study.facts[STUDY_ID]}-front-{_plain(size.record_bytes)}",
        f"{study.name} {size.record_bytes} B: front",
        f"{condition} and {tag_condition(tags.PARETO)} = 'true'",
        order_by=first.metric,
        ascending=first.direction is Direction.MINIMIZE,
        columns=(
            RUN_NAME,
            *map(metric_column, names),
            *(metric_column(f"{name}{TIMES}") for name in names),
            tag_column(tags.VERDICT),
            tag_column(tags.CHANGED),
            tag_column(tags.RECOMMENDED),
            *(f"params.`{name}`" for name in _changed(size)),
        ),
    )


def _charts(study: StudyResults, size: SizeResults, condition: str) -> SavedView:
    left_out = (TrialKind.BURN_IN, *CONFIRMING_KINDS)
    across, up = _axes(study.objectives)
    names = [objective.metric for objective in study.objectives]
    charts: list[Mapping[str, Any]] = [
        _chart("SCATTER", "throughput-latency", xaxis=_axis(across), yaxis=_axis(up)),
        _chart("PARALLEL", "knobs", selectedParams=_varied(size), selectedMetrics=names, showAllRuns=True),
        _chart("LINE", VOLUME, metricKey=VOLUME, selectedMetricKeys=[VOLUME], xAxisKey="step"),
    ]
    return SavedView(
        f"tuner-{study.facts[STUDY_ID]}-charts-{_plain(size.record_bytes)}",
        f"{study.name} {size.record_bytes} B: charts",
        " and ".join([condition, *(f"{tag_condition(tags.KIND)} != '{kind}'" for kind in left_out)]),
        order_by=study.objectives[0].metric,
        ascending=study.objectives[0].direction is Direction.MINIMIZE,
        columns=(RUN_NAME, *map(metric_column, names), tag_column(tags.CHANGED)),
        charts=tuple(charts),
    )


def _axes(objectives: Sequence[Objective]) -> tuple[str, str]:
    """Return the metrics of the scatter chart: throughput across and latency up, or else the first two objectives."""
    names = list(dict.fromkeys((*(objective.metric for objective in objectives), "mb_per_s", "latency_p99_ms")))[:2]
    names.sort(key=lambda name: OUTCOME_METRICS[name].direction is Direction.MINIMIZE)
    return names[0], names[1]


def _chart(kind: str, name: str, **settings: Any) -> dict[str, Any]:
    return {
        "type": kind,
        "uuid": f"tuner-{name}",
        "metricSectionId": _SECTION,
        "deleted": False,
        "isGenerated": False,
        "runsCountToCompare": 100,
        **settings,
    }


def _changed(size: SizeResults) -> list[str]:
    """Return the properties that a config on the front sets to another value than the baseline, by name."""
    usual = size.baseline.values if size.baseline else {}
    found = {name for trial in size.front_trials for name, value in trial.values.items() if usual.get(name) != value}
    return sorted(found)[:_MOST_KNOBS]


def _varied(size: SizeResults) -> list[str]:
    """Return the properties that differ between the configs of the search, by name."""
    searched = [trial.values for trial in size.trials if trial.kind is TrialKind.SEARCH]
    names = {name for values in searched for name in values}
    return [name for name in sorted(names) if len({values.get(name) for values in searched}) > 1][:_MOST_KNOBS]


def _axis(metric: str) -> dict[str, str]:
    return {"key": metric, "type": "METRIC"}


def metric_column(name: str) -> str:
    """Return MLflow's name of the column with a metric."""
    return f"metrics.`{name}`"


def tag_column(name: str) -> str:
    """Return MLflow's name of the column with a tag."""
    return f"tags.`{name}`"


def tag_condition(name: str) -> str:
    """Return MLflow's name of a tag in a filter."""
    return f'tags."{name}"'


def of_study(study_id: str) -> str:
    """Return the filter that selects the runs of a study or an experiment."""
    return f"{tag_condition(tags.STUDY_ID)} = '{study_id}'"


def _plain(record_bytes: str) -> str:
    """Return a record size or mix with characters that an address and the name of a tag may hold."""
    return "".join(letter if letter.isalnum() else "_" for letter in record_bytes)


def _parsed(kept: str | None) -> dict[str, Any]:
    try:
        found = json.loads(kept or "{}")
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
