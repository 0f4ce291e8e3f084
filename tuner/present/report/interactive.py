"""The style that all interactive charts share, and their conversion to HTML that needs no network."""

import json
from html import escape
from typing import Final

import plotly.graph_objects as go

from tuner.present.report.assets import plotly_script

_GRID: Final = "#E3E7EC"
# Ticks at 1, 2 and 5 times each power of ten, labelled with plain numbers.
LOG_AXIS: Final = {"type": "log", "dtick": "D2", "tickformat": ",.10~g"}
_CONFIG: Final = {"displaylogo": False, "responsive": True, "modeBarButtonsToRemove": ["select2d", "lasso2d"]}


def inlined_plotly() -> str:
    """Return plotly.js as a script element; a page needs it once."""
    return f"<script>{plotly_script()}</script>"


def figure_html(figure: go.Figure, name: str) -> str:
    """Return a figure as an HTML element, for a page that contains plotly.js.

    Args:
        figure: The figure.
        name: The element's id, unique in the page.
    """
    text: str = figure.to_html(full_html=False, include_plotlyjs=False, div_id=name, config=_CONFIG)
    return text


def figure_json(figure: go.Figure) -> str:
    """Return a figure as JSON with the arguments `data`, `layout` and `config` of `Plotly.react`."""
    plain = json.loads(figure.to_json())
    return json.dumps({**plain, "config": _CONFIG}, ensure_ascii=False, separators=(",", ":"))


def figure_of(heading: str, height: int) -> go.Figure:
    """Return an empty figure in the style of all pages, with a height in pixels."""
    return go.Figure(
        layout={
            "title": {"text": escape(heading), "x": 0.01, "font": {"size": 15}},
            "height": height,
            # Plotly's default template takes longer to validate than all the rest of the figure.
            "template": "none",
            # With `automargin`, plotly makes room for the axis and its title above a legend that stands at the bottom.
            "xaxis": {"gridcolor": _GRID, "zeroline": False, "automargin": True},
            "yaxis": {"gridcolor": _GRID, "zeroline": False},
            # Without a heading, there must be room for plotly's buttons.
            "margin": {"l": 70, "r": 20, "t": 50 if heading else 35, "b": 60},
            "legend": {"orientation": "h", "x": 0, "y": 0, "yref": "container", "yanchor": "bottom"},
            "hoverlabel": {"align": "left"},
        }
    )
