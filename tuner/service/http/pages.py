"""The pages that people look at: all studies, and one study. Made on the server, without scripts."""

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any, Final
from urllib.parse import quote, urlencode

from objectives.ratios import Ratio
from tuner.model.spec import Goal
from tuner.present.report.page_style import STYLE
from tuner.present.report.status import Recommended
from tuner.present.wording import number, title

CSP: Final = (
    "default-src 'none'; img-src 'self'; style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_REFRESH_S: Final = 10
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
    told = ", ".join(f"{count} {state}" for state, count in counts.items()) or "none was submitted yet"
    rows = "".join(_row(study) for study in studies)
    table = (
        '<table class="studies"><thead><tr><th>study</th><th>state</th><th>progress</th><th>target</th>'
        f"<th>submitted</th><th>front</th></tr></thead><tbody>{rows}</tbody></table>"
        if rows
        else "<p>No study yet: <code>tuner --server URL run study.yaml</code> submits one.</p>"
    )
    more = f'<p><a rel="next" href="/?{urlencode({"cursor": following})}">older studies</a></p>' if following else ""
    body = f"<h1>Studies</h1><p class=dim>{escape(told)}</p>{_mlflow(mlflow_url)}{table}{more}"
    return _page("Studies", body, live=any(study["state"] in _LIVE for study in studies))


def study_page(study: Mapping[str, Any], mlflow_url: str | None) -> str:
    """One study.

    Args:
        study: As the API shows it.
        mlflow_url: Where people see the mirror.
    """
    name, progress = study["name"], study["progress"]
    links = study["links"]
    parts = [
        '<nav><a href="/">all studies</a></nav>',
        f"<h1>{escape(name)} {_state(study['state'])}</h1>",
        f'<p class="dim">{escape(_where(study))}</p>',
        _mlflow(mlflow_url),
    ]
    if study["note"]:
        parts.append(f'<p class="note warn">{escape(study["note"])}</p>')
    if progress is None:
        parts.append("<p>Nothing was measured yet.</p>")
    else:
        doing = progress.get("doing")
        parts.append(f"<p>now: {escape(doing)}</p>" if doing else "")
        parts += [_size(name, size) for size in progress["sizes"]]
        parts += [
            f'<p class="warn">trial {escape(failure["trial"])} failed: {escape(failure["error"])}</p>'
            for failure in progress["failures"]
        ]
        parts.append(
            f'<p><a href="{escape(links["report"])}">the whole report</a>, '
            f'<a href="{escape(links["front"])}">front as JSON</a></p>'
        )
    return _page(name, "".join(parts), live=study["state"] in _LIVE)


def _row(study: Mapping[str, Any]) -> str:
    name, summary = study["name"], study["summary"] or {}
    sizes = summary.get("record_sizes") or []
    totals = summary.get("totals") or {}
    total = sum(totals.get(size, summary.get("trials_per_size")) or 0 for size in sizes)
    done = summary.get("trials") or 0
    bar = f'<progress max="{total}" value="{min(done, total)}"></progress> ' if total and done else ""
    picture = (
        f'<a href="{_own(name)}"><img class="front" width="220" loading="lazy" alt="front of {escape(name)}" '
        f'src="{_picture(name, sizes[0])}"></a>'
        if done and sizes and study["state"] not in _LIVE
        else ""
    )
    doing = f'<div class="dim">{escape(summary.get("doing") or "")}</div>' if study["state"] in _LIVE else ""
    target = ", ".join(study["targets"]) or summary.get("target") or ""
    return (
        f'<tr><td><a href="{_own(name)}">{escape(name)}</a></td><td>{_state(study["state"])}</td>'
        f"<td>{bar}{done} trials{doing}</td><td>{escape(target)}</td>"
        f"<td>{escape((study['submitted_at'] or summary.get('started_at') or '')[:16].replace('T', ' '))}</td>"
        f"<td>{picture}</td></tr>"
    )


def _size(name: str, size: Mapping[str, Any]) -> str:
    total, done = size["total"], size["done"]
    bar = f'<progress max="{total}" value="{min(done, total)}"></progress> ' if total else ""
    counted = f"{done} of {total} trials" if total else f"{done} trials"
    best = "; ".join(
        f"{title(each['metric'])} {number(each['value'])} (trial {each['trial']}"
        + (")" if each["baseline"] is None else f"; baseline {number(each['baseline'])})")
        for each in size["best"]
    )
    found = [_recommended(each) for each in size["recommended"]]
    told = found or ([f"best so far: {best}"] if best else [])
    record_bytes = size["record_bytes"]
    asked = {"study": name, "record_bytes": record_bytes}
    forms = ", ".join(
        f'<a href="/v1/recommendation?{escape(urlencode({**asked, "format": form}))}">{form}</a>'
        for form in ("table", "properties", "json", "spring", "env")
    )
    return (
        f"<h2>{escape(record_bytes)} B records</h2><p>{bar}{escape(counted)}, {size['confirming']} confirming, "
        f"{size['failed']} failed, {size['front']} on the front</p>"
        + "".join(f"<p>{escape(each)}</p>" for each in told)
        + f'<p><img class="front" alt="front of {escape(name)}, {escape(record_bytes)} B" '
        f'src="{_picture(name, record_bytes)}"></p><p>recommended config: {forms}</p>'
    )


def _recommended(found: Mapping[str, Any]) -> str:
    gains = {metric: Ratio(**ratio) for metric, ratio in found["gains"].items()}
    return f"recommended, {Recommended(Goal(found['goal']), found['trial'], found['is_baseline'], gains)}"


def _where(study: Mapping[str, Any]) -> str:
    told = [f"on {', '.join(study['targets'])}"] if study["targets"] else []
    if study["submitted_at"]:
        by = f" by {study['submitted_by']}" if study["submitted_by"] else ""
        told.append(f"submitted {study['submitted_at'][:16].replace('T', ' ')}{by}")
    return ", ".join(told) or "not submitted to this service: it lies among its studies"


def _state(state: str) -> str:
    return f'<span class="state {escape(state)}">{escape(state)}</span>'


def _mlflow(url: str | None) -> str:
    return f'<p><a href="{escape(url)}" rel="noreferrer">every trial in MLflow</a></p>' if url else ""


def _own(name: str) -> str:
    return f"/studies/{quote(name, safe='')}"


def _picture(name: str, record_bytes: str) -> str:
    return escape(f"{_own(name)}/front.png?{urlencode({'record_bytes': record_bytes})}")


def _page(heading: str, body: str, *, live: bool) -> str:
    refresh = f'<meta http-equiv="refresh" content="{_REFRESH_S}">' if live else ""
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{escape(heading)}: kafka-tuner</title>'
        f'<meta name="viewport" content="width=device-width">{refresh}<link rel="stylesheet" href="/static/style.css">'
        f"</head><body>{body}</body></html>\n"
    )
