"""A measured figure is not copied to a second page, because the copy could become wrong."""

import itertools
import re

from tests.helpers.repository import ROOT

PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
# A ratio with its interval, "1.49 (1.44 to 1.55)", is the form in which benchmarks and recommendations state results.
FIGURE = re.compile(r"\d[\d.,]*(?: %)? \([-+]?\d[\d.,]*(?: %)? to [-+]?\d[\d.,]*(?: %)?\)")

# What a benchmark has written to a page. The results of two benchmarks may have an equal figure by chance.
RESULT = re.compile(r"<!-- result of: .*?<!-- end of result -->", re.DOTALL)


def figures_of(text: str) -> set[str]:
    return set(FIGURE.findall(text))


def test_no_measured_figure_is_copied_to_another_page() -> None:
    texts = {page: page.read_text() for page in PAGES}
    twice = {
        (str(one.relative_to(ROOT)), str(other.relative_to(ROOT))): both
        for one, other in itertools.permutations(PAGES, 2)
        if (both := figures_of(RESULT.sub("", texts[one])) & figures_of(texts[other]))
    }
    assert not twice
    trust = texts[ROOT / "docs" / "evidence" / "trust.md"]
    assert figures_of(trust) > figures_of(RESULT.sub("", trust)), "the pattern must find results of benchmarks"
