"""The HTML pages of the service: the list of studies, the page of one study, forms, and messages about problems.

All but the form that submits a study work without scripts.
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from importlib.resources import files
from typing import Any, Final

from jinja2 import Environment, PackageLoader

from objectives.ratios import Ratio, ratio_text
from runners.reporting import counted, duration, in_bytes
from tuner.model.goals import Goal
from tuner.present.number_text import metric_name, number, title
from tuner.present.report.assets import STYLE
from tuner.present.studies.status import Recommended
from tuner.present.studies.study_list import BestGain
from tuner.service.queue.job import AT_WORK

CSP: Final = (
    "default-src 'none'; img-src 'self'; style-src 'self'; script-src 'self'; connect-src 'self'; base-uri 'none'; "
    "form-action 'self'; frame-ancestors 'none'"
)
_STATIC: Final = files("tuner.service.http").joinpath("static")
SCRIPT: Final = _STATIC.joinpath("page.js").read_text(encoding="utf-8")
ICON: Final = _STATIC.joinpath("icon.svg").read_text(encoding="utf-8")
_EXAMPLE_STUDY_FILE: Final = """\
study: {{name: my-study}}
target: {target}
workload:
  record_bytes: [1000]
search:
  trials: 30
"""
"""The study file that the form begins with."""
STYLE_SHEET: Final = STYLE + _STATIC.joinpath("service.css").read_text(encoding="utf-8")


def list_page(
    studies: Sequence[Mapping[str, Any]], following: str | None, counts: Mapping[str, int], mlflow_url: str | None
) -> str:
    """Return the page that lists the studies.

    Args:
        studies: The studies, as the API lists them.
        following: The cursor of the next page, or None on the last page.
        counts: The number of studies in each state.
        mlflow_url: The address at which people open MLflow in a browser.
    """
    return _PAGES.get_template("studies.html").render(
        heading="Studies",
        live=any(study["state"] in AT_WORK for study in studies),
        studies=studies,
        following=following,
        counts=counts,
        mlflow_url=mlflow_url,
    )


def study_page(
    study: Mapping[str, Any],
    newest: Mapping[str, Any],
    mlflow_url: str | None,
    mlflow_views: Mapping[str, str],
) -> str:
    """Return the page of one study.

    Args:
        study: The study, as the API shows it.
        newest: The study's newest trials, and the sequence number of the last trial.
        mlflow_url: The address at which people open MLflow in a browser.
        mlflow_views: The links to the study's prepared views in MLflow, by name; empty if they are not known.
    """
    live = study["state"] in AT_WORK
    return _PAGES.get_template("study.html").render(
        heading=study["name"],
        live=live,
        events=f"/v1/studies/{study['name']}/events?after={newest.get('last', 0)}" if live else "",
        study=study,
        newest=newest,
        mlflow_url=mlflow_url,
        mlflow_views=mlflow_views,
    )


def what_if_page(study: str, content: Mapping[str, Any]) -> str:
    """Return the page on which people change settings and see what the performance model predicts.

    Args:
        study: The name of the study whose measurements calibrate the model.
        content: The fields and the predictions, from `tuner.present.predictions.what_if.what_if_json`.
    """
    return _PAGES.get_template("what_if.html").render(heading=f"What if: {study}", study=study, **content)


def submit_page(targets: Sequence[str], *, needs_token: bool) -> str:
    """Return the page with the form that submits a study.

    Args:
        targets: The names of the service's targets; at least one.
        needs_token: Whether the service accepts a study only with a token.
    """
    text = _EXAMPLE_STUDY_FILE.format(target=targets[0])
    return _PAGES.get_template("submit.html").render(
        heading="Submit a study", targets=targets, text=text, needs_token=needs_token
    )


def problem_page(problem: Mapping[str, Any]) -> str:
    """Return the page that a browser gets in place of a problem document, which is the argument."""
    return _PAGES.get_template("problem.html").render(heading=problem["title"], problem=problem)


def _total_trials(summary: Mapping[str, Any]) -> int:
    totals = summary.get("totals") or {}
    return sum(totals.get(size, summary.get("trials_per_size")) or 0 for size in summary.get("record_sizes") or [])


def _best_gain(summary: Mapping[str, Any]) -> str:
    """Return the largest proven gain of a study: `throughput 1.32 (1.25 to 1.40), 1000 B`; empty if there is none."""
    best = summary.get("best_gain")
    return "" if not best else str(BestGain(best["metric"], best["record_bytes"], Ratio(**best["ratio"])))


def _recommended(found: Mapping[str, Any]) -> str:
    gains = {metric: Ratio(**ratio) for metric, ratio in found["gains"].items()}
    return str(Recommended(Goal(found["goal"]), found["trial"], found["is_baseline"], gains, found.get("in_short", "")))


def _left(seconds: float | None) -> str:
    """Return the time that a study still takes, as the end of a line: `, about 12 min left`."""
    return "" if seconds is None else f", about {duration(seconds)} left"


def _minute(time: str) -> str:
    """Return an ISO 8601 time to the minute: `2026-03-01 20:00 UTC`. The page's script turns it into local time."""
    return f"{datetime.fromisoformat(time).astimezone(UTC):%Y-%m-%d %H:%M} UTC"


# Study files, error messages and token names are text from outside, so all values are escaped in the pages.
_PAGES: Final = Environment(loader=PackageLoader("tuner.service.http"), autoescape=True, trim_blocks=True)
_PAGES.globals.update(
    AT_WORK=AT_WORK, best_gain=_best_gain, counted=counted, in_bytes=in_bytes, left=_left, total_trials=_total_trials
)
_PAGES.filters.update(
    recommended=_recommended, minute=_minute, number=number, title_of=title, name_of=metric_name, ratio_text=ratio_text
)
