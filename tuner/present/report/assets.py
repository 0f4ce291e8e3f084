"""The style sheet and the scripts of the pages, read from files of the packages."""

from functools import cache
from importlib.resources import files
from typing import Final

_STATIC: Final = files("tuner.present.report").joinpath("static")
STYLE: Final = _STATIC.joinpath("style.css").read_text(encoding="utf-8")
"""The style of all pages."""
SCRIPT: Final = _STATIC.joinpath("report.js").read_text(encoding="utf-8")
"""The script of the report."""


@cache
def plotly_script() -> str:
    """Return plotly.js (5 MB), as the package plotly contains it."""
    # Imported here, because few pages need it.
    from plotly.offline import get_plotlyjs

    text: str = get_plotlyjs()
    return text
