"""Commands that show which studies a service has, and how far they are: `tuner --server URL studies` and `status`."""

import contextlib
import json
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

import typer

from runners.reporting import printable
from tuner.cli.options import common_options
from tuner.cli.options.study_arguments import StudyOrAll, Watch, check_named
from tuner.cli.output import print_json
from tuner.cli.printing.studies import print_studies
from tuner.cli.service_commands.at_service import service
from tuner.client import Client, ServiceRefused
from tuner.model.document import document
from tuner.present.console import warn
from tuner.present.studies.status import not_begun
from tuner.present.studies.study_list import ListedStudy, listed_study, newest_first
from tuner.service.queue.job import AT_WORK

_WATCH_S: Final = 2.0


def status(
    study: StudyOrAll = None,
    watch: Watch = False,
    as_json: common_options.Json = False,
) -> None:
    """Show the progress of a study on the service.

    Without a study, the command lists all studies, as `tuner studies` does.

    \b
    Examples:
        tuner --server https://tuner.example status
        tuner --server https://tuner.example status orders
        tuner --server https://tuner.example status orders --watch
    """
    if study is None:
        check_named(watch=watch)
        studies(as_json=as_json)
        return
    with service() as client:
        shown = None
        while True:
            view = client.study(study)
            if view["progress"] is None and view["state"] == "recorded":
                client.status(study)  # the service refuses this request, and the error says why
            if as_json:
                status_json = (
                    client.status(study)
                    if view["progress"] is not None
                    else not_begun(study, view["state"], view["note"], view["changed_at"])
                )
                # With --watch, each change is one JSON document on one line.
                text = json.dumps(status_json, indent=None if watch else 2)
            elif view["progress"] is None:
                text = f"{study}: {view['state']}"
            else:
                text = client.text(study, "status").rstrip("\n")
            if text != shown:
                typer.echo(printable(text))
                if view["note"]:
                    warn(f"{view['state']}: {view['note']}")
            shown = text
            if not watch or view["state"] not in AT_WORK:
                return
            time.sleep(_WATCH_S)


def studies(as_json: common_options.Json = False, as_csv: common_options.Csv = False) -> None:
    """List the studies on the service, newest first, with their state, their trials and the best gain that is proven.

    \b
    Examples:
        tuner --server https://tuner.example studies
        tuner --server https://tuner.example studies --csv > studies.csv
    """
    with service() as client:
        views = list(client.studies())
        listed = {view["name"]: _listed(client, view) for view in views}
    if as_json:
        # The service says more about a study than the list shows.
        shown = [{**view, **listed[view["name"]].as_json()} for view in views]
        print_json(document("studies", studies=shown))
    else:
        print_studies(newest_first([*listed.values()]), f"at {client.url}", as_json=False, as_csv=as_csv)


def _listed(client: Client, view: Mapping[str, Any]) -> ListedStudy:
    summary, progress = view["summary"] or {}, None
    if experiment := summary.get("experiment"):
        return ListedStudy(**{**experiment, "record_sizes": tuple(experiment["record_sizes"])})
    if summary:
        with contextlib.suppress(ServiceRefused):  # a study that has just begun has no status yet
            progress = client.status(view["name"])
    target = "simulated" if summary.get("simulated") else ", ".join(view["targets"]) or summary.get("target")
    facts = {**summary, "target": target}
    # The queue knows no state of a study that lies in the folder and was not submitted.
    state = None if view["state"] == "recorded" and progress is not None else view["state"]
    listed = listed_study(view["name"], facts, progress, state)
    return listed if listed.updated_at else replace(listed, updated_at=view["changed_at"] or "")
