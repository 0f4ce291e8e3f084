"""The findings about a producer's properties file, as text for people and as JSON."""

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from runners.reporting import counted
from search_spaces.lint.findings import LintLevel, LintReport
from search_spaces.lint.load_findings import LintLoad
from tuner.model.document import document


def report_head(report: LintReport, file: Path) -> str:
    """Return the line above the findings: the file, the client, and the guarantee."""
    promised = "it has errors" if report.guarantee is None else f"guarantee: {report.guarantee}"
    return f"{file.name}, for {report.client.label}: {promised}"


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
