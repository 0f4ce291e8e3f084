"""The findings about a producer's properties file."""

from dataclasses import dataclass
from enum import StrEnum

from search_spaces.client import Client
from search_spaces.configs.guarantee import Guarantee


class LintLevel(StrEnum):
    """How severe a finding is."""

    ERROR = "error"
    """The client refuses the file or can't send with it, or the line is a misspelling."""
    WARNING = "warning"
    """The client works, but does not do what the line suggests."""
    HINT = "hint"
    """Nothing is wrong, but the user should know it."""


class About(StrEnum):
    """What a finding is about."""

    NAME = "name"
    """The client has no such property."""
    VALUE = "value"
    """The property does not take the value."""
    CONFLICT = "conflict"
    """Values that are valid alone contradict each other."""
    IDLE = "idle"
    """The line does nothing."""
    DEFAULT = "default"
    """The line states the client's default."""
    GUARANTEE = "guarantee"
    """What the producer guarantees about lost, reordered and duplicate records."""
    VERSION = "version"
    """Other versions of the client have another default."""
    MEMORY = "memory"
    """How much memory the client may take."""
    LOAD = "load"
    """What the value means at a record size and a rate."""


@dataclass(frozen=True, slots=True)
class LintFinding:
    """One finding about one property.

    Attributes:
        level: How severe the finding is.
        about: The subject of the finding.
        key: The property's name as the file spells it.
        value: Its value as people write it; None if it must not be shown.
        sentence: The finding in one sentence.
        given: Whether the file has the property; if not, `value` is the client's default.
    """

    level: LintLevel
    about: About
    key: str
    value: str | None
    sentence: str
    given: bool = True

    def __str__(self) -> str:
        """Return `linger.ms=20: what was found`."""
        shown = self.key if self.value is None else f"{self.key}={self.value}"
        return f"{shown}{'' if self.given else ' (default)'}: {self.sentence}"


@dataclass(frozen=True, slots=True)
class LintReport:
    """All findings about a file.

    Attributes:
        client: The client and version that the file was read for.
        assumed: Whether the client was assumed, because neither the user nor the file names it.
        guarantee: What the producer guarantees; None if the file has errors.
        findings: The findings, the worst first.
        set_aside: The names of properties that were not checked, because they do not tune the producer.
    """

    client: Client
    assumed: bool
    guarantee: Guarantee | None
    findings: tuple[LintFinding, ...]
    set_aside: tuple[str, ...]

    def count(self, level: LintLevel) -> int:
        """Return how many findings have this level."""
        return sum(finding.level is level for finding in self.findings)
