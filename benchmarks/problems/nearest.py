"""A chooser with which a search space draws the allowed config that is nearest to the wanted values."""

import math
from collections.abc import Mapping, Sequence

from search_spaces.client_facts.domains import ParamValue


class Nearest:
    """Chooses the wanted value of each knob, or the nearest value that the rules between knobs allow."""

    def __init__(self, wanted: Mapping[str, ParamValue]) -> None:
        """Store the wanted values.

        Args:
            wanted: The values by the parameter's name. A parameter without a wanted value gets the middle of its range,
                or its first choice if it has words instead of numbers.
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
        """Return the wanted word, or the first of the choices if the wanted word is not among them."""
        wanted = str(self._wanted.get(name))
        return wanted if wanted in choices else choices[0]
