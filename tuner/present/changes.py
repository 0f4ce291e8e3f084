"""In what a config differs from the baseline, as the client sees both."""

from collections.abc import Mapping
from dataclasses import dataclass

from search_spaces.effective import Effective


@dataclass(frozen=True, slots=True)
class Change:
    """One property that has another value in force than in the baseline.

    Attributes:
        name: Kafka's name.
        value: The config's.
        baseline: The baseline's.
        default: The client's, with nothing given.
    """

    name: str
    value: str
    baseline: str
    default: str

    def __str__(self) -> str:
        """`linger.ms=20`."""
        return f"{self.name}={self.value}"


def changes(values: Mapping[str, str], baseline: Mapping[str, str]) -> tuple[Change, ...]:
    """The properties that either config gives and whose value in force differs, by name.

    Args:
        values: The config's canonical properties.
        baseline: The baseline's.

    Raises:
        UnknownProperty: The client has no such property: the config belongs to another version of it.
    """
    ours, theirs, none = (Effective(given) for given in (values, baseline, {}))
    return tuple(
        Change(name, ours.text(name), theirs.text(name), none.text(name))
        for name in sorted({*values, *baseline})
        if ours.text(name) != theirs.text(name)
    )
