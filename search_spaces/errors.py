"""Errors in a config, with one type for every way in which a caller may want to react.

    ConfigError(ValueError)
    +-- UnknownProperty         the client has no such property: a misspelling, or another client's property
    +-- InvalidValue            the property does not accept this value
    +-- ConflictingSpellings    one property is given under two names with different values
    +-- MisplacedProperty       the property is valid but does not belong here (it is a knob, a connection property,
    |                           or set by the load generator)
    +-- RuleBroken              every value is valid alone, but together they break a rule
    +-- PropertiesFileError     a line of a properties file or a `key=value` pair cannot be read
    +-- InvalidKnob             a change to a knob of a search space contradicts itself or does not suit the knob
    +-- EmptySpace              the study file, the rules and the guarantee together leave no value for a knob
    +-- NothingToSearch         the search space holds only one config
    +-- ConfigProblems          a file of producer properties has several problems
    +-- UnknownClient           there is no such client, or its version is not known
    +-- FormatNotOffered        a config of the client is not written in this format

Every message states the rule first, then the values, then what to do. No message contains the value of a secret. Nor
does a message contain the value of an unknown property, because a misspelt `sasl.pasword` holds a password.
"""

from collections.abc import Sequence


class ConfigError(ValueError):
    """Raised when a config cannot be measured as it is written; the message says what to change.

    The error can be pickled, so that it can be sent to another process. The copy is built from the message and the
    attributes, without the constructor.
    """

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuilt, (type(self), self.args), self.__dict__


def _rebuilt(kind: type[ConfigError], args: tuple[object, ...]) -> ConfigError:
    error = kind.__new__(kind)
    error.args = args
    return error


class UnknownProperty(ConfigError):
    """Raised when the client has no property of this name.

    Attributes:
        name: The name as given.
        suggestions: The client's most similar names, the best first; may be empty.
    """

    def __init__(self, name: str, client: str, suggestions: Sequence[str] = (), hint: str = "") -> None:
        self.name = name
        self.suggestions = tuple(suggestions)
        advice = hint
        if not advice and self.suggestions:
            advice = "did you mean " + " or ".join(self.suggestions) + "?"
        super().__init__(f"{client} has no property {name!r}" + (f": {advice}" if advice else ""))


class InvalidValue(ConfigError):
    """Raised when a property does not accept the given value.

    Attributes:
        name: The property's canonical name.
        rule: Which values the property takes, worded to follow "NAME takes".
        value: The value as text; a placeholder if it is a secret.
    """

    def __init__(self, name: str, rule: str, value: object, *, secret: bool = False) -> None:
        self.name = name
        # In a properties file, a # begins a comment only at the beginning of a line.
        self.rule = f"{rule} (a comment needs a line of its own)" if " #" in str(value) and not secret else rule
        self.value = "(not shown)" if secret else repr(value)
        super().__init__(f"{name} takes {self.rule}" + ("" if secret else f", not {self.value}"))


class ConflictingSpellings(ConfigError):
    """Raised when one property is given under two of its names with different values.

    Attributes:
        name: The property's canonical name.
    """

    def __init__(self, name: str, spellings: tuple[str, str], values: tuple[str, str], *, secret: bool) -> None:
        self.name = name
        shown = tuple(
            spelling if secret else f"{spelling}={value}" for spelling, value in zip(spellings, values, strict=True)
        )
        super().__init__(
            f"a property can have only one value, but {shown[0]} and {shown[1]} both set {name}; leave one of them out"
        )


class MisplacedProperty(ConfigError):
    """Raised when a property is valid but does not belong where it was given.

    Attributes:
        name: The name as given.
        role: The property's role: "producer", "connection" or "reserved".
        reason: Why the property does not belong there, and what to do instead.
    """

    def __init__(self, name: str, role: str, reason: str) -> None:
        self.name = name
        self.role = role
        self.reason = reason
        super().__init__(f"{name} does not belong here: {reason}")


class RuleBroken(ConfigError):
    """Raised when values that are valid alone break a rule together.

    Attributes:
        rule: The rule's name, such as "level-fits-codec".
        detail: The values that break the rule, as text.
    """

    def __init__(self, rule: str, statement: str, detail: str) -> None:
        self.rule = rule
        self.detail = detail
        super().__init__(f"{statement} (rule {rule}): {detail}")


class PropertiesFileError(ConfigError):
    """Raised when a properties file, one of its lines, or a `key=value` pair cannot be read.

    Attributes:
        source: The file's path, or for pairs their option, such as "-X".
        line: The number of the line or pair, from 1; 0 if the error concerns the whole file. For an entry that runs
            over several lines, the number of the first line.
        key: The entry's key; "" if it could not be read.
        rule: What a valid entry looks like.
    """

    def __init__(self, source: str, line: int, key: str, rule: str, value: str = "") -> None:
        self.source = source
        self.line = line
        self.key = key
        self.rule = rule
        where = f"{source}, {'pair' if source.startswith('-') else 'line'} {line}" if line else source
        what = f"{key}: " if key else ""
        super().__init__(f"{where}: {what}{rule}" + (f", not {value!r}" if value else ""))


class InvalidKnob(ConfigError):
    """Raised when a study file's change to a knob is not possible.

    Attributes:
        knob: The knob's name.
        rule: The rule that the change must follow.
        value: The value that breaks the rule, as shown in the message.
        at: Path of the value inside the change, such as ("choices", 1); empty for the whole change.
    """

    def __init__(self, knob: str, rule: str, value: str, at: tuple[str | int, ...] = ()) -> None:
        self.knob = knob
        self.rule = rule
        self.value = value
        self.at = at
        super().__init__(f"knob {knob}: {rule}, but got {value}")


class EmptySpace(ConfigError):
    """Raised when the study file, the rules and the guarantee together leave no value for a knob.

    Attributes:
        knob: The knob's name.
        rule: The rule or guarantee that no value of the knob can keep.
        value: The values in the study file that contradict the rule, as text.
    """

    def __init__(self, knob: str, rule: str, value: str) -> None:
        self.knob = knob
        self.rule = rule
        self.value = value
        super().__init__(f"no value is left for the knob {knob}: {rule}, but {value}; change one of the two")


class NothingToSearch(ConfigError):
    """Raised when a search space holds only one config, so that there is nothing to search."""

    def __init__(self) -> None:
        super().__init__(
            "nothing is left to search: every knob is fixed or off; let the study search at least one knob, or "
            "measure a single config with `tuner verify`"
        )


class ConfigProblems(ConfigError):
    """Raised when producer properties have one or more problems; the message lists all of them.

    Attributes:
        problems: The problems, in the order of the properties.
    """

    def __init__(self, problems: Sequence[ConfigError]) -> None:
        self.problems = tuple(problems)
        if len(self.problems) == 1:
            super().__init__(str(self.problems[0]))
        else:
            listed = "".join(f"\n  {problem}" for problem in self.problems)
            super().__init__(f"{len(self.problems)} problems:{listed}")


class UnknownClient(ConfigError):
    """Raised when there is no such client, or when its version is not known."""


class FormatNotOffered(ConfigError):
    """Raised when a config should be written in a format of another client, for which there is no translation.

    Attributes:
        form: The name of the format.
    """

    def __init__(self, form: str, kind: str, client: str, offered: Sequence[str]) -> None:
        self.form = form
        super().__init__(
            f"the format {form} is for configs of the client {kind} only, but this config is for {client}; choose "
            f"one of {', '.join(offered)}, or run a study with client: {kind}"
        )
