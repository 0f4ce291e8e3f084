"""The points of charts can be seen in light and in dark mode."""

from pathlib import Path

import pytest

from tests.helpers.stored_studies import study
from tuner.present.report.assets import STYLE
from tuner.present.report.chart_style import BLACK, BLUE, GREEN, GREY, ORANGE, PURPLE
from tuner.present.report.study_figures import front_figure, fronts_figure
from tuner.present.report.study_points import front_chart

Colour = tuple[float, float, float]
WHITE: Colour = (1.0, 1.0, 1.0)


def luminance(colour: Colour) -> float:
    """Return the relative luminance. Source: WCAG 2.2."""
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in colour)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(first: Colour, second: Colour) -> float:
    darker, lighter = sorted((luminance(first), luminance(second)))
    return (lighter + 0.05) / (darker + 0.05)


def in_dark_mode(colour: Colour) -> Colour:
    """Return what the filter of dark mode makes of a colour. Source: W3C Filter Effects, hue-rotate by 180 degrees."""
    red, green, blue = (0.92 - 0.84 * part for part in colour)
    return (
        -0.574 * red + 1.43 * green + 0.144 * blue,
        0.426 * red + 0.43 * green + 0.144 * blue,
        0.426 * red + 1.43 * green - 0.856 * blue,
    )


@pytest.mark.parametrize("name", [BLACK, BLUE, GREEN, GREY, ORANGE, PURPLE])
def test_each_colour_has_enough_contrast_in_both_modes(name: str) -> None:
    assert "filter: invert(.92) hue-rotate(180deg)" in STYLE, "what `in_dark_mode` computes"
    colour: Colour = (int(name[1:3], 16) / 255, int(name[3:5], 16) / 255, int(name[5:7], 16) / 255)
    assert contrast(colour, WHITE) >= 3
    assert contrast(in_dark_mode(colour), in_dark_mode(WHITE)) >= 3


def test_the_points_of_fronts_are_opaque(tmp_path: Path) -> None:
    (size,) = study(tmp_path, trials=12).sizes
    for figure in (front_figure(size, {}), fronts_figure({"one": front_chart(size)}, "fronts")):
        drawn = [trace for trace in figure.data if trace.mode and "markers" in trace.mode]
        assert drawn
        assert {trace.marker.opacity for trace in drawn} <= {None, 1.0}
        assert {trace.opacity for trace in drawn} <= {None, 1.0}
