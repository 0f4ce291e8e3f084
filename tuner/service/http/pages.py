"""The pages that people look at: all studies, and one study. Made on the server, without scripts."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from jinja2 import Environment, PackageLoader

from objectives.ratios import Ratio
from tuner.model.spec import Goal
from tuner.present.report.page_style import STYLE
from tuner.present.report.status import Recommended
from tuner.present.wording import number, title

CSP: Final = (
    "default-src 'none'; img-src 'self'; style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_LIVE: Final = ("queued", "running", "pausing", "cancelling")
STYLE_SHEET: Final = (
    STYLE
    + """
.state { display: inline-block; padding: 0 .6rem; border-radius: 1rem; background: var(--soft); font-size: 13px; }
.state.running { background: #d9f2e6; } .state.failed { background: #fde3d3; color: var(--warn); }
.state.complete { color: var(--good); font-weight: 600; }
progress { width: 9rem; vertical-align: middle; } img.front { max-width: 100%; height: auto; }
.note { white-space: pre-wrap; } nav { margin: .5rem 0 1rem; } a { color: #0b5394; }
.studies td { vertical-align: top; }
"""
)


def list_page(
    studies: Sequence[Mapping[str, Any]], following: str | None, counts: Mapping[str, int], mlflow_url: str | None
) -> str:
    """All studies.

    Args:
        studies: As the API lists them.
        following: Cursor of the next page.
        counts: How many there are, by state.
        mlflow_url: Where people see the mirror.
    """
    return _PAGES.get_template("studies.html").render(
        heading="Studies",
        live=any(study["state"] in _LIVE for study in studies),
        studies=studies,
        following=following,
        counts=counts,
        mlflow_url=mlflow_url,
    )


def study_page(study: Mapping[str, Any], mlflow_url: str | None) -> str:
    """One study.

    Args:
        study: As the API shows it.
        mlflow_url: Where people see the mirror.
    """
    return _PAGES.get_template("study.html").render(
        heading=study["name"], live=study["state"] in _LIVE, study=study, mlflow_url=mlflow_url
    )


def _total_trials(summary: Mapping[str, Any]) -> int:
    totals = summary.get("totals") or {}
    return sum(totals.get(size, summary.get("trials_per_size")) or 0 for size in summary.get("record_sizes") or [])


def _recommended(found: Mapping[str, Any]) -> str:
    gains = {metric: Ratio(**ratio) for metric, ratio in found["gains"].items()}
    return str(Recommended(Goal(found["goal"]), found["trial"], found["is_baseline"], gains))


def _minute(time: str) -> str:
    """`2026-03-01 20:00` of an ISO 8601 time."""
    return time[:16].replace("T", " ")


# What a study's file, its errors and its users say is escaped wherever it stands.
_PAGES: Final = Environment(loader=PackageLoader("tuner.service.http"), autoescape=True, trim_blocks=True)
_PAGES.globals.update(LIVE=_LIVE, total_trials=_total_trials)
_PAGES.filters.update(recommended=_recommended, minute=_minute, number=number, title_of=title)
