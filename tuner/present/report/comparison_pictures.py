"""The fronts of two studies on the same axes, as a page and as a picture."""

from collections.abc import Mapping
from html import escape
from pathlib import Path

from tuner.present.report.interactive import figure_html, fronts_figure, inlined_plotly
from tuner.present.report.pictures import draw_fronts
from tuner.present.report.view import View, view_of
from tuner.results.comparison import Comparison
from tuner.results.study_results import StudyResults
from tuner.storage.files import write_atomically


def write_fronts_html(studies: tuple[StudyResults, StudyResults], found: Comparison, path: Path) -> None:
    """A page that needs no network, with a picture per record size that both searched."""
    heading = escape(" and ".join(found.names))
    pictures = "".join(
        figure_html(fronts_figure(views, f"{record_bytes} B records"), f"fronts-{place}")
        for place, (record_bytes, views) in enumerate(_views(studies, found).items())
    )
    warnings = "".join(f"<li>{escape(difference)}</li>" for difference in found.differences)
    page = (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{heading}</title>'
        f'{inlined_plotly()}</head><body style="font-family: sans-serif; max-width: 70rem; margin: auto">'
        f"<h1>{heading}</h1>{pictures}<ul>{warnings}</ul></body></html>\n"
    )
    write_atomically(path, page.encode())


def write_fronts_png(studies: tuple[StudyResults, StudyResults], found: Comparison, path: Path) -> None:
    """A picture with one pair of axes per record size that both searched; the file's ending says in which format."""
    draw_fronts(_views(studies, found), path)


def _views(studies: tuple[StudyResults, StudyResults], found: Comparison) -> Mapping[str, Mapping[str, View]]:
    views: dict[str, dict[str, View]] = {}
    for size in found.sizes:
        for name, study in zip(found.names, studies, strict=True):
            results = study.size(size.record_bytes)
            if results is not None:
                views.setdefault(size.record_bytes, {})[name] = view_of(results)
    return views
