"""Reads the client properties of a study file, and its section `space`, which sets how single knobs are searched.

A user can write producer and connection properties into the study file itself, or into properties files that the
study file names.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Final

from runners.java_client.key_stores import read_connection, secret_variables
from search_spaces.client import Client, ClientKind, client_of, java, librdkafka
from search_spaces.errors import ConfigError, InvalidKnob, InvalidValue, PropertiesFileError, UnknownClient
from search_spaces.files.producer_file import FileClient, ProducerFile, read_producer_file
from search_spaces.properties.catalogue import Property, Role, Value
from search_spaces.properties.values import canonical_value
from search_spaces.space.parameters import KnobChange, check_change, check_takes_range, entry_of
from tuner.study_file.errors import KeyPath, Problems, Refusal, Refused, did_you_mean, refused
from tuner.study_file.fields import ClientValueReader, ValueReader, flag, whole

BASELINE_CLIENT: Final = "set `baseline_client: java` in the study file"
"""How the user of a study file says that the baseline's file is for the Java producer, in words."""
_SCALAR_SCHEMA: Final = {"type": ["string", "number", "boolean"]}
# Names of properties that make the client read a file, load a library or run a command on this machine.
_LOCAL: Final = re.compile(r"\.(location|keytab|cmd|file|stores|providers|engine\.id)$")


def producer_properties() -> ClientValueReader:
    """Return a reader that accepts producer properties: `name: value` entries, or the path of a properties file."""

    def read(client: Client, value: object) -> str | Mapping[str, Value]:
        if isinstance(value, str) and value.strip():
            if not value.isprintable():
                raise refused("the path of a properties file must be printable UTF-8 text", advice="rename the file")
            return value
        return read_properties_of(client, value, Role.PRODUCER)

    described = "Path of a properties file, or producer properties as `name: value`; by default the client's defaults"
    return ClientValueReader(read, {"anyOf": [{"type": "string"}, _schema(Role.PRODUCER)], "description": described})


def study_client() -> ValueReader:
    """Return a reader that accepts the client of a study."""

    def read(value: object) -> Client:
        try:
            return client_of(value)
        except UnknownClient as error:
            # The message ends with the given value. It is cut off here, because the value is added to every refusal.
            # A mapping would be added as "keys and values", so its message is kept.
            message = str(error)
            detail = message if isinstance(value, Mapping) else ""
            raise refused(message.rpartition(", not ")[0] or message, detail=detail) from None

    schema = {
        "anyOf": [
            {"type": "string", "pattern": r"^(librdkafka|java([ :][0-9]+\.[0-9]+\.[0-9]+)?|.*\$\{.*)$"},
            {
                "type": "object",
                "properties": {"kind": {"enum": [str(kind) for kind in ClientKind]}, "version": {"type": "string"}},
                "required": ["kind"],
                "additionalProperties": False,
            },
        ]
    }
    return ValueReader(read, schema)


def connection_properties() -> ValueReader:
    """Return a reader that accepts connection properties as `name: value` entries."""
    return ValueReader(lambda value: read_properties_of(librdkafka(), value, Role.CONNECTION), _schema(Role.CONNECTION))


def read_properties_of(client: Client, value: object, role: Role) -> dict[str, Value]:
    """Check properties that a study file lists, and return them with their values as the file writes them.

    Args:
        client: The client that the properties are for.
        value: A mapping of names to values; None means that no property is listed.
        role: The role, producer or connection, that all properties must have.

    Raises:
        Refused: The client does not accept a name or a value, or a property has another role. The exception
            holds one refusal for each of these properties.
    """
    refusals: list[Refusal] = []
    values: dict[str, Value] = {}
    if value is not None and not isinstance(value, Mapping):
        raise refused("properties must be written as `name: value`, one per line", advice="put a blank after the colon")
    for name, inner in (value or {}).items():
        try:
            entry = _property_of(client, name, role)
            values[name] = _property_value(entry, inner)
        except Refused as error:
            refusals += [within(refusal, (name,)) for refusal in error.refusals]
    if refusals:
        raise Refused(*refusals)
    return values


def _property_of(client: Client, name: str, role: Role) -> Property:
    """Return the client's property of this name, which must have the given role (producer or connection).

    Raises:
        Refused: The client has no property of this name, or the property has another role.
    """
    try:
        entry = client.catalogue.find(name)
    except ConfigError as error:
        raise _misplaced(str(error)) from None
    if entry.name == "bootstrap.servers" and role is Role.CONNECTION:
        raise _misplaced("the address belongs in the target's bootstrap, not in its properties")
    if entry.role is role:
        return entry
    if entry.role is Role.CONNECTION:
        raise _misplaced("a connection property belongs in target.properties or target.command_config")
    if entry.role is Role.PRODUCER:
        raise _misplaced("a producer property belongs in baseline or space, not in the target's properties")
    raise _misplaced(f"{name} can't be set here: {entry.reason}")


