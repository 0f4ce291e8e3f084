"""`tuner broker`: a real Kafka broker on this machine that stays until it is stopped."""

import datetime
import json
from typing import Annotated

import typer

from runners.clusters.open_broker import Address, open_broker, wait_while_running
from runners.clusters.persistent import PersistentBroker, persistent_status, start_persistent, stop_persistent
from tuner.cli.options import Json
from tuner.model.exit_codes import ExitCode
from tuner.model.measurement_record import SCHEMA_VERSION
from tuner.present.console import OUT, say

app = typer.Typer(help="A real Kafka broker on this machine that stays until it is stopped.", no_args_is_help=True)


@app.command()
def start(
    brokers: Annotated[int, typer.Option(min=1, max=9, help="How many; three allow replication 3.")] = 1,
    port: Annotated[
        int | None, typer.Option(min=1, max=65535, help="Port of the first; a free one by default.")
    ] = None,
    as_json: Json = False,
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
def status(as_json: Json = False) -> None:
    """Say whether it runs, and where; exit code 3 if not."""
    running = persistent_status()
    _show(running, as_json)
    if running is None:
        raise typer.Exit(ExitCode.TARGET)


@app.command()
def stop(as_json: Json = False) -> None:
    """Stop it, and remove its data."""
    stopped = stop_persistent()
    if as_json:
        _show(None, as_json)
    else:
        OUT.print(f"stopped {stopped.bootstrap}, its data is removed" if stopped else "no broker runs", markup=False)


def _show(broker: PersistentBroker | None, as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps(_record(broker), indent=2))
    elif broker is None:
        OUT.print("no broker runs; start one with: tuner broker start")
    else:
        since = datetime.datetime.fromtimestamp(broker.started_s).astimezone().isoformat(timespec="seconds")
        OUT.print(f"running at {broker.bootstrap} since {since}", markup=False, soft_wrap=True)
        for log in broker.logs:
            OUT.print(f"log: {log}", markup=False, soft_wrap=True)


def _record(broker: PersistentBroker | None) -> dict[str, object]:
    record: dict[str, object] = {"schema_version": SCHEMA_VERSION, "kind": "broker", "running": broker is not None}
    if broker is not None:
        record |= {
            "bootstrap": broker.bootstrap,
            "pids": list(broker.pids),
            "started_s": broker.started_s,
            "logs": [str(log) for log in broker.logs],
        }
    return record
