"""`tuner doctor`: what was found on this host and on the cluster."""

import itertools
import json
from collections.abc import Iterable
from dataclasses import asdict
from typing import Annotated

import typer

from tuner.cli import options
from tuner.cli.checkup import OF_THE_CLUSTER, Finding, State, check_ceiling, check_cluster, check_host
from tuner.model.exit_codes import ExitCode
from tuner.model.measurement_record import SCHEMA_VERSION
from tuner.present.console import OUT, say

_STYLES = {State.GOOD: "green", State.WEAK: "yellow", State.BAD: "red", State.ABSENT: "dim"}


def doctor(
    bootstrap: options.Bootstrap = None,
    command_config: options.CommandConfig = None,
    topic: Annotated[
        str | None,
        typer.Option(
            help="A topic of yours that is to be written to, where we may create none.", rich_help_panel="Target"
        ),
    ] = None,
    ceiling: Annotated[
        bool, typer.Option(help="Measure how fast the generator goes on this host, on a broker of its own.")
    ] = True,
    as_json: options.Json = False,
) -> None:
    """Say what was found: client, Java, Docker, clock, disk, cluster and rights, and the generator's ceiling here.

    Exit code 1 if something will not work, 3 if it is only the cluster: it can't be reached, or refuses us.

    \b
    Examples:
        tuner doctor
        tuner doctor --bootstrap broker:9092 --command-config client.properties --no-ceiling
        tuner doctor --bootstrap broker:9092 --command-config client.properties --topic scratch --no-ceiling
    """
    target = options.target_of(bootstrap, command_config, topic=topic)
    tell = (lambda _: None) if as_json else say
    checks: list[Iterable[Finding]] = [check_host()]
    if bootstrap is not None:
        checks.append(check_cluster(target, tell))
    if ceiling:
        checks.append(check_ceiling(tell))
    found = []
    for finding in itertools.chain.from_iterable(checks):
        found.append(finding)
        if not as_json:
            style = _STYLES[finding.state]
            OUT.print(f"[{style}]{finding.state:<7}[/] {finding.name:<18} ", end="")
            OUT.print(finding.detail, markup=False, soft_wrap=True)
    if as_json:
        record = {"schema_version": SCHEMA_VERSION, "kind": "checkup", "findings": [asdict(one) for one in found]}
        typer.echo(json.dumps(record, indent=2))
    bad = {finding.name for finding in found if finding.state is State.BAD}
    if bad:
        raise typer.Exit(ExitCode.TARGET if bad <= OF_THE_CLUSTER else ExitCode.FAILED)
