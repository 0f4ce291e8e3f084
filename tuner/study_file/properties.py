"""Client properties that a study file holds or names a file of: producer properties, and those of the connection."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from search_spaces.catalogue import Property, Value, canonical_value, load_catalogue
from search_spaces.errors import ConfigError, InvalidValue, PropertiesFileError
from search_spaces.properties_file import read_properties
from search_spaces.roles import Role
from tuner.study_file.errors import KeyPath, Problems, Refusal, Refused, refused
from tuner.study_file.fields import Reads

_SCALAR_SCHEMA: Final = {"type": ["string", "number", "boolean"]}
# What makes the client read a file, load a library or run a command on this machine.
_LOCAL: Final = re.compile(r"\.(location|keytab|cmd|file|stores|providers|engine\.id)$")


def producer_properties() -> Reads:
    """Producer properties by name, or the path of a properties file that holds them."""

    def read(value: object) -> str | Mapping[str, Value]:
        if isinstance(value, str) and value.strip() and value.isprintable():
            return value
        return read_properties_of(value, Role.PRODUCER)

    described = "Path of a properties file, or producer properties by name; the client's defaults when left out"
    return Reads(read, {"anyOf": [{"type": "string"}, _schema(Role.PRODUCER)], "description": described})


def connection_properties() -> Reads:
    """Connection properties by name."""
    return Reads(lambda value: read_properties_of(value, Role.CONNECTION), _schema(Role.CONNECTION))


def read_properties_of(value: object, role: Role) -> dict[str, Value]:
    """Properties of one role, as written.

    Raises:
        Refused: Each name or value that the client or this place does not take.
    """
    refusals: list[Refusal] = []
    found: dict[str, Value] = {}
    for name, inner in mapping_of(value, "properties").items():
        try:
            entry = property_of(name, role)
            found[name] = property_value(entry, inner)
        except Refused as error:
            refusals += [within(refusal, (name,)) for refusal in error.refusals]
    if refusals:
        raise Refused(*refusals)
    return found


def property_of(name: str, role: Role) -> Property:
    """The client's property of this name.

    Raises:
        Refused: There is none, or it has another role.
    """
    try:
        entry = load_catalogue().find(name)
    except ConfigError as error:
        raise misplaced(str(error)) from None
    if entry.name == "bootstrap.servers" and role is Role.CONNECTION:
        raise misplaced("the address stands in the target's bootstrap, not among its properties")
    if entry.role is role:
        return entry
    if entry.role is Role.CONNECTION:
        raise misplaced("how to reach the cluster stands in target.properties or target.command_config")
    if entry.role is Role.PRODUCER:
        raise misplaced("how to produce stands in baseline or space, not in the target's properties")
    raise misplaced(f"{name} can't be set here: {entry.reason}")


def property_value(entry: Property, value: object) -> Value:
    """The value as the client takes it: as written, but checked.

    Raises:
        Refused: The property does not take it.
    """
    if not isinstance(value, str | int | float | bool):
        raise refused(f"{entry.name} takes one plain value")
    if isinstance(value, str) and not value.isprintable() and entry.role is Role.PRODUCER:
        raise refused(f"{entry.name} takes printable text")
    try:
        str(value).encode()
        canonical_value(entry, value)
    except UnicodeEncodeError:
        raise refused(f"{entry.name} takes whole characters, no halves (\\uD800 to \\uDFFF)") from None
    except InvalidValue as error:
        raise refused(f"{entry.name} takes {error.rule}", advice=_meant(entry, value)) from None
    return value


def value_text(entry: Property, value: Value) -> str:
    """A checked value as text, in the user's own words: `all`, `true`, `1000000` for 1e6."""
    return value if isinstance(value, str) else canonical_value(entry, value)


def mapping_of(value: object, what: str) -> Mapping[str, Any]:
    """The value as keys with values; nothing is no keys.

    Raises:
        Refused: It is something else.
    """
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise refused(f"{what} are given as `name: value`, one a line", advice="a blank follows the colon")
    return value


def within(refusal: Refusal, place: KeyPath) -> Refusal:
    """The same refusal, seen from further out."""
    return replace(refusal, within=(*place, *refusal.within))


def misplaced(sentence: str) -> Refused:
    """A refusal of a name, whatever its value is; to be raised."""
    return Refused(Refusal(sentence, about_name=True))


def reads_local_files(name: str) -> bool:
    """Whether a connection property names something on this machine: a file, a library, a command."""
    return _LOCAL.search(load_catalogue().find(name).name) is not None


@dataclass(frozen=True, slots=True)
class Files:
    """Reads files for one study.

    Attributes:
        folder: Where relative paths begin; None when no local file may be read.
        problems: Collects what is wrong.
    """

    folder: Path | None
    problems: Problems

    def properties(self, path: str, place: KeyPath) -> Mapping[str, str]:
        """The entries of a properties file; none, and a problem noted, when no file may be read.

        Raises:
            PropertiesFileError: The file can't be read.
        """
        if self.folder is None:
            self.problems.add(place, "no file may be read here; write the properties themselves")
            return {}
        home, _, rest = path.partition("/")
        return read_properties(self.folder / (Path.home() / rest if home == "~" else path))

    def words(self, path: str, place: KeyPath, error: ConfigError) -> str:
        """An error about a file, under the name that the study file gives it."""
        shown = self.problems.written.get(place, path)
        if isinstance(error, PropertiesFileError):
            return str(PropertiesFileError(shown, error.line, error.key, error.rule))
        return f"{shown}: {error}"


def _meant(entry: Property, value: object) -> str:
    if entry.kind == "bool" and isinstance(value, str) and value.lower() in ("yes", "no", "on", "off"):
        return "write true or false"
    if isinstance(value, str) and re.fullmatch(r"0[0-9]+", value):
        return "leave leading zeros out"
    return ""


def _schema(role: Role) -> dict[str, Any]:
    return {
        "type": ["object", "null"],
        "propertyNames": {"enum": [entry.name for entry in load_catalogue() if entry.role is role]},
        "additionalProperties": _SCALAR_SCHEMA,
    }
