"""Translation of a producer's properties file for the other client, property by property.

`search_spaces.translation` translates the config. This module lists each property with its translation.
"""

import os
from dataclasses import dataclass
from pathlib import Path

from search_spaces.client import Client, ClientKind, client_in_version, tunes_producer
from search_spaces.client_facts.effective_values import EffectiveValues
from search_spaces.configs.guarantee import GUARANTEE_PROPERTIES, Guarantee
from search_spaces.configs.producer_config import ProducerConfig
from search_spaces.configs.transactions import effective_values_within
from search_spaces.errors import ConfigError
from search_spaces.files.java_file import read_java
from search_spaces.files.producer_file import FileClient, ProducerFile, client_shown_by, read_producer_file
from search_spaces.files.properties_file import named_source, read_properties
from search_spaces.librdkafka.knobs import LEVEL_PROPERTY
from search_spaces.properties.catalogue import shown_value
from search_spaces.translation.from_java import translate_from_java
from search_spaces.translation.to_java import TWINS, translate_to_java


@dataclass(frozen=True, slots=True)
class TranslatedProperty:
    """One property of a file, and its twin: the counterpart in the other client.

    Attributes:
        name: The property's name; "" if only the other client has such a property.
        value: Its effective value, as people write it.
        given: Whether the file sets it; if not, `value` is the client's default.
        twin: The twin's name; "" if there is none.
        twin_value: The twin's effective value in the translation, as people write it.
        written: Whether the translation sets the twin.
        note: A remark about the row; "" for none.
    """

    name: str
    value: str
    given: bool
    twin: str
    twin_value: str
    written: bool
    note: str


@dataclass(frozen=True, slots=True)
class FileTranslation:
    """A producer's properties file, translated for the other client. The translation is not measured.

    Attributes:
        source: The config of the file.
        target: The translation. Its guarantee is at least that of `source`.
        rows: The properties of the file, followed by the properties that only the translation sets.
        notes: One sentence for each property that was ignored, and for each difference between the clients that
            matters here.
    """

    source: ProducerConfig
    target: ProducerConfig
    rows: tuple[TranslatedProperty, ...]
    notes: tuple[str, ...]

    @property
    def properties(self) -> dict[str, str]:
        """The translated properties, with their values as people write them."""
        return {name: shown_value(name, value) for name, value in self.target.values.items()}

    @property
    def without_twin(self) -> tuple[str, ...]:
        """The names of the file's properties that have no twin."""
        return tuple(row.name for row in self.rows if row.given and not row.twin)

    @property
    def guarantees(self) -> tuple[Guarantee, Guarantee]:
        """The guarantee of the file, and the guarantee of its translation."""
        return Guarantee.of(self.source), Guarantee.of(self.target)


def translate_file(
    path: Path, written_for: FileClient = FileClient.AUTO, target: ClientKind | None = None, version: str | None = None
) -> FileTranslation:
    """Translate a producer's properties file for the other client.

    Args:
        path: Path of the properties file.
        written_for: The client that the file is for. With `FileClient.AUTO`, its properties or `target` must show it.
        target: The client to translate for; None: the client that the file is not for.
        version: The release of the Java client, such as "3.6.2" or "3.6"; None for the newest one that is known and
            that accepts the file.

    Raises:
        UnknownClient: The version is not known.
        ConfigError: The file is for the client `target` already, or nothing shows which client it is for.
        PropertiesFileError: The file or a line of it can't be read.
        ConfigProblems: Properties are unknown, have a wrong value or contradict each other; the message has all
            problems.
    """
    kind = _kind_of(path, written_for, target)
    if target is kind:
        raise ConfigError(f"a translation must be for the other client, but {path} is for {kind} already")
    java = client_in_version(ClientKind.JAVA, version)
    with named_source(str(path)):
        if kind is ClientKind.JAVA:
            entries = read_properties(path, os.environ, is_filled=tunes_producer)
            producer_file = ProducerFile.of_java(read_java(entries, None if version is None else java), path.name)
        else:
            producer_file = read_producer_file(path, FileClient.LIBRDKAFKA)
        source = producer_file.config
    if kind is ClientKind.JAVA:
        translated, notes = translate_from_java(source, producer_file.transaction_timeout_ms)
    else:
        translation = translate_to_java(source, java, producer_file.transaction_timeout_ms)
        translated, notes = ProducerConfig.parse(translation.properties, java), translation.notes
    rows = _rows(source, effective_values_within(source, producer_file.transaction_timeout_ms), translated)
    return FileTranslation(source, translated, rows, (*producer_file.notes, *notes))


def _kind_of(path: Path, written_for: FileClient, target: ClientKind | None) -> ClientKind:
    if written_for is FileClient.AUTO:
        shown = client_shown_by(read_properties(path))
        if shown is None and target is not None:
            return ClientKind.LIBRDKAFKA if target is ClientKind.JAVA else ClientKind.JAVA
        if shown is None:
            rule = "the properties of a file must show which client it is for, such as its key.serializer line"
            raise ConfigError(f"{rule}, but those of {path} do not; name the client with --from")
        written_for = shown
    return ClientKind(written_for)


def _twins(source: ProducerConfig, target: Client) -> dict[str, str]:
    """Return the names of the twins in a client by the names in the source's client."""
    level = f"compression.{source.compression}.level"
    if target.kind is ClientKind.JAVA:
        twins = {**TWINS, LEVEL_PROPERTY: level}
    else:
        backwards = {java: name for name, java in TWINS.items()}
        twins = {**backwards, level: LEVEL_PROPERTY, "partitioner.ignore.keys": "partitioner"}
    ours, theirs = source.client.catalogue, target.catalogue
    return {name: twin for name, twin in twins.items() if name in ours and twin in theirs}


def _rows(
    source: ProducerConfig, effective_values: EffectiveValues, target: ProducerConfig
) -> tuple[TranslatedProperty, ...]:
    twins = _twins(source, target.client)
    names = {twin: name for name, twin in twins.items()}
    given = [_given(source, target, name, twins.get(name, "")) for name in source.values]
    shown = {row.twin for row in given}
    added = [_added(effective_values, target, names.get(twin, ""), twin) for twin in target.values if twin not in shown]
    return (*given, *added)


def _given(source: ProducerConfig, target: ProducerConfig, name: str, twin: str) -> TranslatedProperty:
    written = twin in target.values
    if not twin:
        own = name == "partitioner" and source.effective(name) == "murmur2_random"
        note = "the Java client does this by itself" if own else f"{target.client.label} has no counterpart"
    else:
        note = "" if written else f"left out: {target.client.label} uses its default"
    return TranslatedProperty(name, _shown(source, name), True, twin, _shown(target, twin), written, note)


def _added(source: EffectiveValues, target: ProducerConfig, name: str, twin: str) -> TranslatedProperty:
    default = target.client.effective_values({}).text(twin)
    if target.values[twin] != default:
        note = f"written out, because the default of {target.client.label} is {shown_value(twin, default) or 'none'}"
    elif twin in GUARANTEE_PROPERTIES:
        note = "written out, because the guarantee depends on it"
    else:
        note = "written out; both clients have this default"
    value = shown_value(name, source.text(name)) if name else ""
    return TranslatedProperty(name, value, False, twin, _shown(target, twin), True, note)


def _shown(config: ProducerConfig, name: str) -> str:
    return shown_value(name, config.effective(name)) if name else ""
