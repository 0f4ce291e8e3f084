"""`tuner cleanup`: find and remove what killed runs left on a cluster."""

import json
from typing import Annotated

import typer
from rich.table import Table

from runners.clusters.leftovers import Leftover, find_leftovers, remove_leftovers
from tuner.cli import options
from tuner.model.measurement_record import SCHEMA_VERSION
from tuner.model.target import Target
from tuner.present.console import OUT, say


def cleanup(
    bootstrap: options.Bootstrap = None,
    command_config: options.CommandConfig = None,
    remove: Annotated[
        bool, typer.Option("--remove", help="Delete topics of runs that are dead, after asking; without it, only list.")
    ] = False,
    unknown: Annotated[
        bool, typer.Option("--unknown", help="Also those of runs that another host may have started.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Don't ask.")] = False,
    as_json: options.Json = False,
) -> None:
    """List topics that runs of ours left on a cluster, and remove them.

    Only names that `tuner` gives (tuner-DATE-ID-N) are ever touched. A run that is alive on this host is left alone.

    \b
    Examples:
        tuner cleanup --bootstrap broker:9092
        tuner cleanup --bootstrap broker:9092 --remove
    """
    if bootstrap is None:
        raise typer.BadParameter("cleanup is about a cluster of yours: give its address with --bootstrap")
    target: Target = options.target_of(bootstrap, command_config)
    cluster = target.cluster()
    running = cluster.start()
    try:
        found = find_leftovers(running)
        doomed = [left for left in found if left.state == "dead" or (unknown and left.state == "unknown")]
        if not as_json:
            _print(found)
        removed: list[str] = []
        if remove and doomed and (yes or typer.confirm(f"delete {len(doomed)} topics?", err=True)):
            removed = remove_leftovers(running, doomed)
    finally:
        cluster.stop()
    if as_json:
        typer.echo(json.dumps(_record(found, removed), indent=2))
    elif removed:
        OUT.print(f"deleted {len(removed)} topics")
    elif doomed and not remove:
        say(f"{len(doomed)} can be deleted: add --remove")


def _print(found: list[Leftover]) -> None:
    if not found:
        OUT.print("nothing was left behind")
        return
    table = Table()
    for heading in ("topic", "run", "state"):
        table.add_column(heading, overflow="fold")
    for left in found:
        table.add_row(left.topic, left.run_id, left.state)
    OUT.print(table)


def _record(found: list[Leftover], removed: list[str]) -> dict[str, object]:
    return {
        "schema_version": SCHEMA_VERSION,
        "kind": "cleanup",
        "leftovers": [{"topic": left.topic, "run_id": left.run_id, "state": left.state} for left in found],
        "removed": removed,
    }
