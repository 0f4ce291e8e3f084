"""A measured figure stands on one page only, so that no second copy of it can become wrong."""

import itertools
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
# A ratio with its interval, "1.49 (1.44 to 1.55)", is the form in which benchmarks and recommendations state results.
FIGURE = re.compile(r"\d[\d.,]*(?: %)? \([-+]?\d[\d.,]*(?: %)? to [-+]?\d[\d.,]*(?: %)?\)")


def test_no_measured_figure_stands_on_two_pages() -> None:
    figures = {page: set(FIGURE.findall(page.read_text())) for page in PAGES}
    twice = {
        (str(one.relative_to(ROOT)), str(other.relative_to(ROOT))): both
        for one, other in itertools.combinations(PAGES, 2)
        if (both := figures[one] & figures[other])
    }
    assert not twice
    assert figures[ROOT / "docs" / "evidence" / "trust.md"], "the pattern must find the figures of the evidence pages"
