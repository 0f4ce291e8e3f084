"""A producer's properties file that was translated for the other client: to paste, as text for people, and as JSON."""

import shlex
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from search_spaces.client import Client
from search_spaces.files.file_translation import FileTranslation, TranslatedProperty
from search_spaces.files.properties_file import format_properties
from search_spaces.translation.to_java import LABEL
from tuner.model.document import document
from tuner.present.number_text import aligned

_NOTHING: Final = "-"


def translated_text(translation: FileTranslation, file: Path, output: Path | None) -> str:
    """Return the translated properties as a file to paste, with a comment that says what they are.

    Args:
        translation: The translation.
        file: The file that was translated.
        output: Where the text will be written; None if that is not known.
    """
    source, target = translation.source.client, translation.target.client
    comment = [
        f"kafka-tuner: translated from {file.name}, for {source.label}, to {target.label}",
        f"not measured: run `{_verify_command(target, output)}`",
        f"guarantee: {translation.guarantees[1]}",
        *([f"no counterpart: {', '.join(translation.without_twin)}"] if translation.without_twin else []),
    ]
    return format_properties(translation.properties, comment="\n".join(comment))


def _verify_command(client: Client, output: Path | None) -> str:
    """Return the command that measures the translation with its client."""
    named = client.identity.replace(" ", ":")
    return f"tuner verify {shlex.quote(str(output)) if output else 'FILE'} --client {named}"


def translation_lines(translation: FileTranslation, file: Path) -> list[str]:
    """Return the table of properties and their twins, the guarantees and the notes, as lines for a terminal."""
    source, target = translation.source.client, translation.target.client
    before, after = translation.guarantees
    head = (file.name, source.label, "", target.label, "")
    cells = (
        (
            "set" if row.given else "default",
            f"{row.name}={row.value}" if row.name else _NOTHING,
            "->",
            f"{row.twin}={row.twin_value}" if row.twin else _NOTHING,
            row.note,
        )
        for row in translation.rows
    )
    return [
        *aligned([head, *cells], right=False),
        f"guarantee: {before}" + ("; the same after the translation" if before == after else f" -> {after}"),
        *(f"note: {note}" for note in translation.notes),
    ]


def translation_json(translation: FileTranslation, file: Path) -> dict[str, Any]:
    """Return a translation as JSON types."""
    before, after = translation.guarantees
    return document(
        "translation",
        label=LABEL,
        file=str(file),
        **{"from": _client(translation.source.client)},
        to=_client(translation.target.client),
        guarantee={"before": str(before), "after": str(after)},
        rows=[_row(row) for row in translation.rows],
        without_twin=list(translation.without_twin),
        notes=list(translation.notes),
        properties=translation.properties,
    )


def _client(client: Client) -> dict[str, str]:
    return {"kind": str(client.kind), "version": client.version}


def _row(row: TranslatedProperty) -> dict[str, Any]:
    """Return a row with null in place of a name or twin that does not exist."""
    return {key: None if value == "" and key != "note" else value for key, value in asdict(row).items()}
