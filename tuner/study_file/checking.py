"""Checks the content of a YAML file against the sections and keys of its kind, with a message for each mistake."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import UnionType
from typing import Any, Generic, TypeVar, get_args, get_origin

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from search_spaces.client import Client, client_of, librdkafka
from search_spaces.errors import UnknownClient
from tuner.study_file.errors import KeyPath, Problems, Refusal, Refused, did_you_mean, path_text
from tuner.study_file.sections import Section
from tuner.study_file.strict_yaml import Plain

SectionsT = TypeVar("SectionsT", bound=Section)


@dataclass(frozen=True, slots=True)
class FileKind(Generic[SectionsT]):
    """A kind of file: its sections, and how messages name it.

    Attributes:
        sections: The class of the whole file, whose fields are the file's keys.
        what: What messages call such a file, such as `a study file`.
        example: A sentence with the shortest file.
    """

    sections: type[SectionsT]
    what: str
    example: str

    def check(self, value: Plain, problems: Problems) -> SectionsT:
        """Check the content of a file against the sections and their keys, and return the sections.

        Args:
            value: The content of the file.
            problems: The problems that were found so far, to which new ones are added.

        Raises:
            StudyFileError: A key is unknown or missing, a value is refused, or the content is not a mapping.
        """
        try:
            if isinstance(value, dict):
                return self.sections.model_validate(value, context=_client(value))
            content = "is empty" if value is None else "holds none"
            problems.add((), f"{self.what} must hold `key: value` lines, but this one {content}; {self.example}")
        except ValidationError as error:
            for misfit in error.errors(include_url=False):
                self._note(misfit, problems)
        raise problems.error()

    def _note(self, misfit: ErrorDetails, problems: Problems) -> None:
        key_path: KeyPath = tuple(misfit["loc"])
        match misfit["type"]:
            case "value_error":
                refusal: Refused = misfit["ctx"]["error"]
                if key_path not in problems.lines and key_path[:-1] in problems.lines:
                    key_path = key_path[:-1]  # the file has a text in place of a section, as in `study: NAME`
                for each in refusal.refusals:
                    problems.refuse(key_path, each, _inside(misfit["input"], each.within))
            case "extra_forbidden":
                problems.add(key_path, self._unknown(key_path))
            case "missing":
                problems.add(key_path, f"this key is required; {self.example}")
            case "too_short":
                problems.refuse(key_path, Refusal("the list must have at least one entry"), misfit["input"])
            case "too_long":
                problems.refuse(
                    key_path,
                    Refusal(f"the list must have at most {misfit['ctx']['max_length']} entries"),
                    misfit["input"],
                )
            case "dict_type":
                problems.refuse(key_path, Refusal("must be `name: {key: value}` lines"), misfit["input"])
            case "list_type":
                problems.refuse(key_path, Refusal("must be a list, such as [a, b]"), misfit["input"])
            case _:
                advice = f"put a blank after each colon; the keys are {', '.join(self._keys(key_path))}"
                problems.refuse(key_path, Refusal("must be a section of `key: value` lines", advice), misfit["input"])

    def _unknown(self, key_path: KeyPath) -> str:
        """Return the message for a key that its section does not have.

        The message does not show the value of the key: if the key is misspelt, the value may be a secret.
        """
        section, name = key_path[:-1], str(key_path[-1])
        keys = self._keys(section)
        where = path_text(section) or self.what
        advice = did_you_mean(name, keys)
        if not advice:
            sections = _sections(self.sections)
            elsewhere = [path_text(other) for other, known in sections if name in known and other != section]
            advice = f"it belongs in {elsewhere[0]}" if len(elsewhere) == 1 and elsewhere[0] else ""
        ended = advice if advice.endswith("?") else f"{advice or 'leave it out'}."
        return f"{where} has no such key; {ended} Its keys: {', '.join(keys)}"

    def _keys(self, key_path: KeyPath) -> list[str]:
        """Return the keys of the section at a key path, which may lead to an entry of a list or of a mapping."""
        section: type[Section] = self.sections
        for part in key_path:
            field = section.model_fields.get(str(part))  # None for the position or the name of an entry
            section = (_section_in(field.annotation) if field else None) or section
        return list(section.model_fields)


def _client(value: Mapping[str, Any]) -> Client:
    """Return the client that a file names, which decides how its properties are read.

    If the name is wrong, the key `client` is refused later, and the result is librdkafka.
    """
    try:
        return client_of(value.get("client", "librdkafka"))
    except UnknownClient:
        return librdkafka()


def _sections(section: type[Section], key_path: KeyPath = ()) -> Iterator[tuple[KeyPath, list[str]]]:
    """Yield the key path and the keys of each section, except sections in the entries of lists and mappings."""
    yield key_path, list(section.model_fields)
    for name, field in section.model_fields.items():
        if inner := _section_in(field.annotation, entries=False):
            yield from _sections(inner, (*key_path, name))


def _section_in(annotation: Any, *, entries: bool = True) -> type[Section] | None:
    """Return the section that a key with this annotation holds; None if it holds none.

    With `entries`, the section of the entries of a list or a mapping counts, too.
    """
    if isinstance(annotation, type):
        return annotation if issubclass(annotation, Section) else None
    inside = get_args(annotation) if entries or get_origin(annotation) is UnionType else ()
    return next(filter(None, (_section_in(each, entries=entries) for each in inside)), None)


def _inside(value: Any, key_path: KeyPath) -> Any:
    for part in key_path:
        value = value[part]
    return value
