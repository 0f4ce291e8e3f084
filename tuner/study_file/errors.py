"""What can be wrong with a study file, all of it at once.

    ConfigError                         (search_spaces.errors; the command ends with exit code 2)
    +-- StudyFileError                  the file can't be read or says what can't be done; mend it and start again

Each problem names its line and key, states the rule, then the value, then what to do. A value that came from an
environment variable is shown as the file has it, `${NAME}`, never as what it stands for; the value of an unknown key is
not shown.
"""

import difflib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from search_spaces.errors import ConfigError, RuleBroken
from search_spaces.roles import is_secret

KeyPath = tuple[str | int, ...]
"""Where a value stands: keys and positions in lists, from the root of the file."""

_LONGEST_SHOWN: Final = 60
_MOST_LISTED: Final = 40
_LONGEST_DETAIL: Final = 300
_LIKENESS: Final = 0.6


@dataclass(frozen=True, slots=True, order=True)
class Problem:
    """One thing to mend.

    Attributes:
        line: Counts from 1; 0 is the file as a whole.
        key: Path of the key, such as `search.trials`; empty for the file as a whole.
        what: Rule, value, what to do.
    """

    line: int
    key: str
    what: str

    def __str__(self) -> str:
        """`line 4, search.trials: what`."""
        where = ", ".join(part for part in (f"line {self.line}" if self.line else "", self.key) if part)
        return f"{where}: {self.what}" if where else self.what


class StudyFileError(ConfigError):
    """A study file with at least one problem.

    Attributes:
        origin: What the file is called.
        problems: In the order of their lines.
    """

    def __init__(self, origin: str, problems: Sequence[Problem]) -> None:
        self.origin = origin
        self.problems = tuple(sorted(problems))
        if len(self.problems) == 1:
            only = self.problems[0]
            super().__init__(f"{origin}{', ' if only.line or only.key else ': '}{only}")
        else:
            listed = "".join(f"\n  {problem}" for problem in self.problems[:_MOST_LISTED])
            more = f"\n  and {len(self.problems) - _MOST_LISTED} more" if len(self.problems) > _MOST_LISTED else ""
            super().__init__(f"{origin} has {len(self.problems)} problems:{listed}{more}")


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a value is no good, from whoever read it.

    Attributes:
        rule: What the value must be; does not contain the value.
        advice: What to do; may be empty, and does not contain the value.
        detail: Rule and value in one, from an error that words both; shown in place of the rule and the value.
        within: Where in the value, when not the whole of it.
        about_name: Whether it is the key that is no good, so that the value does not matter.
    """

    rule: str
    advice: str = ""
    detail: str = ""
    within: KeyPath = ()
    about_name: bool = False


class Refused(ValueError):  # noqa: N818 - says what happened, as in search_spaces.errors
    """A value is no good; becomes problems of a `StudyFileError` and does not leave this package.

    Attributes:
        refusals: At least one.
    """

    def __init__(self, *refusals: Refusal) -> None:
        self.refusals = refusals
        super().__init__("; ".join(refusal.rule for refusal in refusals))


def refused(rule: str, *, advice: str = "", detail: str = "", within: KeyPath = ()) -> Refused:
    """One refusal, to be raised."""
    return Refused(Refusal(rule, advice, detail, within))


class Problems:
    """Collects what is wrong with one file.

    Attributes:
        origin: What the file is called.
        lines: Of each value, by its place.
        written: What the file has where a value came from an environment variable, by its place.
    """

    def __init__(self, origin: str) -> None:
        self.origin = origin
        self.lines: dict[KeyPath, int] = {}
        self.written: dict[KeyPath, str] = {}
        self._found: dict[KeyPath, Problem] = {}

    def add(self, place: KeyPath, what: str, *, line: int | None = None) -> None:
        """Note a problem; the first at a place stands, as later ones follow from it."""
        self._found.setdefault(place, Problem(self.line_of(place) if line is None else line, key_path(place), what))

    def refuse(self, place: KeyPath, refusal: Refusal, value: object) -> None:
        """Note a refusal.

        Args:
            place: Where the value stands that was read.
            refusal: Why it is no good.
            value: The value at `refusal.within` of it.
        """
        place += refusal.within
        if refusal.about_name:
            what = refusal.rule
        elif 0 < len(refusal.detail) <= _LONGEST_DETAIL and not self.hides(place):
            what = refusal.detail
        else:
            what = f"{refusal.rule}, but got {self._shown(place, value)}"
        self.add(place, f"{what}; {refusal.advice}" if refusal.advice else what)

    def words(self, error: ConfigError, *places: KeyPath) -> str:
        """An error's own words, unless values from environment variables may be among them.

        Args:
            error: About values of several keys.
            places: Of those keys.
        """
        if not any(self.hides(place) for place in places):
            return str(error)
        rule = f" (rule {error.rule})" if isinstance(error, RuleBroken) else ""
        return f"the values do not go together{rule}; some come from environment variables and are not shown"

    def line_of(self, place: KeyPath) -> int:
        """The line of a place, or of the nearest place around it that has one."""
        while place and place not in self.lines:
            place = place[:-1]
        return self.lines.get(place, 1)

    def hides(self, place: KeyPath) -> bool:
        """Whether a place, anything in it, or what it was made of came from an environment variable."""
        return any(written[: len(place)] == place[: len(written)] for written in self.written)

    def error(self) -> StudyFileError:
        """What was found, to be raised."""
        return StudyFileError(self.origin, list(self._found.values()))

    def stop_if_any(self) -> None:
        """Raise what was found.

        Raises:
            StudyFileError: Something was.
        """
        if self._found:
            raise self.error()

    def _shown(self, place: KeyPath, value: object) -> str:
        for end in range(len(place), -1, -1):
            if place[:end] in self.written:
                return f"the value of {self.written[place[:end]]}"
        if any(is_secret(str(part)) for part in place):
            return "a secret (not shown)"
        match value:
            case None:
                return "no value (give one, or leave the key out)"
            case Mapping():
                return "keys and values"
            case list() | tuple():
                return "a list"
            case bool():
                return "true" if value else "false"
        text = repr(value)
        return text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}..."


def key_path(place: KeyPath) -> str:
    """`constraints[1]`, `space.linger.ms.low`."""
    path = ""
    for part in place:
        if isinstance(part, int):
            path += f"[{part}]"
        else:
            name = part if part.isprintable() and len(part) <= _LONGEST_SHOWN else f"{part[:_LONGEST_SHOWN]!r}"
            path += f".{name}" if path else name
    return path


def did_you_mean(written: object, names: Iterable[str]) -> str:
    """`did you mean trials?`, or nothing when no name is near.

    Args:
        written: What stands there; only texts are near anything.
        names: The right ones.
    """
    if not isinstance(written, str):
        return ""
    near = difflib.get_close_matches(written.lower()[:100], list(names), n=1, cutoff=_LIKENESS)
    return f"did you mean {near[0]}?" if near else ""
