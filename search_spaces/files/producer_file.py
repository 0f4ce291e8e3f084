"""Reads the properties file of a producer, for librdkafka or for Java, as a config of the client that is measured."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final, Self

from search_spaces.client import Client, ClientKind, java, librdkafka, tunes_producer
from search_spaces.configs.guarantee import Guarantee
from search_spaces.configs.producer_config import ProducerConfig
from search_spaces.configs.transactions import transaction_timeout_ms, transactions
from search_spaces.errors import ConfigError, ConfigProblems, InvalidValue, MisplacedProperty
from search_spaces.files.java_file import JavaFile, read_java
from search_spaces.files.properties_file import read_properties
from search_spaces.properties.catalogue import TRANSACTIONAL_ID, Property, Role
from search_spaces.properties.values import CanonicalValues
from search_spaces.translation.from_java import translate_from_java
from search_spaces.translation.to_java import translate_to_java

_SERIALIZERS: Final = ("key.serializer", "value.serializer")


class FileClient(StrEnum):
    """The client that a producer's properties file is written for."""

    AUTO = "auto"
    JAVA = "java"
    LIBRDKAFKA = "librdkafka"


@dataclass(frozen=True, slots=True)
class ProducerFile:
    """What a producer's properties file means to the client that is measured.

    Attributes:
        values: Producer properties of that client: canonical names and values.
        notes: Sentences for the user: which properties were ignored, and what was translated. They do not show the
            values of ignored properties, because a value may be a secret.
        client: The client that is measured.
        transaction_timeout_ms: The timeout of transactions; None if the producer of the file is not transactional.
    """

    values: Mapping[str, str]
    notes: tuple[str, ...]
    client: Client
    transaction_timeout_ms: int | None = None

    @classmethod
    def of_java(cls, file: JavaFile, name: str) -> Self:
        """Return a file for the Java producer as one for the client that is measured, which is the Java client too.

        Args:
            file: What the properties mean.
            name: The name of the file, for notes.
        """
        notes = (*file.notes, *_ignored_notes_of_java(file.set_aside, name))
        return cls(file.values, notes, file.client, file.transaction_timeout_ms)

    @property
    def config(self) -> ProducerConfig:
        """The config of the file.

        Raises:
            RuleBroken: Values that are valid alone break a rule together; `read_producer_file` has checked this,
                unless it was asked not to.
        """
        return ProducerConfig.parse(self.values, self.client)

    def check_floor(self, name: str, floor: Guarantee | None) -> None:
        """Check that the weakest guarantee that the user requires suits the producer of the file.

        Args:
            name: The name of the guarantee.
            floor: The guarantee; None for that of the file.

        Raises:
            InvalidValue: The producer is transactional, but need not be idempotent.
        """
        if self.transaction_timeout_ms is not None and floor is not None and not floor.idempotent:
            rule = f"baseline or idempotent, because {TRANSACTIONAL_ID} is set and such a producer must be idempotent"
            raise InvalidValue("durability", rule, name)


def read_producer_file(
    path: Path,
    written_for: FileClient = FileClient.AUTO,
    client: Client | None = None,
    *,
    complete: bool = True,
    advice: str = "",
    environ: Mapping[str, str] = os.environ,
) -> ProducerFile:
    """Read a producer's properties file. Properties that do not tune the producer are ignored.

    A file for the other client is translated: the defaults of the file's own client are filled in first, and the
    translation guarantees at least what the file guarantees.

    Args:
        path: Path of the properties file.
        written_for: The client that the file is for. With `FileClient.AUTO`, this shows in properties that only one of
            the clients has. A file without such a property is for the client that is measured.
        client: The client that is measured; None for librdkafka.
        complete: Whether the file is the whole config. If other properties will be added to it, the rules between
            properties are not checked.
        advice: How the user can say that the file is for Java, for a note about a file that does not show its client:
            `give --file-client java`. Empty if there is no way.
        environ: Environment variables for `${NAME}` in the values of properties that tune the producer.

    Raises:
        PropertiesFileError: The file or a line of it can't be read, or a variable is not set.
        ConfigProblems: Properties are unknown, have a wrong value or contradict each other. The message has all
            problems, but not the file's name.
    """
    client = client or librdkafka()
    entries = read_properties(path, environ, is_filled=tunes_producer)
    guessed = written_for is FileClient.AUTO
    if guessed:
        written_for = client_shown_by(entries) or FileClient(client.kind)
    if written_for is FileClient.JAVA:
        if client.kind is ClientKind.JAVA:
            return ProducerFile.of_java(read_java(entries, client, complete=complete), path.name)
        return _java_translated(entries, path.name)
    file = _librdkafka(
        entries, path.name, complete=complete or client.kind is ClientKind.JAVA, guessed=guessed, advice=advice
    )
    return file if client.kind is ClientKind.LIBRDKAFKA else _librdkafka_translated(file, path.name, client)


