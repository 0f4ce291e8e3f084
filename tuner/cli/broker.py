"""`tuner broker`: a real Kafka broker on this machine; `tuner cleanup`: what killed runs left on a cluster."""

import datetime
from dataclasses import asdict
from typing import Annotated

import typer
from rich.table import Column, Table

from runners.clusters.lasting import (
    Address,
    PersistentBroker,
    open_broker,
    persistent_status,
    start_persistent,
    stop_persistent,
    wait_while_running,
)
from runners.clusters.leftovers import Leftover, find_leftovers, remove_leftovers
from tuner.cli import options
from tuner.model.errors import ExitCode
from tuner.model.measurement_record import SCHEMA_VERSION
from tuner.present.console import OUT, say

app = typer.Typer(help="A real Kafka broker on this machine that stays until it is stopped.", no_args_is_help=True)


@app.command()
def start(
    brokers: Annotated[int, typer.Option(min=1, max=9, help="How many; three allow replication 3.")] = 1,
    port: Annotated[
        int | None, typer.Option(min=1, max=65535, help="Port of the first; a free one by default.")
    ] = None,
    as_json: options.Json = False,
) -> None:
    """Start it, and print its address.

    \b
    Example:
        tuner broker start && tuner bench --bootstrap $(tuner broker status --json | jq -r .bootstrap)
    """
    _show(start_persistent(brokers, port=port, progress=say), as_json)


@app.command()
def run(
    listen: Annotated[
        str, typer.Option(metavar="HOST:PORT", help="Where it listens; it asks nobody for a password.")
    ] = "127.0.0.1:9092",
    advertise: Annotated[
        str | None,
        typer.Option(metavar="HOST:PORT", help="Where clients are sent to; --listen, unless that is 0.0.0.0."),
    ] = None,
) -> None:
    """Run one in the foreground until it is told to stop: in a container, or for a service manager.

    \b
    Example:
        tuner broker run --listen 0.0.0.0:9092 --advertise kafka.example:9092
    """
    try:
        listening = Address.parse(listen)
        advertised = Address.parse(advertise) if advertise else listening
        cluster = open_broker(listening, advertised)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None
    try:
        running = cluster.start(say)
        OUT.print(f"running at {advertised}; Ctrl-C ends it", markup=False, soft_wrap=True)
        wait_while_running(running)
    finally:
        cluster.stop()


@app.command()
def status(as_json: options.Json = False) -> None:
    """Say whether it runs, and where; exit code 3 if not."""
    running = persistent_status()
    _show(running, as_json)
    if running is None:
        raise typer.Exit(ExitCode.TARGET)


@app.command()
def stop(as_json: options.Json = False) -> None:
    """Stop it, and remove its data."""
    stopped = stop_persistent()
    if as_json:
        _show(None, as_json)
    else:
        OUT.print(f"stopped {stopped.bootstrap}, its data is removed" if stopped else "no broker runs", markup=False)


def _show(broker: PersistentBroker | None, as_json: bool) -> None:
    if as_json:
        record: dict[str, object] = {"schema_version": SCHEMA_VERSION, "kind": "broker", "running": broker is not None}
        if broker is not None:
            record |= {
                "bootstrap": broker.bootstrap,
                "pids": list(broker.pids),
                "started_s": broker.started_s,
                "logs": [str(log) for log in broker.logs],
            }
        options.print_json(record)
    elif broker is None:
        OUT.print("no broker runs; start one with: tuner broker start")
    else:
        since = datetime.datetime.fromtimestamp(broker.started_s).astimezone().isoformat(timespec="seconds")
        OUT.print(f"running at {broker.bootstrap} since {since}", markup=False, soft_wrap=True)
        for log in broker.logs:
            OUT.print(f"log: {log}", markup=False, soft_wrap=True)


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
    cluster = options.target_of(bootstrap, command_config).cluster()
    running = cluster.start()
    try:
        found = find_leftovers(running)
        doomed = [left for left in found if left.state == "dead" or (unknown and left.state == "unknown")]
        if not as_json:
            _print_leftovers(found)
        removed: list[str] = []
        if remove and doomed and (yes or typer.confirm(f"delete {len(doomed)} topics?", err=True)):
            removed = remove_leftovers(running, doomed)
    finally:
        cluster.stop()
    if as_json:
        leftovers = [asdict(left) for left in found]
        record = {"schema_version": SCHEMA_VERSION, "kind": "cleanup", "leftovers": leftovers, "removed": removed}
        options.print_json(record)
    elif removed:
        OUT.print(f"deleted {len(removed)} topics")
    elif doomed and not remove:
        say(f"{len(doomed)} can be deleted: add --remove")


def _print_leftovers(found: list[Leftover]) -> None:
    if not found:
        OUT.print("nothing was left behind")
        return
    table = Table(*(Column(heading, overflow="fold") for heading in ("topic", "run", "state")))
    for left in found:
        table.add_row(left.topic, left.run_id, left.state)
    OUT.print(table)
