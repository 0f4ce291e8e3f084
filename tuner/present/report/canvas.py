"""Functions for all pictures drawn with matplotlib: the style, the labels of axes, and writing the file.

The pictures can be drawn in any thread, because they are drawn without pyplot, which keeps a global list of figures.
"""

from pathlib import Path
from typing import Final

from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from tuner.present.marks import GENERATOR

_DPI: Final = 120
_LOG_STEPS: Final = (1.0, 2.0, 5.0)
_WIDE: Final = 300.0
"""A logarithmic axis over a wider ratio has labels only at powers of ten."""


def canvas(height: float) -> Figure:
    """Return an empty figure, 8 inches wide and `height` inches high, without pyplot's global list."""
    figure = Figure(figsize=(8, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def style(axes: Axes, heading: str) -> None:
    """Give axes the style of all pictures, and a heading."""
    axes.set_title(heading, loc="left", fontsize=11, fontweight="bold")
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(visible=True, alpha=0.25)
    axes.set_axisbelow(True)


def log_scale(axes: Axes, way: str) -> None:
    """Make the axis `x` or `y` logarithmic, and label it with plain numbers in place of powers of ten."""
    axes.set(**{f"{way}scale": "log"})
    axis = axes.xaxis if way == "x" else axes.yaxis
    low, high = axis.get_view_interval()
    wide = low > 0 and high / low > _WIDE
    axis.set_major_locator(LogLocator(subs=(1.0,) if wide else _LOG_STEPS))
    plain_ticks(axis)
    axis.set_minor_formatter(NullFormatter())


def plain_ticks(axis: Axis) -> None:
    """Label an axis with plain numbers, such as 1,500,000."""
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))


def save(figure: Figure, path: Path) -> None:
    """Write a figure to a file, whose suffix decides the format."""
    figure.savefig(path, dpi=_DPI, metadata={"Software" if path.suffix.lower() == ".png" else "Creator": GENERATOR})
