"""The effective values of a config: the values that it sets, and the client's defaults for all other properties.

A client derives some defaults from other properties.
"""

from collections.abc import Callable, Mapping

from search_spaces.properties.catalogue import Catalogue


class EffectiveValues:
    """The effective values of a config: the given values, and the client's defaults for all other properties.

    Methods accept aliases as property names.

    Attributes:
        catalogue: The client's properties, with their fixed defaults.
    """

    __slots__ = ("_derived", "_given", "catalogue")

    def __init__(
        self,
        given: Mapping[str, str],
        catalogue: Catalogue,
        derived: Callable[["EffectiveValues", str], str | None],
    ) -> None:
        """Take the given values, and the client's defaults.

        Args:
            given: The config's given values: canonical values by canonical name.
            catalogue: The client's properties, with their fixed defaults.
            derived: Returns the default that the client derives for a property from other values; None if it does not.
        """
        self._given = given
        self._derived = derived
        self.catalogue = catalogue

    def is_given(self, name: str) -> bool:
        """Return whether the config itself sets the property."""
        return self.catalogue.find(name).name in self._given

    def text(self, name: str) -> str:
        """Return the effective value; "" if the property is not given and has no default.

        Raises:
            UnknownProperty: The client has no such property.
        """
        entry = self.catalogue.find(name)
        if entry.name in self._given:
            return self._given[entry.name]
        return self._derived(self, entry.name) or entry.default or ""

    def stated(self, name: str) -> str:
        """Return the given value or the client's fixed default, without the defaults that the client derives."""
        entry = self.catalogue.find(name)
        return self._given.get(entry.name, entry.default or "")

    def number(self, name: str) -> float:
        """Return the effective value of a numeric property, in the unit that its name gives."""
        return float(self.text(name))

    def integer(self, name: str) -> int:
        """Return the effective value of an integer property, in the unit that its name gives."""
        return int(self.text(name))

    def flag(self, name: str) -> bool:
        """Return the effective value of a boolean property."""
        return self.text(name) == "true"
