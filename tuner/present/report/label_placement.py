"""Places labels beside points so that no label covers another label, a point or the line of the front."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.text import Annotation
from matplotlib.transforms import Bbox

_PAD_PIXELS: Final = 3.0
_POINT_PIXELS: Final = 9.0
# Offsets from a point at which its label may stand, in typographic points, the nearest first.
_OFFSETS: Final = tuple(
    (dx * distance, dy * distance)
    for distance in (14, 26, 40, 64)
    for dx, dy in ((1, 1), (1, -1), (-1, 1), (-1, -1), (1, 0.2), (-1, 0.2), (0.2, 1.2), (0.2, -1.2))
)


def place_labels(
    axes: Axes, labels: Sequence[tuple[float, float, str]], *, line: Sequence[tuple[float, float]] = ()
) -> None:
    """Put texts beside points, each with a line to its point.

    Args:
        axes: The axes of the picture. Their limits must be final, and the axes must have been drawn once.
        labels: x, y and text of each label.
        line: Corners of a line that no label should cover.
    """
    corners = [axes.transData.transform(at) for at in line]
    points = [*_along(corners), *(axes.transData.transform((x, y)) for x, y, _ in labels)]
    marks = [Bbox.from_extents(x, y, x, y).padded(_POINT_PIXELS) for x, y in points]
    taken: list[Bbox] = []
    for x, y, text in labels:
        label = _label(axes, x, y, text)
        best, least = _OFFSETS[0], float("inf")
        for offset in _OFFSETS:
            _move(label, offset)
            cover = _covered(axes, label, [*taken, *marks])
            if cover < least:
                best, least = offset, cover
            if not least:
                break
        _move(label, best)
        taken.append(_box(label))


def _along(corners: Sequence[Any]) -> list[Any]:
    """Return the corners of a line, and points between them, so close together that marks on them cover the line."""
    points = list(corners)
    for one, other in pairwise(corners):
        steps = int(np.hypot(*(other - one)) / (2 * _POINT_PIXELS))
        points += [one + (other - one) * step / (steps + 1) for step in range(1, steps + 1)]
    return points


def _label(axes: Axes, x: float, y: float, text: str) -> Annotation:
    return axes.annotate(
        text,
        (x, y),
        xytext=(0, 0),
        textcoords="offset points",
        fontsize=9,
        fontweight="bold",
        zorder=10,
        bbox={"boxstyle": "round,pad=0.2", "fc": "white", "ec": "none", "alpha": 0.8},
        arrowprops={"arrowstyle": "-", "color": "#555555", "lw": 0.8},
    )


def _move(label: Annotation, offset: tuple[float, float]) -> None:
    label.set_position(offset)
    label.set_horizontalalignment("left" if offset[0] > 0 else "right")
    label.set_verticalalignment("bottom" if offset[1] > 0 else "top")


def _box(label: Annotation) -> Bbox:
    label.update_positions(None)  # type: ignore[arg-type]  # without a renderer, matplotlib takes the figure's own
    return super(Annotation, label).get_window_extent().padded(_PAD_PIXELS)


def _covered(axes: Axes, label: Annotation, taken: Sequence[Bbox]) -> float:
    """Return how many square pixels of the taken areas the label would cover.

    Each square pixel of the label outside the axes counts as ten.
    """
    box = _box(label)
    inside = Bbox.intersection(box, axes.get_window_extent())
    outside = box.width * box.height - (inside.width * inside.height if inside else 0.0)
    covered = (Bbox.intersection(box, other) for other in taken)
    return outside * 10 + sum(common.width * common.height for common in covered if common)
