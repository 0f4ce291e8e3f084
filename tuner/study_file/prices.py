"""Reads a file of unit prices: strict YAML, with an error for each mistake that names file, line and key."""

from pathlib import Path
from typing import Annotated, Final

from tuner.study_file import fields
from tuner.study_file.checking import FileKind
from tuner.study_file.errors import Problems
from tuner.study_file.loading import text_of
from tuner.study_file.sections import Section, Text
from tuner.study_file.strict_yaml import read_yaml

_MOST: Final = 10**9
Price = Annotated[float, fields.number(0, _MOST)]


class Prices(Section):
    """Unit prices of a cluster, all in the same currency. Without a price, its cost is unknown."""

    core_hour: Price | None = None
    """A processor core of a broker for an hour."""
    disk_gb_month: Price | None = None
    """A gigabyte (10^9 bytes) of a broker's disk for a month of 30 days."""
    network_gb: Price | None = None
    """A gigabyte that goes to a broker, from a producer or from another broker."""
    retention_days: Annotated[float, fields.number(0, 36_500, above=True)] = 7.0
    """How long a topic keeps its records."""
    currency: Text = ""
    """What the prices are in, such as EUR."""


_FILE_KIND: Final = FileKind(Prices, "a file of prices", "the shortest one is `core_hour: 0.04`")


def read_prices(path: Path) -> Prices:
    """Read a file of unit prices.

    Raises:
        StudyFileError: The file can't be read, a key is unknown, a value is refused, or no price is given.
    """
    problems = Problems(str(path))
    prices = _FILE_KIND.check(read_yaml(text_of(path, "a file of prices"), problems), problems)
    if prices.core_hour is None and prices.disk_gb_month is None and prices.network_gb is None:
        problems.add((), "at least one of core_hour, disk_gb_month and network_gb must be given")
    problems.stop_if_any()
    return prices
