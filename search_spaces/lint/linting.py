"""Checks a producer's properties file for a client. Measures nothing and contacts no cluster."""

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final

from search_spaces.client import Client, ClientKind, client_in_version, tunes_producer
from search_spaces.configs.guarantee import GUARANTEE_NAMES, Guarantee
from search_spaces.files.producer_file import client_shown_by
from search_spaces.files.properties_file import read_properties
from search_spaces.lint.checks import contradictions, defaults, guarantees
from search_spaces.lint.entries import Entries, read_entries
from search_spaces.lint.findings import About, LintFinding, LintLevel, LintReport
from search_spaces.lint.load_findings import LintLoad, meanings

_ORDER: Final = list(LintLevel)


def lint_file(
    path: Path, client: str | None = None, version: str | None = None, load: LintLoad | None = None
) -> LintReport:
    """Check a producer's properties file.

    Args:
        path: Path of the properties file.
        client: The client that the file is for, as `client_in_version` takes it. None: the client that its properties
            show, or librdkafka if they show none.
        version: The client's version, such as "3.6.2" or "3.6"; None for the newest one that is known.
        load: The records that the producer sends; None if that is not known.

    Raises:
        PropertiesFileError: The file or one of its lines can't be read, or an environment variable that gives the value
            of a producer property is not set.
        UnknownClient: There is no such client, or its version is not known.
    """
    entries = read_properties(path, os.environ, is_filled=tunes_producer)
    shown = client_shown_by(entries)
    report = lint(entries, client_in_version(client or shown or ClientKind.LIBRDKAFKA, version), load)
    return replace(report, assumed=client is None and shown is None)


def lint(entries: Mapping[str, str], client: Client, load: LintLoad | None = None) -> LintReport:
    """Check the properties of a producer.

    Args:
        entries: Property names and values, as `read_properties` returns them.
        client: The client that they are for.
        load: The records that the producer sends; None if that is not known.
    """
    file_entries = read_entries(entries, client)
    file_entries, contradicting = contradictions(file_entries)
    findings = [*file_entries.findings, *contradicting]
    wrong = file_entries.invalid | {each.key for each in findings if each.level is LintLevel.ERROR}
    spelt = {file_entries.spellings.get(name, name) for name in GUARANTEE_NAMES}
    if not wrong & (spelt | set(GUARANTEE_NAMES)):
        findings += guarantees(file_entries)
    findings += defaults(file_entries)
    if not any(each.level is LintLevel.ERROR and each.about is not About.NAME for each in findings):
        findings.append(_memory(file_entries, load))
        findings += meanings(file_entries, load) if load else ()
    ordered = sorted(findings, key=lambda finding: _ORDER.index(finding.level))
    refused = any(each.level is LintLevel.ERROR for each in findings)
    guarantee = None if refused else Guarantee.read(file_entries.effective_values)
    return LintReport(client, False, guarantee, tuple(ordered), tuple(file_entries.set_aside))


def _memory(entries: Entries, load: LintLoad | None) -> LintFinding:
    limits = entries.client.limits
    sentence = limits.memory(entries.effective_values, load.record_bytes if load else None)
    return entries.finding(LintLevel.HINT, About.MEMORY, limits.queue, sentence)
