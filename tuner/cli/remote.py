"""The verbs that work on a service: `tuner --server URL run`, `status`, `front`, `recommend`, `report` and others.

A verb that also exists without a service, such as `front`, prints the same with and without a service.
"""

import contextlib
import json
import os
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from runners.reporting import printable
from tuner.cli import options
from tuner.cli.app import Interrupted
from tuner.cli.output import Force, check_output, write_output
from tuner.cli.recommend import (
    AllowLoss,
    AskedGoal,
    Everything,
    FormOption,
    MaxP99Ms,
    MinMbPerS,
    RecordBytes,
    form_asked,
    show_found,
    study_record,
)
from tuner.cli.show import check_named
from tuner.cli.studies import Parquet, check_trials_output, print_studies, show_trials
from tuner.cli.studies import RecordBytes as ShownSize
from tuner.client import Client, ServiceFault, ServiceRefused, ServiceUnreachable
from tuner.model.errors import ExitCode, NoFeasibleConfig, StudyError
from tuner.model.spec import Goal
from tuner.present.console import ERR, OUT, say, warn
from tuner.present.export import Format, export_all, recommendation_of
from tuner.present.grid_view import NO_GRID
from tuner.present.study_list import ListedStudy, listed_study, newest_first
from tuner.present.wording import number, title
from tuner.results.recommendation import Recommendation

SERVER_VARIABLE: Final = "KAFKA_TUNER_SERVER"
TOKEN_VARIABLE: Final = "KAFKA_TUNER_TOKEN"
TOKEN_FILE_VARIABLE: Final = "KAFKA_TUNER_TOKEN_FILE"
_TRIES: Final = 20
_PAUSE_S: Final = 3.0
_WATCH_S: Final = 2.0
_KINDS: Final[Mapping[str, ExitCode]] = {
    "no-feasible-config": ExitCode.NO_FEASIBLE_CONFIG,
    "not-found": ExitCode.USAGE,
    "study-file": ExitCode.USAGE,
    "invalid": ExitCode.USAGE,
    "name-taken": ExitCode.USAGE,
    "settings-changed": ExitCode.USAGE,
}

Study = Annotated[str, typer.Argument(metavar="STUDY", help="Name of a study on the service, such as orders.")]


@contextlib.contextmanager
def service() -> Iterator[Client]:
    """Yield a client of the service that the user named, and end the command if the service refuses a request.

    Raises:
        typer.BadParameter: The address or the token has the wrong form.
        typer.Exit: The service refused a request, or can't be reached; the message was printed.
    """
    try:
        yield Client(os.environ[SERVER_VARIABLE], _token())
    except ValueError as error:
        raise typer.BadParameter(f"{SERVER_VARIABLE} or {TOKEN_VARIABLE}: {error}") from None
    except ServiceFault as error:
        ERR.print(f"error: {error}", style="red", markup=False, soft_wrap=True)
        refused = isinstance(error, ServiceRefused)
        code = _KINDS.get(error.kind, ExitCode.FAILED) if refused else ExitCode.TARGET  # type: ignore[attr-defined]
        raise typer.Exit(code) from None


