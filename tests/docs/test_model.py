"""The page about the performance model names what the program shows."""

from tests.helpers.repository import ROOT
from tuner.prediction.fitted_constants import PRIOR_SD_LOG


def test_every_constant_that_is_fitted_is_explained() -> None:
    page = (ROOT / "docs" / "concepts" / "model.md").read_text(encoding="utf-8")
    constants = page.partition("\n## The constants\n")[2].partition("\n## ")[0]
    assert PRIOR_SD_LOG
    assert [name for name in PRIOR_SD_LOG if f"`{name}`" not in constants] == []