def client_shown_by(entries: Mapping[str, str]) -> FileClient | None:
    """Return the client that a file is for; None if no property shows it.

    Only Java has serializers. Properties of consumers show nothing, because a producer may share its file with a
    consumer.
    """
    if any(name in entries for name in _SERIALIZERS):
        return FileClient.JAVA
    if any(_only_librdkafka(name) for name in entries):
        return FileClient.LIBRDKAFKA
    hints = librdkafka().catalogue.hints
    return FileClient.JAVA if any(name in hints for name in entries) else None


def _only_librdkafka(name: str) -> bool:
    catalogue = librdkafka().catalogue
    if name in java().catalogue or name not in catalogue:
        return False
    entry = catalogue.find(name)
    return entry.producer and entry.role is not Role.CONNECTION


def _java_translated(entries: Mapping[str, str], file: str) -> ProducerFile:
    java_file = read_java(entries)
    config, differences = translate_from_java(java_file.config, java_file.transaction_timeout_ms)
    version = java_file.client.version
    notes = [
        f"{file} is for the Java producer: its values, and the defaults of kafka-clients {version} for all others, "
        "were translated to librdkafka; the translation is measured, not the Java producer (guarantee: "
        f"{Guarantee.of(java_file.config)}). Set `client: java` to measure the Java producer",
        *differences,
        *java_file.notes,
    ]
    if "linger.ms" not in entries:
        used = java_file.config.effective("linger.ms")
        rule = "whose Java default is 5 since 4.0 and 0 before 4.0"
        notes.append(f"{file} does not set linger.ms, {rule}; {used} is used")
    notes += _ignored_notes_of_java(java_file.set_aside, file)
    return ProducerFile(config.values, tuple(notes), config.client, java_file.transaction_timeout_ms)


def _librdkafka_translated(source: ProducerFile, file: str, client: Client) -> ProducerFile:
    translation = translate_to_java(source.config, client, source.transaction_timeout_ms)
    notes = [
        f"{file} is for librdkafka: its values, and librdkafka's defaults for all others, were translated to "
        f"{client.label}; the translation is measured, not librdkafka",
        *translation.notes,
        *source.notes,
    ]
    if translation.without_twin:
        notes.append(f"{client.label} has no counterpart of {', '.join(translation.without_twin)} in {file}")
    values = ProducerConfig.parse(translation.properties, client).values
    return ProducerFile(values, tuple(notes), client, source.transaction_timeout_ms)


def _librdkafka(entries: Mapping[str, str], file: str, *, complete: bool, guessed: bool, advice: str) -> ProducerFile:
    problems: list[ConfigError] = []
    canonical = CanonicalValues()
    aside: list[str] = []
    for name, value in entries.items():
        try:
            entry = _entry(name)
            if entry is None:
                aside.append(name)
            else:
                canonical.add(entry, name, value)
        except ConfigError as error:
            problems.append(error)
    values = canonical.values
    within: dict[str, str] = {}
    try:
        within = transactions(librdkafka(), entries)
    except ConfigError as error:
        problems.append(error)
    if within:
        # The client makes a transactional producer idempotent. Source: rd_kafka_conf_finalize of librdkafka.
        values.setdefault("enable.idempotence", "true")
    if complete and not problems:
        problems += librdkafka().broken_rules({**values, **within})
    if problems:
        raise ConfigProblems(problems)
    notes = _ignored_note(aside, file)
    unclear = guessed and not any(_only_librdkafka(name) for name in entries) and "enable.idempotence" not in values
    if unclear and values:
        notes.append(
            f"{file} is read as a file for librdkafka, whose producer is not idempotent by default; if the file is for "
            f"the Java producer, add its key.serializer line{', or ' if advice else ''}{advice}"
        )
    return ProducerFile(values, tuple(notes), librdkafka(), transaction_timeout_ms(librdkafka(), within))


def _entry(name: str) -> Property | None:
    """Return a producer property of librdkafka; None for a property that is ignored."""
    if name in librdkafka().catalogue.hints and name not in java().producer_names:
        return None
    entry = librdkafka().catalogue.find(name)
    if entry.role is Role.PRODUCER:
        return entry
    if entry.name == "enable.gapless.guarantee":
        raise MisplacedProperty(name, entry.role, entry.reason)
    return None


def _ignored_note(names: Sequence[str], file: str) -> list[str]:
    """Return the note about the properties of a file that the tuner ignores; empty if it ignores none."""
    return [f"ignored in {file}, because they do not tune the producer: {', '.join(names)}"] if names else []


def _ignored_notes_of_java(names: Sequence[str], file: str) -> list[str]:
    """Return the notes about the properties of a file for Java that are ignored; names of librdkafka have their own."""
    of_librdkafka = [name for name in names if _only_librdkafka(name)]
    notes = _ignored_note([name for name in names if name not in of_librdkafka], file)
    if of_librdkafka:
        notes.append(f"ignored in {file}, because the Java client does not have them: {', '.join(of_librdkafka)}")
    return notes
