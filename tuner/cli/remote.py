"""The verbs against a service: `tuner --server URL run | status | front | recommend | report`, and its own.

They print what the same verbs print of studies on this host.
"""

import contextlib
import json
import os
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from tuner.cli import options
from tuner.cli.recommend import AskedGoal, MaxP99Ms, MinMbPerS, RecordBytes, show_found, study_record
from tuner.client import Client, ServiceFault, ServiceRefused, ServiceUnreachable
from tuner.model.errors import ExitCode, NoFeasibleConfig, StudyError
from tuner.model.spec import Goal
from tuner.present.console import ERR, OUT, say, warn
from tuner.present.export import Format, export_all, recommendation_of
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
}

Study = Annotated[str, typer.Argument(metavar="STUDY", help="Name of a study.")]


@contextlib.contextmanager
def service() -> Iterator[Client]:
    """The service that the command line or the environment names; its refusals end the command."""
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
    study_file: Annotated[Path, typer.Argument(metavar="STUDY.YAML", help="Study file; its target is a name.")],
    detach: Annotated[bool, typer.Option("--detach", "-d", help="Submit it, and don't wait for its end.")] = False,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Submit a study to the service, and follow it to its end.

    Ctrl-C ends the following, and not the study. The same command follows it again.

    \b
    Examples:
        tuner --server https://tuner.example run orders.yaml
        tuner --server https://tuner.example run orders.yaml --detach
    """
    try:
        text = study_file.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise typer.BadParameter(f"a study file must be readable text, but {study_file}: {error}") from None
    with service() as client:
        view = client.submit(text, "application/json" if study_file.suffix == ".json" else "application/yaml")
        name = view["name"]
        silent = quiet or as_json
        if not silent:
            say(f"study {name} is {view['state']} at {client.url}; Ctrl-C ends the following, not the study")
        if detach:
            typer.echo(json.dumps(view, indent=2) if as_json else name)
            return
        ended = _followed(client, name, silent=silent)
        if ended != "complete":
            note = client.study(name)["note"]
            raise StudyError(f"the study {name} is {ended}{f': {note}' if note else ''}")
        found = _found_for_each_size(client, name)
        if as_json:
            options.print_json(study_record(name, None, found))
        else:
            OUT.print(export_all(found, Format.TABLE), markup=False, soft_wrap=True, end="")
        if not found:
            raise NoFeasibleConfig(f"no config of {name} keeps every constraint; `tuner front {name}` shows why")


def status(
    study: Study,
    watch: Annotated[bool, typer.Option("--watch", "-w", help="Go on showing it until the study ends.")] = False,
    as_json: options.Json = False,
) -> None:
    """Show how far a study on the service is."""
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
                typer.echo(text)
                if view["note"]:
                    warn(f"{view['state']}: {view['note']}")
            shown = text
            if not watch or view["state"] not in ("queued", "running", "pausing", "cancelling"):
                return
            time.sleep(_WATCH_S)


def front(
    study: Study,
    record_bytes: Annotated[str | None, typer.Option(metavar="N", help="Only this record size or mix.")] = None,
    as_json: options.Json = False,
) -> None:
    """Show the Pareto front of a study on the service."""
    with service() as client:
        if as_json:
            options.print_json(client.front(study, record_bytes))
        else:
            typer.echo(client.text(study, "front", record_bytes=record_bytes), nl=False)


def recommend(
    study: Study,
    record_bytes: RecordBytes = None,
    goal: AskedGoal = None,
    max_p99_ms: MaxP99Ms = None,
    min_mb_per_s: MinMbPerS = None,
    form: Annotated[Format, typer.Option("--format", help="What to write.")] = Format.TABLE,
    output: Annotated[Path | None, typer.Option(metavar="FILE", help="Write it there.")] = None,
) -> None:
    """Name the config to use, from a study on the service, ready to paste."""
    with service() as client:
        found = _recommendations(client, study, record_bytes, goal, max_p99_ms=max_p99_ms, min_mb_per_s=min_mb_per_s)
    show_found(found, form, output)


def report(
    study: Study,
    output: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Where to write it; by default STUDY.html.")
    ] = None,
) -> None:
    """Write a study on the service as one HTML file."""
    path = output or Path(f"{study}.html")
    options.check_folder(path)
    with service() as client:
        path.write_text(client.text(study, "report"), encoding="utf-8")
    typer.echo(path)


def studies(as_json: options.Json = False) -> None:
    """List the studies of the service, the newest first."""
    with service() as client:
        found = list(client.studies())
    if as_json:
        options.print_json({"schema_version": 1, "kind": "studies", "studies": found})
        return
    for each in found:
        trials = (each["summary"] or {}).get("trials", 0)
        where = ", ".join(each["targets"])
        OUT.print(f"{each['name']}  {each['state']}  {trials} trials  {where}", markup=False, soft_wrap=True)


def pause(study: Study) -> None:
    """Stop a study on the service until it is resumed."""
    with service() as client:
        typer.echo(client.pause(study)["state"])


def resume(study: Study) -> None:
    """Go on with a study that was paused, or failed."""
    with service() as client:
        typer.echo(client.resume(study)["state"])


def cancel(study: Study) -> None:
    """Stop a study on the service for good; what it found is kept."""
    with service() as client:
        typer.echo(client.cancel(study)["state"])


def _token() -> str | None:
    """From the environment or a file; never from the command line, which others on the host can read."""
    token, path = os.environ.get(TOKEN_VARIABLE), os.environ.get(TOKEN_FILE_VARIABLE)
    if token:
        return token.strip()
    if not path:
        return None
    try:
        return Path(path).expanduser().read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise typer.BadParameter(f"the token's file must be readable text, but {path}: {error}") from None


def _followed(client: Client, name: str, *, silent: bool) -> str:
    """The state in which the study ended. The service may be stopped and started meanwhile."""
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


def _found_for_each_size(client: Client, study: str) -> list[Recommendation]:
    """One per record size: for the first goal for which something is better than the baseline."""
    found = []
    for size in (each["record_bytes"] for each in client.front(study)["fronts"]):
        try:
            found += _recommendations(client, study, size)
        except ServiceRefused as error:
            if error.kind != "no-feasible-config":
                raise
            warn(f"{size} B: no config keeps every constraint")
    return found