def _property_value(entry: Property, value: object) -> Value:
    """Check that a property accepts a value, and return the value as the study file writes it.

    Raises:
        Refused: The property does not accept the value.
    """
    if not isinstance(value, str | int | float | bool):
        raise refused("must be a single value")
    if isinstance(value, str) and not value.isprintable() and entry.role is Role.PRODUCER:
        raise refused("must be printable text")
    try:
        str(value).encode()
        canonical_value(entry, value)
    except UnicodeEncodeError:
        raise refused("must be complete characters, no surrogates (\\uD800 to \\uDFFF)") from None
    except InvalidValue as error:
        raise refused(f"must be {error.rule}", advice=_meant(entry, value)) from None
    return value


def within(refusal: Refusal, key_path: KeyPath) -> Refusal:
    """Return a copy of the refusal whose path begins with `key_path`, the path of the outer value."""
    return replace(refusal, within=(*key_path, *refusal.within))


def _misplaced(sentence: str) -> Refused:
    """Return the exception for a property that is unknown or in the wrong section; its message hides the value."""
    return Refused(Refusal(sentence, about_name=True))


def reads_local_files(name: str) -> bool:
    """Return whether a connection property names a file, a library or a command on this machine."""
    return _LOCAL.search(librdkafka().catalogue.find(name).name) is not None


@dataclass(frozen=True, slots=True)
class Files:
    """Reads the properties files of one study.

    Attributes:
        folder: Folder to which paths are relative; None if no local file may be read.
        problems: Collects the problems that are found.
        environ: Environment variables for `${NAME}` in the values of properties files.
        advice: How the user can say that a producer's file is for Java, for a note; empty if there is no way.
    """

    folder: Path | None
    problems: Problems
    environ: Mapping[str, str]
    advice: str = BASELINE_CLIENT

    def connection(self, path: str, key_path: KeyPath) -> tuple[dict[str, str], tuple[str, ...]]:
        """Return the connection properties of a file, and the environment variables from which it takes secrets.

        If no local file may be read, the method notes a problem and returns nothing.

        Args:
            path: The path as the study file writes it; `~` is the user's home folder.
            key_path: Key path of the value that names the file.

        Raises:
            ConfigError: The file can't be read, or has wrong properties.
            RunnerError: A store of Java that the file names can't be read.
        """
        located = self._located(path, key_path)
        return ({}, ()) if located is None else (read_connection(located, self.environ), secret_variables(located))

    def producer(self, path: str, key_path: KeyPath, written_for: FileClient, client: Client) -> ProducerFile:
        """Return the contents of a producer's properties file for the client that is measured.

        If no local file may be read, the method notes a problem and returns a file without properties.

        Args:
            path: The path as the study file writes it; `~` is the user's home folder.
            key_path: Key path of the value that names the file.
            written_for: The client that the file is for.
            client: The client that is measured.

        Raises:
            ConfigError: The file can't be read, or has wrong properties.
        """
        located = self._located(path, key_path)
        if located is None:
            return ProducerFile({}, (), client)
        return read_producer_file(located, written_for, client, advice=self.advice, environ=self.environ)

    def _located(self, path: str, key_path: KeyPath) -> Path | None:
        if self.folder is None:
            self.problems.add(
                key_path, "local files can't be used for this study; write the properties into the study file"
            )
            return None
        home, _, rest = path.partition("/")
        return self.folder / (Path.home() / rest if home == "~" else path)

    def words(self, path: str, key_path: KeyPath, error: ConfigError) -> str:
        """Return the text of an error in a properties file, which names that file as the study file does."""
        shown = self.problems.written.get(key_path, path)
        if isinstance(error, PropertiesFileError):
            return str(PropertiesFileError(shown, error.line, error.key, error.rule))
        return f"{shown}: {error}"


def _meant(entry: Property, value: object) -> str:
    if entry.kind == "bool" and isinstance(value, str) and value.lower() in ("yes", "no", "on", "off"):
        return "write true or false"
    leading_zeros = isinstance(value, str) and re.fullmatch(r"0[0-9]+", value)
    return "leave the leading zeros out" if leading_zeros else ""


def _names(role: Role) -> list[str]:
    """Return the names of the properties with a role. A producer's properties may be those of either client."""
    clients = (librdkafka(), java()) if role is Role.PRODUCER else (librdkafka(),)
    return list(dict.fromkeys(entry.name for each in clients for entry in each.catalogue if entry.role is role))


def _schema(role: Role) -> dict[str, Any]:
    return {
        "type": ["object", "null"],
        "propertyNames": {"enum": _names(role)},
        "additionalProperties": _SCALAR_SCHEMA,
    }


