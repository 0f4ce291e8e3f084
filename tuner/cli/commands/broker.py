"""`tuner broker` starts, shows and stops a Kafka broker on this machine."""

import datetime
from typing import Annotated

import typer

from runners.clusters.brokers.persistent import (
    Address,
    PersistentBroker,
    broker_for_other_hosts,
    persistent_status,
    start_persistent,
    stop_persistent,
    wait_while_running,
)
from tuner.cli.options import common_options
from tuner.cli.output import print_json
from tuner.model.document import document
from tuner.model.errors import ExitCode
from tuner.model.target import MOST_BROKERS
from tuner.present.console import OUT, say

app = typer.Typer(
    help="Start and stop a real Kafka broker on this machine. It runs until you stop it.\n\n\b\nExamples:\n"
    "    tuner broker start\n    tuner broker stop",
    no_args_is_help=True,
)


@app.command()
def start(
    brokers: Annotated[
        int, typer.Option(min=1, max=MOST_BROKERS, help="Number of brokers. Replication 3 needs three brokers.")
    ] = 1,
    port: Annotated[
        int | None,
        typer.Option(min=1, max=65535, help="Port of the first broker, such as 9092.", show_default="a free port"),
    ] = None,
    as_json: common_options.Json = False,
) -> None:
    """Start the broker in the background, and print its address.

    \b
    Examples:
        tuner broker start
        tuner broker start --brokers 3 --port 9092
        tuner broker start && tuner bench --bootstrap $(tuner broker status --json | jq -r .bootstrap)
    """
    _show(start_persistent(brokers, port=port, progress=say), as_json)


@app.command()
def run(
    listen: Annotated[
        str,
        typer.Option(
            metavar="HOST:PORT",
            help="Address to listen on. The broker accepts every client that reaches this address, without a password.",
        ),
    ] = "127.0.0.1:9092",
    advertise: Annotated[
        str | None,
        typer.Option(
            metavar="HOST:PORT",
            help="Address that the broker advertises to clients. It must be given if --listen is 0.0.0.0.",
            show_default="the same as --listen",
        ),
    ] = None,
) -> None:
    """Run a broker in the foreground until Ctrl-C or SIGTERM, for containers and service managers.

    \b
    Example:
        tuner broker run --listen 0.0.0.0:9092 --advertise kafka.example:9092
    """
    with common_options.as_usage_error(ValueError, option="--listen"):
        listening = Address.parse(listen)
    with common_options.as_usage_error(ValueError, option="--advertise"):
        advertised = Address.parse(advertise) if advertise else listening
        cluster = broker_for_other_hosts(listening, advertised)
    try:
        running = cluster.start(say)
        OUT.show(f"the broker runs at {advertised}; Ctrl-C stops it")
        wait_while_running(running, advertised)
    finally:
        cluster.stop()


@app.command()
def status(as_json: common_options.Json = False) -> None:
    """Show whether the broker runs, and where; exit code 3 if it does not run.

    \b
    Examples:
        tuner broker status
        tuner broker status --json
    """
    running = persistent_status()
    _show(running, as_json)
    if running is None:
        raise typer.Exit(ExitCode.TARGET)


@app.command()
def stop(as_json: common_options.Json = False) -> None:
    """Stop the broker, and remove its data.

    \b
    Example:
        tuner broker stop
    """
    stopped = stop_persistent()
    if as_json:
        _show(None, as_json)
    else:
        OUT.show(f"stopped the broker at {stopped.bootstrap} and removed its data" if stopped else "no broker runs")


def _show(broker: PersistentBroker | None, as_json: bool) -> None:
    if as_json:
        record: dict[str, object] = document("broker", running=broker is not None)
        if broker is not None:
            record |= {
                "bootstrap": broker.bootstrap,
                "pids": list(broker.pids),
                "started_s": broker.started_s,
                "logs": [str(log) for log in broker.logs],
            }
        print_json(record)
    elif broker is None:
        OUT.show("no broker runs; `tuner broker start` starts one")
    else:
        since = datetime.datetime.fromtimestamp(broker.started_s).astimezone().isoformat(timespec="seconds")
        OUT.show(f"the broker runs at {broker.bootstrap} since {since}")
        OUT.show(*(f"log: {log}" for log in broker.logs))
