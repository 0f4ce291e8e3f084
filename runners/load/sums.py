"""A sum of values with the number of values, so that a mean over several reports can be computed."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self


@dataclass(frozen=True, slots=True)
class Sum:
    """The sum of some values and how many there are, for example of all round-trip times in one statistics interval."""

    total: float = 0.0
    count: int = 0

    def __add__(self, other: "Sum") -> "Sum":
        return Sum(self.total + other.total, self.count + other.count)

    @property
    def mean(self) -> float:
        """Mean of the values; 0 if there are no values."""
        return self.total / self.count if self.count else 0.0

    @classmethod
    def read(cls, window: Mapping[str, Any] | None) -> Self:
        """Return the sum and the number of the values that a `{sum, cnt, ...}` object of librdkafka describes.

        The sum and the number are 0 if `window` is None.
        """
        return cls(float(window["sum"]), int(window["cnt"])) if window else cls()