_KNOB_RULE: Final = "a knob takes one value, {low: ..., high: ...}, {choices: [...]}, on or off"
_MAX_STEPS: Final = 1000
_steps: Final = whole(1, _MAX_STEPS).read
_flag: Final = flag().read


def knob_changes() -> ClientValueReader:
    """Return a reader that accepts the section `space`, which changes how single knobs are searched."""
    return ClientValueReader(_read_knobs, _knob_schema())


def _read_knobs(client: Client, value: object) -> Mapping[str, KnobChange]:
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise refused("space must consist of lines of the form `knob: value`", advice=_KNOB_RULE)
    refusals: list[Refusal] = []
    changes: dict[str, KnobChange] = {}
    for written, inner in value.items():
        try:
            name, entry = _knob(client, written)
            if name in changes:
                raise refused(
                    f"{name} must be listed once, but is here under two names", advice="leave one of them out"
                )
            changes[name] = check_change(name, entry, _change(entry, inner))
        except Refused as error:
            refusals += [within(refusal, (written,)) for refusal in error.refusals]
        except InvalidKnob as error:
            refusals.append(Refusal(error.rule, within=(written, *error.at)))
    if refusals:
        raise Refused(*refusals)
    return changes


def _knob(client: Client, written: str) -> tuple[str, Property]:
    if client.knob(written) is not None:
        return written, entry_of(client, written)
    entry = _property_of(client, written, Role.PRODUCER)
    return entry.name, entry


def _change(entry: Property, value: object) -> KnobChange:
    if value in ("on", "off"):
        return KnobChange(off=value == "off")
    if isinstance(value, Mapping):
        return _range_or_choices(entry, value)
    if value is None or isinstance(value, list):
        raise refused(_KNOB_RULE, advice="write several values as {choices: [...]}" if value else "")
    if isinstance(value, str) and ".." in value:  # as --knob takes it
        raise refused(_KNOB_RULE, advice="write a range as {low: ..., high: ...}")
    return KnobChange(value=_text(entry, value))


def _range_or_choices(entry: Property, value: Mapping[str, object]) -> KnobChange:
    """Return the change that a study file makes to a knob by giving a range or a list of choices."""
    bound = partial(_bound, entry)
    readers: dict[str, Callable[[Any], object]] = {
        "low": bound,
        "high": bound,
        "log": _flag,
        "steps": _steps,
        "choices": partial(_choices, entry),
    }
    unknown = [
        Refusal(f"a knob has no key {key!r}: {_KNOB_RULE}", did_you_mean(key, readers), within=(key,), about_name=True)
        for key in value
        if key not in readers
    ]
    if unknown:
        raise Refused(*unknown)
    if not value:
        raise refused(_KNOB_RULE)
    if "choices" not in value:
        check_takes_range(entry.name, entry)
    elif len(value) > 1:
        raise refused("choices can't be combined with low, high, log and steps")
    fields: dict[str, Any] = {key: _read_at((key,), readers[key], inner) for key, inner in value.items()}
    return KnobChange(**fields)


def _choices(entry: Property, value: object) -> tuple[str, ...]:
    if not isinstance(value, list) or not value:
        raise refused("choices must be a list of at least one value, such as [1, 5, 20]")
    return tuple(_read_at((position,), partial(_text, entry), choice) for position, choice in enumerate(value))


def _text(entry: Property, value: object) -> str:
    """Return a property's value as text: the text `all` stays as written, and the number 1e6 becomes `1000000`."""
    taken = _property_value(entry, value)
    return taken if isinstance(taken, str) else canonical_value(entry, taken)


def _bound(entry: Property, value: object) -> float:
    return float(canonical_value(entry, _property_value(entry, value)))


def _read_at(key_path: tuple[str | int, ...], read: Callable[[Any], Any], value: object) -> Any:
    try:
        return read(value)
    except Refused as error:
        raise Refused(*(within(refusal, key_path) for refusal in error.refusals)) from None


def _knob_schema() -> dict[str, Any]:
    knobs = (knob.name for client in (librdkafka(), java()) for knob in client.knobs)
    number = {"type": ["number", "string"]}
    between = {
        "type": "object",
        "properties": {
            "low": number,
            "high": number,
            "log": {"type": "boolean"},
            "steps": {"type": "integer", "minimum": 1},
        },
        "additionalProperties": False,
        "minProperties": 1,
    }
    among = {
        "type": "object",
        "properties": {"choices": {"type": "array", "minItems": 1, "items": _SCALAR_SCHEMA}},
        "required": ["choices"],
        "additionalProperties": False,
    }
    return {
        "type": ["object", "null"],
        "propertyNames": {"enum": list(dict.fromkeys((*knobs, *_names(Role.PRODUCER))))},
        "additionalProperties": {"anyOf": [_SCALAR_SCHEMA, between, among], "description": _KNOB_RULE},
    }
