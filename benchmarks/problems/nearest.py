"""A chooser that answers with what is nearest to a wish: turns any point into a config of a space."""

import math
from collections.abc import Mapping, Sequence

from search_spaces.domains import ParamValue


class Nearest:
    """Gives recorded answers, moved to the nearest bound where a rule between knobs does not allow them."""

    def __init__(self, wanted: Mapping[str, ParamValue]) -> None:
        """Take the answers by parameter name; one without gets the middle of its range, or its first word."""
        self._wanted = wanted

    def integer(self, name: str, low: int, high: int, *, log: bool) -> int:
        """Return the nearest whole number."""
        return min(high, max(low, round(self.real(name, low, high, log=log))))

    def real(self, name: str, low: float, high: float, *, log: bool) -> float:
        """Return the nearest number."""
        wanted = self._wanted.get(name)
        if wanted is None or isinstance(wanted, str):
            return math.sqrt(low * high) if log else (low + high) / 2
        return min(high, max(low, wanted))

    def choice(self, name: str, choices: Sequence[str]) -> str:
        """Return the word, or the first where it is not offered."""
        wanted = str(self._wanted.get(name))
        return wanted if wanted in choices else choices[0]
