"""`tuner cleanup` lists and deletes the topics that killed runs left on a cluster."""

from dataclasses import asdict
from typing import Annotated

import typer
from rich.table import Column, Table

from runners.clusters.topics.leftovers import Leftover, find_leftovers, remove_leftovers
from runners.reporting import counted
from tuner.cli.ask_before_removing import user_agrees
from tuner.cli.options import common_options, target_options
from tuner.cli.output import print_json
from tuner.model.document import document
from tuner.present.console import OUT, say


def cleanup(
    bootstrap: target_options.TopicBootstrap = None,
    command_config: target_options.CommandConfig = None,
    remove: Annotated[
        bool,
        typer.Option(
            "--remove",
            help="Delete the topics of dead runs (their process has ended), after asking. Without this option, "
            "the topics are only listed.",
        ),
    ] = False,
    unknown: Annotated[
        bool,
        typer.Option(
            "--unknown",
            help="With --remove, also delete the topics of unknown runs. Another host may have started such a run, so "
            "check first that it has ended.",
        ),
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Delete without asking.")] = False,
    as_json: common_options.Json = False,
) -> None:
    """List the topics that earlier tuner runs left on a cluster, and delete them with --remove.

    Only topics that the tuner created (tuner-TIME-ID-N) are listed and deleted. The topics of a run that is alive on
    this host are never deleted.

    \b
    Examples:
        tuner cleanup --bootstrap broker:9092
        tuner cleanup --bootstrap broker:9092 --remove
    """
    if bootstrap is None:
        raise typer.BadParameter("cleanup needs --bootstrap, the address of your cluster")
    with target_options.users_cluster(bootstrap, command_config) as running:
        leftovers = find_leftovers(running)
        removable = [left for left in leftovers if left.state == "dead" or (unknown and left.state == "unknown")]
        if not as_json:
            _print_leftovers(leftovers)
        removed: list[str] = []
        topics = counted(len(removable), "topic")
        if (
            remove
            and removable
            and (yes or user_agrees(f"delete {topics}?", f"cleanup asks before it deletes {topics}"))
        ):
            removed = remove_leftovers(running, removable)
    if as_json:
        print_json(document("cleanup", leftovers=[asdict(left) for left in leftovers], removed=removed))
    elif removed:
        OUT.show(f"deleted {counted(len(removed), 'topic')}")
    elif removable and not remove:
        say(f"{topics} can be deleted; add --remove")


def _print_leftovers(leftovers: list[Leftover]) -> None:
    if not leftovers:
        OUT.show("there are no topics of earlier tuner runs on the cluster")
        return
    table = Table(*(Column(heading, overflow="fold") for heading in ("topic", "run", "state")))
    for left in leftovers:
        table.add_row(left.topic, left.run_id, left.state)
    OUT.print(table)
