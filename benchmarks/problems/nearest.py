"""A chooser that turns any values into a config of a space, by choosing the nearest allowed ones."""

import math
from collections.abc import Mapping, Sequence

from search_spaces.domains import ParamValue


class Nearest:
    """Chooses the wanted values, or the nearest ones that the rules between knobs allow."""

    def __init__(self, wanted: Mapping[str, ParamValue]) -> None:
        """Take the wanted values.

        Args:
            wanted: The values by parameter; a parameter without a value gets the middle of its range or its first word.
        """
        self._wanted = wanted

    def integer(self, name: str, low: int, high: int, *, log: bool) -> int:
        """Return the whole number nearest to the wanted value."""
        return min(high, max(low, round(self.real(name, low, high, log=log))))

    def real(self, name: str, low: float, high: float, *, log: bool) -> float:
        """Return the number nearest to the wanted value."""
        wanted = self._wanted.get(name)
        if wanted is None or isinstance(wanted, str):
            return math.sqrt(low * high) if log else (low + high) / 2
        return min(high, max(low, wanted))

    def choice(self, name: str, choices: Sequence[str]) -> str:
        """Return the wanted word; the first of the choices if it is not among them."""
        wanted = str(self._wanted.get(name))
        return wanted if wanted in choices else choices[0]
