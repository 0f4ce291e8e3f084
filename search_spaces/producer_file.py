"""Reads the properties file of a producer, for librdkafka or for Java, as a config that can be measured."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from search_spaces.catalogue import Property, canonical_value
from search_spaces.client import librdkafka
from search_spaces.errors import ConfigError, ConfigProblems, ConflictingSpellings, MisplacedProperty
from search_spaces.from_java import TUNED_NAMES, JavaProducer, translate_from_java
from search_spaces.producer_config import ProducerConfig
from search_spaces.properties_file import read_properties
from search_spaces.roles import Role


class FileClient(StrEnum):
    """The client that a producer's properties file is written for."""

    AUTO = "auto"
    JAVA = "java"
    LIBRDKAFKA = "librdkafka"


@dataclass(frozen=True, slots=True)
class ProducerFile:
    """What a producer's properties file means to librdkafka.

    Attributes:
        values: librdkafka's producer properties: canonical names and values.
        notes: Sentences for the user: what was set aside, and what was translated. They hold no value that was set
            aside, which may be a secret.
    """

    values: Mapping[str, str]
    notes: tuple[str, ...]

    @property
    def config(self) -> ProducerConfig:
        """The config of the file.

        Raises:
            RuleBroken: Values that are valid alone break a rule together; `read_producer_file` has checked this,
                unless it was asked not to.
        """
        return ProducerConfig.parse(self.values)


def read_producer_file(path: Path, client: FileClient = FileClient.AUTO, *, complete: bool = True) -> ProducerFile:
    """Read a producer's properties file. Properties that do not tune the producer are set aside.

    Args:
        path: The file.
        client: The client that the file is for. With `FileClient.AUTO`, the file is for Java if it has a property that
            only the Java client has and no producer property that only librdkafka has.
        complete: Whether the file is the whole config. If other properties will be added to it, the rules between
            properties are not checked.

    Raises:
        PropertiesFileError: The file or a line of it can't be read.
        ConfigProblems: Properties are unknown, have a wrong value or contradict each other. The message has all
            problems, but not the file's name.
    """
    entries = read_properties(path)
    if client is FileClient.JAVA or (client is FileClient.AUTO and _is_java(entries)):
        return _java(entries, path.name)
    return _librdkafka(entries, path.name, complete=complete, guessed=client is FileClient.AUTO)


def _is_java(entries: Mapping[str, str]) -> bool:
    hints = librdkafka().catalogue.hints
    return any(name in hints for name in entries) and not any(_only_librdkafka(name) for name in entries)


def _only_librdkafka(name: str) -> bool:
    catalogue = librdkafka().catalogue
    shared = name in TUNED_NAMES or name.startswith("transaction")
    return not shared and name in catalogue and catalogue.find(name).role is not Role.CONNECTION


def _java(entries: Mapping[str, str], file: str) -> ProducerFile:
    java = JavaProducer.parse(entries)
    config, differences = translate_from_java(java)
    notes = [
        f"{file} is for the Java producer: its values, and the defaults of kafka-clients 4.3 for all others, were "
        f"translated to librdkafka; the translation is measured, not the Java producer (guarantee: {java.guarantee})",
        *differences,
    ]
    if "linger.ms" not in entries:
        notes.append(f"{file} does not set linger.ms, whose Java default is 5 since 4.0 and 0 before 4.0; 5 is used")
    if java.without_twin:
        notes.append(f"librdkafka has no counterpart of {', '.join(java.without_twin)} in {file}")
    return ProducerFile(config.values, (*notes, *_aside(java.set_aside, file)))


def _librdkafka(entries: Mapping[str, str], file: str, *, complete: bool, guessed: bool) -> ProducerFile:
    problems: list[ConfigError] = []
    values: dict[str, str] = {}
    spellings: dict[str, str] = {}
    aside: list[str] = []
    for name, value in entries.items():
        try:
            entry = _entry(name)
            if entry is None:
                aside.append(name)
                continue
            canonical = canonical_value(entry, value)
            if values.setdefault(entry.name, canonical) != canonical:
                both, each = (spellings[entry.name], name), (values[entry.name], canonical)
                raise ConflictingSpellings(entry.name, both, each, secret=entry.secret)
            spellings.setdefault(entry.name, name)
        except ConfigError as error:
            problems.append(error)
    if "transactional.id" in entries:
        # The client makes a transactional producer idempotent. Source: rd_kafka_conf_finalize of librdkafka.
        values.setdefault("enable.idempotence", "true")
    if complete and not problems:
        problems += _broken_rules(values)
    if problems:
        raise ConfigProblems(problems)
    notes = _aside(aside, file)
    unclear = guessed and not any(_only_librdkafka(name) for name in entries) and "enable.idempotence" not in values
    if unclear and values:
        notes.append(
            f"{file} is read as a file for librdkafka, whose producer is not idempotent by default; if the file is for "
            "the Java producer, add its key.serializer line, or set `baseline_client: java` in the study file"
        )
    return ProducerFile(values, tuple(notes))


def _entry(name: str) -> Property | None:
    """Return a producer property of librdkafka; None for a property that is set aside."""
    if name in librdkafka().catalogue.hints and name not in TUNED_NAMES:
        return None
    entry = librdkafka().catalogue.find(name)
    if entry.role is Role.PRODUCER:
        return entry
    if entry.name == "enable.gapless.guarantee":
        raise MisplacedProperty(name, entry.role, entry.reason)
    return None


def _broken_rules(values: Mapping[str, str]) -> list[ConfigError]:
    broken: list[ConfigError] = []
    for rule in librdkafka().rules:
        try:
            rule.check(librdkafka().in_force(values))
        except ConfigError as error:
            broken.append(error)
    return broken


def _aside(names: tuple[str, ...] | list[str], file: str) -> list[str]:
    if not names:
        return []
    return [f"set aside from {file}, because they do not tune the producer: {', '.join(names)}"]
