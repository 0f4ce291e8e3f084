"""What was found in a producer's properties file, and its translation for the other client, as text and as JSON."""

import shlex
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from runners.reporting import counted
from search_spaces.client import Client
from search_spaces.files.file_translation import FileTranslation, TranslatedProperty
from search_spaces.files.properties_file import format_properties
from search_spaces.lint.findings import LintLevel, LintReport
from search_spaces.lint.load_findings import LintLoad
from search_spaces.translation.to_java import LABEL
from tuner.model.document import document
from tuner.present.number_text import aligned

_NOTHING: Final = "-"


def report_head(report: LintReport, file: Path) -> str:
    """Return the line above the findings: the file, the client, and the guarantee."""
    promised = "it has errors" if report.guarantee is None else f"guarantee: {report.guarantee}"
    return f"{file}, for {report.client.label}: {promised}"


def report_foot(report: LintReport) -> Iterator[str]:
    """Yield the lines below the findings: what was not checked, and how many findings there are."""
    if report.set_aside:
        yield f"not checked, because they do not tune the producer: {', '.join(report.set_aside)}"
    yield ", ".join(counted(report.count(level), level) for level in LintLevel)


def lint_json(report: LintReport, file: Path, load: LintLoad | None) -> dict[str, Any]:
    """Return a report as JSON types."""
    return document(
        "lint",
        file=str(file),
        client={"kind": str(report.client.kind), "version": report.client.version, "assumed": report.assumed},
        guarantee=None if report.guarantee is None else str(report.guarantee),
        record_bytes=load and load.record_bytes,
        rate_records_per_s=load and load.rate_records_per_s,
        findings=[asdict(finding) for finding in report.findings],
        set_aside=list(report.set_aside),
        counts={str(level): report.count(level) for level in LintLevel},
    )


def translated_text(translation: FileTranslation, file: Path, output: Path | None) -> str:
    """Return the translated properties as a file to paste, with a comment that says what they are."""
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