def run(
    study_file: Annotated[
        Path,
        typer.Argument(
            metavar="STUDY.YAML", help="Study file whose target is the name of one of the service's clusters."
        ),
    ],
    detach: Annotated[
        bool, typer.Option("--detach", "-d", help="Submit the study and return at once, without following it.")
    ] = False,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Submit a study to the service, and follow it until it ends.

    Ctrl-C only stops this command: the study keeps running on the service. The same command follows the study again.

    \b
    Examples:
        tuner --server https://tuner.example run orders.yaml
        tuner --server https://tuner.example run orders.yaml --detach
    """
    try:
        text = study_file.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise typer.BadParameter(f"a study file must be readable text, but {study_file} is not: {error}") from None
    with service() as client:
        left = f"the service may have received the study; `tuner --server {client.url} studies` lists its studies"
        try:
            view = client.submit(text, "application/json" if study_file.suffix == ".json" else "application/yaml")
            name = view["name"]
            left = f"the study {name} goes on at the service; `tuner --server {client.url} cancel {name}` stops it"
            silent = quiet or as_json
            if not silent:
                for change in view.get("limited", ()):
                    warn(f"{change['key']} {change['detail']}")
                say(f"study {name} is {view['state']} at {client.url}; Ctrl-C stops this command, not the study")
            if detach:
                typer.echo(json.dumps(view, indent=2) if as_json else name)
                return
            ended = _follow(client, name, silent=silent)
        except Interrupted:
            raise Interrupted(left) from None
        if ended != "complete":
            note = client.study(name)["note"]
            raise StudyError(f"the study {name} is {ended}{f': {note}' if note else ''}")
        found = _recommendation_for_each_size(client, name)
        if as_json:
            options.print_json(study_record(name, None, found))
        else:
            OUT.print(export_all(found, Format.TABLE), markup=False, soft_wrap=True, end="")
        if not found:
            raise NoFeasibleConfig(
                f"no config of {name} keeps every constraint; `tuner front {name}` shows how near the configs came"
            )


def status(
    study: options.StudyOrAll = None,
    watch: options.Watch = False,
    as_json: options.Json = False,
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
            if view["progress"] is None:
                text = json.dumps(view, indent=2) if as_json else f"{study}: {view['state']}"
            elif as_json:
                text = json.dumps(client.status(study), indent=None if watch else 2)
            else:
                text = client.text(study, "status").rstrip("\n")
            if text != shown:
                typer.echo(printable(text))
                if view["note"]:
                    warn(f"{view['state']}: {view['note']}")
            shown = text
            if not watch or view["state"] not in ("queued", "running", "pausing", "cancelling"):
                return
            time.sleep(_WATCH_S)


def front(
    study: Study,
    record_bytes: ShownSize = None,
    as_json: options.Json = False,
    as_csv: options.Csv = False,
) -> None:
    """Show the Pareto front of a study on the service.

    \b
    Examples:
        tuner --server https://tuner.example front orders --record-bytes 1000
        tuner --server https://tuner.example front orders --csv > front.csv
    """
    options.check_one_form(json=as_json, csv=as_csv)
    with service() as client:
        if as_json:
            options.print_json(client.front(study, record_bytes))
        elif as_csv:
            options.print_csv(client.text(study, "front", form="csv", record_bytes=record_bytes))
        else:
            typer.echo(printable(client.text(study, "front", record_bytes=record_bytes)), nl=False)


def grid(
    study: Study,
    record_bytes: ShownSize = None,
    as_json: options.Json = False,
    as_csv: options.Csv = False,
) -> None:
    """Show the tables of a grid search on the service.

    \b
    Examples:
        tuner --server https://tuner.example grid lingers
        tuner --server https://tuner.example grid lingers --csv > grid.csv
    """
    options.check_one_form(json=as_json, csv=as_csv)
    with service() as client:
        if as_json:
            options.print_json(client.grid(study, record_bytes))
        elif as_csv:
            options.print_csv(client.text(study, "grid", form="csv", record_bytes=record_bytes))
        else:
            text = client.text(study, "grid", record_bytes=record_bytes)
            typer.echo(printable(text), nl=False)
            if not text:
                warn(NO_GRID)


def trials(
    study: Study,
    record_bytes: ShownSize = None,
    as_json: options.Json = False,
    as_csv: options.Csv = False,
    parquet: Parquet = None,
    force: Force = False,
) -> None:
    """Show the trials of a study on the service: kind, metrics and config of each.

    With --csv, --json and --parquet, each trial has all metrics, and one column for each property that any config sets.

    \b
    Examples:
        tuner --server https://tuner.example trials orders --record-bytes 1000
        tuner --server https://tuner.example trials orders --csv > trials.csv
    """
    check_trials_output(parquet, as_json=as_json, as_csv=as_csv, force=force)
    with service() as client:
        record = json.loads(client.text(study, "trials", form="table", record_bytes=record_bytes))
    # Imported here, because it imports pandas.
    from tuner.present.frames import frame_of

    show_trials(record["study"], frame_of(record["trials"]), parquet, as_json=as_json, as_csv=as_csv, force=force)


def recommend(
    study: Study,
    record_bytes: RecordBytes = None,
    goal: AskedGoal = None,
    max_p99_ms: MaxP99Ms = None,
    min_mb_per_s: MinMbPerS = None,
    allow_loss: AllowLoss = None,
    form: FormOption = Format.TABLE,
    as_json: options.Json = False,
    everything: Everything = False,
    output: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write to this file instead of to standard output.")
    ] = None,
    force: Force = False,
) -> None:
    """Show the config to use, from a study on the service, ready to paste.

    \b
    Examples:
        tuner --server https://tuner.example recommend orders --record-bytes 1000
        tuner --server https://tuner.example recommend orders --record-bytes 1000 --goal latency --format properties
    """
    form = form_asked(form, as_json=as_json)
    with service() as client:
        found = _recommendations(
            client, study, record_bytes, goal, max_p99_ms=max_p99_ms, min_mb_per_s=min_mb_per_s, allow_loss=allow_loss
        )
    show_found(found, form, output, force=force, everything=everything)


def report(
    study: Study,
    output: Annotated[
        Path | None, typer.Option(metavar="FILE", help="File to write.", show_default="STUDY.html")
    ] = None,
    force: Force = False,
    as_json: options.Json = False,
) -> None:
    """Write the report of a study on the service as one HTML file.

    \b
    Example:
        tuner --server https://tuner.example report orders --output orders.html
    """
    path = output or Path(f"{study}.html")
    check_output(path, force=force)
    with service() as client:
        page = client.text(study, "report")
    write_output(path, page, force=force)
    options.print_written(path, as_json=as_json)


def studies(as_json: options.Json = False, as_csv: options.Csv = False) -> None:
    """List the studies on the service, newest first, with their state, their trials and the best gain that is proven.

    \b
    Examples:
        tuner --server https://tuner.example studies
        tuner --server https://tuner.example studies --csv > studies.csv
    """
    options.check_one_form(json=as_json, csv=as_csv)
    with service() as client:
        views = list(client.studies())
        found = {view["name"]: _listed(client, view) for view in views}
    if as_json:
        # The service says more about a study than the list shows.
        shown = [{**view, **found[view["name"]].as_json(), "state": view["state"]} for view in views]
        options.print_json({"schema_version": 1, "kind": "studies", "studies": shown})
    else:
        print_studies(newest_first([*found.values()]), as_json=False, as_csv=as_csv)


def _listed(client: Client, view: Mapping[str, Any]) -> ListedStudy:
    summary, progress = view["summary"] or {}, None
    if summary:
        with contextlib.suppress(ServiceRefused):  # a study that has just begun has no status yet
            progress = client.status(view["name"])
    facts = {**summary, "target": ", ".join(view["targets"]) or summary.get("target")}
    # A study that was not submitted to the service has no state in the service's queue.
    state = None if view["state"] == "recorded" and progress is not None else view["state"]
    found = listed_study(view["name"], facts, progress, state)
    return found if found.updated_at else replace(found, updated_at=view["changed_at"] or "")


def explain(
    study: Study,
    record_bytes: RecordBytes = None,
    goal: AskedGoal = None,
    max_p99_ms: MaxP99Ms = None,
    min_mb_per_s: MinMbPerS = None,
    allow_loss: AllowLoss = None,
    as_json: options.Json = False,
) -> None:
    """Explain a recommendation of a study on the service: what each changed property brings, which knobs mattered.

    \b
    Example:
        tuner --server https://tuner.example explain orders --record-bytes 1000 --goal latency
    """
    asked = {
        "record_bytes": record_bytes,
        "goal": goal and str(goal),
        "max_p99_ms": max_p99_ms,
        "min_mb_per_s": min_mb_per_s,
        "allow_loss": allow_loss,
    }
    with service() as client:
        text = client.text(study, "explanation", form="json" if as_json else "text", **asked)
    if as_json:
        options.print_json(json.loads(text))
    else:
        typer.echo(printable(text), nl=False)


def compare(
    first: Annotated[str, typer.Argument(metavar="A", help="Name of the first study.")],
    second: Annotated[str, typer.Argument(metavar="B", help="Name of the second study.")],
    html: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Also write an HTML page that shows both fronts.")
    ] = None,
    force: Force = False,
    as_json: options.Json = False,
) -> None:
    """Compare two studies on the service: the fronts, and the best configs for each record size and goal.

    \b
    Example:
        tuner --server https://tuner.example compare before after --html fronts.html
    """
    check_output(html, force=force)
    with service() as client:
        found = client.comparison(first, second)
        if as_json:
            options.print_json(found)
        else:
            typer.echo(printable(client.comparison_text(first, second)), nl=False)
        for difference in found["differences"]:
            warn(difference)
        if html is not None:
            write_output(html, client.comparison_text(first, second, "html"), force=force)
            say(f"page written to {html}")


def pause(study: Study, as_json: options.Json = False) -> None:
    """Stop a study on the service until you resume it.

    \b
    Example:
        tuner --server https://tuner.example pause orders
    """
    with service() as client:
        _print_state(client.pause(study), as_json=as_json)


def resume(study: Study, as_json: options.Json = False) -> None:
    """Continue a study on the service that was paused or that failed.

    \b
    Example:
        tuner --server https://tuner.example resume orders
    """
    with service() as client:
        _print_state(client.resume(study), as_json=as_json)


def cancel(study: Study, as_json: options.Json = False) -> None:
    """Stop a study on the service for good; its results are kept.

    \b
    Example:
        tuner --server https://tuner.example cancel orders
    """
    with service() as client:
        _print_state(client.cancel(study), as_json=as_json)


def _print_state(view: Mapping[str, Any], *, as_json: bool) -> None:
    if as_json:
        options.print_json(view)
    else:
        typer.echo(view["state"])


def _token() -> str | None:
    """Return the token for the service, from the environment or from a file; None if the user gave no token.

    There is no option for the token, because other users of the host can read command lines.
    """
    token, path = os.environ.get(TOKEN_VARIABLE), os.environ.get(TOKEN_FILE_VARIABLE)
    if token:
        return token.strip()
    if not path:
        return None
    try:
        return Path(path).expanduser().read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise typer.BadParameter(
            f"the token file that {TOKEN_FILE_VARIABLE} names must be readable text, but {path} is not: {error}"
        ) from None


def _follow(client: Client, name: str, *, silent: bool) -> str:
    """Follow a study until it ends, and return the state in which it ended.

    The service may be restarted in the meantime: a lost connection is opened again up to 20 times in a row.

    Raises:
        ServiceUnreachable: The service could not be reached again.
        ServiceRefused: The service refuses to show the study.
    """
    after, tries = 0, 0
    while True:
        try:
            for event in client.events(name, after):
                tries = 0
                if event.name == "trial" and event.number is not None:
                    after = event.number
                    if not silent:
                        ERR.print(_line(event.data), markup=False, soft_wrap=True)
                elif event.name == "end":
                    return str(event.data["state"])
        except (ServiceUnreachable, ServiceRefused) as error:
            lost = isinstance(error, ServiceUnreachable) or error.status == 503
            tries += 1
            if not lost or tries > _TRIES:
                raise
        time.sleep(_PAUSE_S)


def _line(trial: Mapping[str, Any]) -> str:
    head = f"{trial['record_bytes']:>6} B  {trial['kind']:<11} {trial['number']:>4}"
    if trial["error"]:
        return f"{head}  no measurement: {trial['error']}"
    metrics = trial["metrics"]
    shown = [f"{title(name)} {number(metrics[name])}" for name in ("mb_per_s", "latency_p99_ms") if name in metrics]
    return f"{head}  {'  '.join(shown)}"


def _recommendations(
    client: Client, study: str, record_bytes: str | None, goal: Goal | None = None, **conditions: float | None
) -> list[Recommendation]:
    record = json.loads(client.recommend(study, record_bytes, goal and str(goal), **conditions).text)  # type: ignore[arg-type]
    return [recommendation_of(each) for each in record.get("recommendations", [record])]


def _recommendation_for_each_size(client: Client, study: str) -> list[Recommendation]:
    """Return the service's recommendation for each record size, and warn of each size for which it has none."""
    found = []
    for size in (each["record_bytes"] for each in client.front(study)["fronts"]):
        try:
            found += _recommendations(client, study, size)
        except ServiceRefused as error:
            if error.kind != "no-feasible-config":
                raise
            warn(f"{size} B: no config keeps every constraint, so there is no recommendation")
    return found
