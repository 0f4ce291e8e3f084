"""What can be wrong with a config, one type for each answer a caller may give.

    ConfigError(ValueError)
    +-- UnknownProperty         no such property: a misspelling, or a name of another client
    +-- InvalidValue            the property cannot hold this value
    +-- ConflictingSpellings    one property given under two names with two values
    +-- MisplacedProperty       a good property in the wrong place (connection, measured config, or set by us)
    +-- RuleBroken              values that are good alone and not together
    +-- PropertiesFileError     a line of a properties file or a `key=value` pair cannot be read
    +-- InvalidKnob             a change to a knob of a search space that means nothing, or not what it says
    +-- EmptySpace              changes, rules and guarantee together leave a knob no value
    +-- NothingToSearch         a search space that holds one config only

Every message says the rule first, then the values, then what to do. The value of a secret is never in a
message, and the value of an unknown name never is either: a misspelt `sasl.pasword` holds a password.
"""

# ruff: noqa: N818 - the names say what is wrong with a config; a suffix would say it twice.

from collections.abc import Sequence


class ConfigError(ValueError):
    """A config that cannot be measured as it is written; the message says what to change.

    Crosses process borders: a copy is rebuilt from message and attributes, not by the constructor.
    """

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuilt, (type(self), self.args), self.__dict__


def _rebuilt(kind: type[ConfigError], args: tuple[object, ...]) -> ConfigError:
    error = kind.__new__(kind)
    error.args = args
    return error


class UnknownProperty(ConfigError):
    """No property of the client has this name.

    Attributes:
        name: the name as given.
        suggestions: names of the client that come nearest, best first; may be empty.
    """

    def __init__(self, name: str, client: str, suggestions: Sequence[str] = (), hint: str = "") -> None:
        self.name = name
        self.suggestions = tuple(suggestions)
        advice = hint
        if not advice and self.suggestions:
            advice = "did you mean " + " or ".join(self.suggestions) + "?"
        super().__init__(f"{client} has no property {name!r}" + (f": {advice}" if advice else ""))


class InvalidValue(ConfigError):
    """A property cannot hold the value given.

    Attributes:
        name: the property's canonical name.
        rule: what the property takes, in words.
        value: the value as shown in the message; a secret's is not shown.
    """

    def __init__(self, name: str, rule: str, value: object, *, secret: bool = False) -> None:
        self.name = name
        self.rule = rule
        self.value = "(not shown)" if secret else repr(value)
        super().__init__(f"{name} takes {rule}, not {self.value}")


class ConflictingSpellings(ConfigError):
    """One property was given under two of its names, with different values.

    Attributes:
        name: the property's canonical name.
    """

    def __init__(self, name: str, spellings: tuple[str, str], values: tuple[str, str], *, secret: bool) -> None:
        self.name = name
        shown = tuple(
            spelling if secret else f"{spelling}={value}" for spelling, value in zip(spellings, values, strict=True)
        )
        super().__init__(
            f"one property takes one value: {shown[0]} and {shown[1]} both set {name}; leave one of them out"
        )


class MisplacedProperty(ConfigError):
    """A property the client knows, but not in this place.

    Attributes:
        name: the name as given.
        role: where it belongs: "producer", "connection" or "reserved".
        reason: why, and what to do.
    """

    def __init__(self, name: str, role: str, reason: str) -> None:
        self.name = name
        self.role = role
        self.reason = reason
        super().__init__(f"{name} does not belong here: {reason}")


class RuleBroken(ConfigError):
    """Values that are good alone break a rule between knobs.

    Attributes:
        rule: the rule's name, such as "level-fits-codec".
        detail: the values that break it.
    """

    def __init__(self, rule: str, statement: str, detail: str) -> None:
        self.rule = rule
        self.detail = detail
        super().__init__(f"{statement} (rule {rule}): {detail}")


class PropertiesFileError(ConfigError):
    """A line of a properties file, or a `key=value` pair, cannot be read.

    Attributes:
        source: the file's name, or "-X".
        line: the line's number, from 1; of the first line where an entry runs over several; 0 for the whole file.
        key: the entry's key, or "" when none could be read.
        rule: what the line should have been.
    """

    def __init__(self, source: str, line: int, key: str, rule: str, value: str = "") -> None:
        self.source = source
        self.line = line
        self.key = key
        self.rule = rule
        where = f"{source}, line {line}" if line else source
        what = f"{key}: " if key else ""
        super().__init__(f"{where}: {what}{rule}" + (f", not {value!r}" if value else ""))


class InvalidKnob(ConfigError):
    """A change to a knob of a search space cannot be made.

    Attributes:
        knob: the knob's name.
        rule: what the change should have been.
        value: the value at fault, as shown in the message.
        at: where in the change it stands, such as ("choices", 1); empty for the whole of it.
    """

    def __init__(self, knob: str, rule: str, value: str, at: tuple[str | int, ...] = ()) -> None:
        self.knob = knob
        self.rule = rule
        self.value = value
        self.at = at
        super().__init__(f"knob {knob}: {rule}, not {value}")


class EmptySpace(ConfigError):
    """Changes, rules and guarantee together leave a knob no value.

    Attributes:
        knob: the knob's name.
        rule: what cannot be kept.
        value: the values that stand against it.
    """

    def __init__(self, knob: str, rule: str, value: str) -> None:
        self.knob = knob
        self.rule = rule
        self.value = value
        super().__init__(f"no value is left for the knob {knob}: {rule}, but {value}")


class NothingToSearch(ConfigError):
    """A search space holds one config only, so that a search has nothing to choose."""

    def __init__(self) -> None:
        super().__init__(
            "nothing is left to search: every knob is fixed or off; leave one to the search, or measure a config with "
            "`tuner verify`"
        )
