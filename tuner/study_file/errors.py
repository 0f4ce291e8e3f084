"""The error of a study file, which lists all problems of the file together.

    ConfigError                         (search_spaces.errors; the command ends with exit code 2)
    +-- StudyFileError                  the file can't be read, or is no valid study; correct it and start again

Each problem names its line and key, then the rule, then the value, then what to do. A value that came from an
environment variable is shown as the file writes it, `${NAME}`, and never as the variable's value. The value of an
unknown key is not shown, because it may be a secret.
"""

import difflib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from search_spaces.errors import ConfigError, RuleBroken
from search_spaces.properties.catalogue import is_secret
from tuner.model.target import without_login

KeyPath = tuple[str | int, ...]
"""Where a value stands in a study file: the keys and the positions in lists that lead to the value."""

_LONGEST_SHOWN: Final = 60
_MOST_LISTED: Final = 40
_LONGEST_DETAIL: Final = 300
_LIKENESS: Final = 0.6


@dataclass(frozen=True, slots=True, order=True)
class FileProblem:
    """One problem of a study file.

    Attributes:
        line: Line number, from 1; 0 for the file as a whole.
        key: Path of the key, such as `search.trials`; empty for the file as a whole.
        what: The rule, the value, and what to do.
    """

    line: int
    key: str
    what: str

    def __str__(self) -> str:
        """Return the problem with its place, in the form `line 4, search.trials: what`."""
        where = ", ".join(part for part in (f"line {self.line}" if self.line else "", self.key) if part)
        return f"{where}: {self.what}" if where else self.what


class StudyFileError(ConfigError):
    """A study file has at least one problem.

    Attributes:
        origin: Name of the file in messages.
        problems: The problems in the order of their lines.
    """

    def __init__(self, origin: str, problems: Sequence[FileProblem]) -> None:
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
    """The reason why a value or a key of a study file is refused.

    Attributes:
        rule: What the value must be. It never contains the value, which may be a secret.
        advice: What the user should do; may be empty. It never contains the value either.
        detail: A sentence that contains both the rule and the value, and is shown instead of them, unless the value
            must be hidden.
        within: Path from the value that was read to its refused part; empty if the whole value is refused.
        about_name: Whether the key is refused and not its value. The message then does not show the value.
    """

    rule: str
    advice: str = ""
    detail: str = ""
    within: KeyPath = ()
    about_name: bool = False


class Refused(ValueError):
    """A value or a key was refused. This package turns the exception into problems of a `StudyFileError`.

    Attributes:
        refusals: The reasons, at least one.
    """

    def __init__(self, *refusals: Refusal) -> None:
        self.refusals = refusals
        super().__init__("; ".join(refusal.rule for refusal in refusals))


def refused(rule: str, *, advice: str = "", detail: str = "", within: KeyPath = ()) -> Refused:
    """Return an exception with one refusal; the arguments are those of `Refusal`."""
    return Refused(Refusal(rule, advice, detail, within))


class Problems:
    """Collects the problems of one study file.

    Attributes:
        origin: Name of the file in messages.
        lines: Line number of each value, by its key path.
        written: The text in the file, such as `${NAME}`, of each value that came from an environment variable, by key
            path.
        most_values: How many values the file may have.
    """

    def __init__(self, origin: str, most_values: int = 1_000) -> None:
        self.origin = origin
        self.most_values = most_values
        self.lines: dict[KeyPath, int] = {}
        self.written: dict[KeyPath, str] = {}
        self._found: dict[KeyPath, FileProblem] = {}

    def add(self, key_path: KeyPath, what: str, *, line: int | None = None) -> None:
        """Note a problem. Only the first problem of a key is kept, because later ones usually follow from it."""
        self._found.setdefault(
            key_path, FileProblem(self.line_of(key_path) if line is None else line, path_text(key_path), what)
        )

    def refuse(self, key_path: KeyPath, refusal: Refusal, value: object) -> None:
        """Note a refused value or key as a problem.

        Args:
            key_path: Key path of the value that was read.
            refusal: The reason for refusing it.
            value: The refused part of that value, at `refusal.within`.
        """
        key_path += refusal.within
        if refusal.about_name:
            what = refusal.rule
        elif 0 < len(refusal.detail) <= _LONGEST_DETAIL and not self.hides(key_path):
            what = refusal.detail
        else:
            what = f"{refusal.rule}, but got {self._shown(key_path, value)}"
        self.add(key_path, f"{what}; {refusal.advice}" if refusal.advice else what)

    def words(self, error: ConfigError, *key_paths: KeyPath) -> str:
        """Return the text of an error, or a text without any values if a value came from an environment variable.

        Args:
            error: An error about the values of several keys.
            key_paths: Paths of those keys.
        """
        if not any(self.hides(key_path) for key_path in key_paths):
            return str(error)
        rule = f" (rule {error.rule})" if isinstance(error, RuleBroken) else ""
        return f"the values do not fit together{rule}; some come from environment variables and are not shown"

    def line_of(self, key_path: KeyPath) -> int:
        """Return the line of a value, or of the innermost section around it if only the section's line is known."""
        while key_path and key_path not in self.lines:
            key_path = key_path[:-1]
        return self.lines.get(key_path, 1)

    def hides(self, key_path: KeyPath) -> bool:
        """Return whether a value must not be shown, because all or part of it came from an environment variable."""
        return any(written[: len(key_path)] == key_path[: len(written)] for written in self.written)

    def error_with(self, key_path: KeyPath, what: str, line: int) -> StudyFileError:
        """Note a problem after which nothing more can be read, and return an error with all problems."""
        self.add(key_path, what, line=line)
        return self.error()

    def error(self) -> StudyFileError:
        """Return an error with all problems that were noted so far."""
        return StudyFileError(self.origin, list(self._found.values()))

    def stop_if_any(self) -> None:
        """Raise an error if there are problems.

        Raises:
            StudyFileError: At least one problem was noted.
        """
        if self._found:
            raise self.error()

    def _shown(self, key_path: KeyPath, value: object) -> str:
        for end in range(len(key_path), -1, -1):
            if key_path[:end] in self.written:
                return f"the value of {self.written[key_path[:end]]}"
        if any(is_secret(str(part)) for part in key_path):
            return "a secret (not shown)"
        match value:
            case None:
                return "no value (give one, or leave the key out)"
            case Mapping():
                return "keys and values"
            case list() | tuple():
                return "a list" if value else "an empty list"
            case bool():
                return "true" if value else "false"
        # A user may write an address with a password under any wrong key.
        text = repr(without_login(value) if isinstance(value, str) else value)
        return text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}..."


def path_text(key_path: KeyPath) -> str:
    """Return a key path as text, such as `constraints[1]` or `space.linger.ms.low`."""
    path = ""
    for part in key_path:
        if isinstance(part, int):
            path += f"[{part}]"
        else:
            name = part if part.isprintable() and len(part) <= _LONGEST_SHOWN else f"{part[:_LONGEST_SHOWN]!r}"
            path += f".{name}" if path else name
    return path


def did_you_mean(written: object, names: Iterable[str]) -> str:
    """Return a question such as `did you mean trials?`, or an empty text if no name is similar.

    Args:
        written: What the user wrote. If this is not a text, no name is similar to it.
        names: The names that would be right.
    """
    if not isinstance(written, str):
        return ""
    near = difflib.get_close_matches(written.lower()[:100], list(names), n=1, cutoff=_LIKENESS)
    return f"did you mean {near[0]}?" if near else ""
