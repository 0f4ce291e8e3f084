"""`tuner lint` checks a producer's properties file. It needs no cluster and sends nothing."""

from pathlib import Path
from typing import Annotated, Final

import typer

from search_spaces.errors import UnknownClient
from search_spaces.lint.findings import LintLevel
from search_spaces.lint.linting import lint_file
from search_spaces.lint.load_findings import (
    LEAST_RATE_RECORDS_PER_S,
    MOST_LINTED_RATE_RECORDS_PER_S,
    MOST_RECORD_BYTES,
    LintLoad,
)
from tuner.cli.options import common_options
from tuner.cli.output import print_json
from tuner.model.errors import ExitCode
from tuner.present.console import OUT, say
from tuner.present.producer_files import lint_json, report_foot, report_head

_STYLES: Final = {LintLevel.ERROR: "red", LintLevel.WARNING: "yellow", LintLevel.HINT: "dim"}


def lint(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Properties file of a producer, such as your own.")],
    client: Annotated[
        str | None,
        typer.Option(
            metavar="librdkafka|java|java:VERSION",
            help="The client that FILE is for.",
            show_default="the one that its properties show, or else librdkafka",
        ),
    ] = None,
    client_version: Annotated[
        str | None,
        typer.Option(
            metavar="VERSION",
            help="The client's version, such as 3.9.1, or 3.9 for the newest known 3.9.x.",
            show_default="the newest that is known",
        ),
    ] = None,
    record_bytes: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=MOST_RECORD_BYTES,
            metavar="N",
            help="Bytes of a record's value, to learn what the file means for such records.",
        ),
    ] = None,
    rate: Annotated[
        float | None,
        typer.Option(
            min=LEAST_RATE_RECORDS_PER_S,
            max=MOST_LINTED_RATE_RECORDS_PER_S,
            metavar="N",
            help="Records per second that the producer sends, such as 20000. It needs --record-bytes.",
        ),
    ] = None,
    as_json: common_options.Json = False,
) -> None:
    """Check a producer's properties file for mistakes and for lines that do nothing, and explain its values.

    Each finding is one line. An error means that the client refuses the file or can't send with it, or that a name is
    misspelt. A warning means that the client works, but does not do what the line suggests. Hints are about
    defaults that the file sets or that other versions have changed, about memory and, with --record-bytes and --rate,
    about what the values mean for these records. Passwords and logins are never printed.

    The exit code is 97 if there is an error, and 0 if there is none, also with warnings and hints. It is 2 if the file
    can't be read, or if an option is wrong.

    \b
    Examples:
        tuner lint producer.properties
        tuner lint producer.properties --client java --client-version 3.6
        tuner lint producer.properties --record-bytes 1000 --rate 20000
        tuner lint producer.properties --json
    """
    if rate is not None and record_bytes is None:
        raise typer.BadParameter("--rate needs --record-bytes: what a rate means depends on the size of the records")
    load = None if record_bytes is None else LintLoad(record_bytes, rate)
    with common_options.as_usage_error(
        UnknownClient, option="--client" if client_version is None else "--client-version"
    ):
        report = lint_file(file, client, client_version, load)
    if as_json:
        print_json(lint_json(report, file, load))
    else:
        OUT.show(report_head(report, file), style="bold")
        for finding in report.findings:
            OUT.show(f"{finding.level:<9}", style=_STYLES[finding.level], end="")
            OUT.show(str(finding))
        OUT.show(*report_foot(report))
        if report.assumed:
            say("nothing in the file shows which client it is for; --client java checks it for the Java client")
    if report.count(LintLevel.ERROR):
        raise typer.Exit(ExitCode.FAULTY_FILE)
