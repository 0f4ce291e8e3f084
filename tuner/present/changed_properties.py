"""The properties in which a config differs from the baseline."""

from collections.abc import Mapping
from dataclasses import dataclass

from search_spaces.client import Client, client_of
from search_spaces.properties.catalogue import shown_value
from tuner.model.trial import Trial


@dataclass(frozen=True, slots=True)
class Change:
    """A property whose effective value differs from the baseline's.

    Attributes:
        name: The property's name.
        value: Its value in the config.
        baseline: Its value in the baseline.
        default: Its value in a client without any settings.
    """

    name: str
    value: str
    baseline: str
    default: str

    def __str__(self) -> str:
        """Return `linger.ms=20`."""
        return f"{self.name}={shown_value(self.name, self.value)}"


def changes(trial: Trial, baseline: Mapping[str, str]) -> tuple[Change, ...]:
    """Return the properties of a trial's config whose effective value differs from the baseline's, by name.

    Raises:
        UnknownProperty: The client has no such property, because the config was written for another client version.
    """
    return changed_values(client_of(trial.client), trial.values, baseline)


def changed_values(client: Client, values: Mapping[str, str], baseline: Mapping[str, str]) -> tuple[Change, ...]:
    """Return the properties whose effective value differs from the baseline's, by name.

    Raises:
        UnknownProperty: The client has no such property, because the config was written for another client version.
    """
    ours, theirs, none = client.effective_values(values), client.effective_values(baseline), client.effective_values({})
    return tuple(
        Change(name, ours.text(name), theirs.text(name), none.text(name))
        for name in sorted({*values, *baseline})
        if ours.text(name) != theirs.text(name)
    )
