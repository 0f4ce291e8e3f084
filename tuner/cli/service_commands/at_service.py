"""Functions for all commands of a service: the client with its token, following a study, and recommendations."""

import contextlib
import json
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from tuner.cli.interruption import Interrupted
from tuner.cli.options.predict_options import option_of_parameter
from tuner.cli.options.target_options import TARGET_PANEL
from tuner.cli.printing.recommendations import print_recommendations
from tuner.client import Client, ServiceFault, ServiceRefused, ServiceUnreachable
from tuner.model.errors import (
    ExitCode,
    NoFeasibleConfig,
    NothingMeasured,
    ProblemKind,
    StudyError,
    exit_code_of_problem,
)
from tuner.model.goals import Goal
from tuner.model.service_variables import SERVER_VARIABLE, TOKEN_FILE_VARIABLE, TOKEN_VARIABLE
from tuner.present.console import ERR, warn
from tuner.present.export import recommendation_of
from tuner.present.number_text import number, title
from tuner.results.recommendations.recommendation import NO_CONDITIONS, Conditions, Recommendation
from tuner.service.queue.job import AT_WORK, JobState

_TRIES: Final = 20
_PAUSE_S: Final = 3.0
_ABOUT_TOKENS: Final = (ProblemKind.NO_TOKEN, ProblemKind.NOT_ALLOWED)
"""The kinds of error with which the service says that a token is missing or that its role is not enough."""
_ARGUMENTS: Final = {
    "path.study": "STUDY",
    "query.study": "STUDY",
    "query.first": "A",
    "query.second": "B",
    "body.config": "FILE",
}
"""The argument of a command that sets each parameter of the REST API. All other parameters are set by options."""
_NO_RECOMMENDATION: Final = (ProblemKind.NO_FEASIBLE_CONFIG, ProblemKind.NOTHING_MEASURED)
"""The kinds of error with which the service says that a record size has no recommendation."""

Study = Annotated[str, typer.Argument(metavar="STUDY", help="Name of a study on the service, such as orders.")]
Target = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="Cluster of the service to measure on, such as lab; with simulated, a model computes the numbers.",
        show_default="the target of the study file, or the service's default",
        rich_help_panel=TARGET_PANEL,
    ),
]
Detach = Annotated[bool, typer.Option("--detach", "-d", help="Return immediately, without following the study.")]


@contextlib.contextmanager
def service() -> Iterator[Client]:
    """Yield a client of the service that the user named, and end the command if the service refuses a request.

    Raises:
        typer.BadParameter: The address or the token has the wrong form, or the service refused values of options.
        typer.Exit: The service refused a request, or can't be reached; the message was printed.
    """
    try:
        client = Client(os.environ[SERVER_VARIABLE], _token())
    except ValueError as error:
        raise typer.BadParameter(
            f"{error}; --server or {SERVER_VARIABLE} gives the address, {TOKEN_VARIABLE} or {TOKEN_FILE_VARIABLE} "
            "the token"
        ) from None
    try:
        yield client
    except ServiceFault as error:
        if isinstance(error, ServiceRefused) and (wrong := _wrong_options(error)):
            raise typer.BadParameter(wrong) from None
        told = str(error)
        if isinstance(error, ServiceRefused) and error.kind in _ABOUT_TOKENS:
            # The second sentence, if there is one, says how other programs send a token.
            told = f"{told.partition('. ')[0]}. Set {TOKEN_VARIABLE} or {TOKEN_FILE_VARIABLE}"
        ERR.show(f"error: {told}", style="red")
        code = exit_code_of_problem(error.kind) if isinstance(error, ServiceRefused) else ExitCode.TARGET
        raise typer.Exit(code) from None


def _wrong_options(error: ServiceRefused) -> str:
    """Return which options or arguments the service refuses, and why; empty if the error has another cause."""
    faults = error.problem.get("errors", ())
    if not all(each["key"].startswith(("query.", "body.", "path.")) for each in faults):
        return ""
    return "; ".join(
        f"{_ARGUMENTS.get(each['key']) or option_of_parameter(each['key'].split('.')[1])}: {each['detail']}"
        for each in faults
    )


def media_type(file: Path | None, text: str) -> str:
    """Return the media type of a study file: that of the user's file, or YAML if options have changed it."""
    unchanged = file is not None and file.suffix == ".json" and file.read_text(encoding="utf-8-sig") == text
    return "application/json" if unchanged else "application/yaml"


@contextlib.contextmanager
def left_running(client: Client, name: str) -> Iterator[None]:
    """Run the block, and on Ctrl-C say that the study keeps running on the service."""
    try:
        yield
    except Interrupted:
        raise Interrupted(
            f"the study {name} continues on the service; `tuner --server {client.url} cancel {name}` stops it"
        ) from None


def check_ended(client: Client, name: str, ended: str, *wanted: str) -> None:
    """Check the state in which a study has ended.

    Raises:
        StudyError: The state is not one of `wanted`, or by default not complete. The message has the service's note.
    """
    if ended not in (wanted or (JobState.COMPLETE,)):
        note = client.study(name)["note"]
        raise StudyError(f"the study {name} is {ended}{f': {note}' if note else ''}")


def warn_of_limits(made: Mapping[str, Any]) -> None:
    """Warn of each value of a study that the service has changed, according to its response to the new study."""
    for change in made.get("limited", ()):  # a service of an earlier release sends it only for submitted studies
        warn(f"{change['key']} {change['detail']}")


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
        reason = error.strerror if isinstance(error, OSError) else error.reason
        raise typer.BadParameter(
            f"the token file that {TOKEN_FILE_VARIABLE} names must be readable text, but {path} is not: {reason}"
        ) from None


def follow(client: Client, name: str, *, silent: bool, after: int = 0) -> str:
    """Follow a study until it ends, and return the state in which it ended.

    The service may be restarted in the meantime: a lost connection is opened again up to 20 times in a row.

    Args:
        client: The client of the service.
        name: The name of the study.
        silent: Whether to print no lines about its trials.
        after: The sequence number of the last trial that is not to be shown.

    Raises:
        ServiceUnreachable: The service could not be reached again.
        ServiceRefused: The service refuses to show the study.
    """
    tries = 0
    while True:
        try:
            for event in client.events(name, after):
                tries = 0
                if event.name == "trial" and event.number is not None:
                    after = event.number
                    if not silent:
                        ERR.show(_line(event.data))
                # The service reads a study for all of its clients together, so the end may be that of an earlier task.
                elif event.name == "end" and (now := str(client.study(name)["state"])) not in AT_WORK:
                    return now
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


def recommend_each_at(
    client: Client,
    study: str,
    record_bytes: str | None = None,
    goal: Goal | None = None,
    conditions: Conditions = NO_CONDITIONS,
) -> tuple[list[Recommendation], NoFeasibleConfig | None]:
    """Return the recommendations of a study on a service, and the error that says why some record sizes have none.

    The arguments are those of `recommend_each`, which does the same for a study on this host.

    Raises:
        ServiceRefused: No record size has a recommendation.
    """

    def recommended(size: str | None) -> list[Recommendation]:
        reply = json.loads(client.recommend(study, size, goal and str(goal), **asdict(conditions)).text)
        return [recommendation_of(each) for each in reply.get("recommendations", [reply])]

    try:
        return recommended(record_bytes), None
    except ServiceRefused as error:
        # The service returns the recommendations of all sizes or an error, so each size is requested alone below.
        if record_bytes is not None or error.kind not in _NO_RECOMMENDATION:
            raise
        refused = error
    recommendations: list[Recommendation] = []
    for size in (each["record_bytes"] for each in client.front(study)["fronts"]):
        try:
            recommendations += recommended(size)
        except ServiceRefused as error:
            if error.kind not in _NO_RECOMMENDATION:
                raise
    if not recommendations:
        raise refused
    return recommendations, _no_recommendation(refused)


def show_recommendations(client: Client, name: str, goals: Sequence[Goal] | None = None, *, as_json: bool) -> None:
    """Print the recommendation for each record size of a study, its warnings, and whether some sizes have none.

    Args:
        client: The client of the service.
        name: The name of the study.
        goals: The goals to recommend for. Without goals, each record size has one recommendation.
        as_json: Whether to print JSON.

    Raises:
        NoFeasibleConfig: No size has a recommendation. It is a `NothingMeasured` if no size has a measured baseline.
    """
    recommendations: list[Recommendation] = []
    refused: ServiceRefused | None = None
    for goal in goals or (None,):
        try:
            of_goal, missing = recommend_each_at(client, name, goal=goal)
        except ServiceRefused as error:
            if error.kind not in _NO_RECOMMENDATION:
                raise
            refused = error
            continue
        recommendations += of_goal
        if missing:
            warn(f"there is no recommendation for some record sizes: {missing}")
    if recommendations and refused is not None:
        warn(str(refused))
    if len(goals or ()) > 1:  # print all goals of a record size together, as without a service
        sizes = [each["record_bytes"] for each in client.front(name)["fronts"]]
        recommendations.sort(key=lambda each: sizes.index(each.record_bytes))
    print_recommendations(name, None, recommendations, as_json=as_json)
    if refused is not None and not recommendations:
        raise _no_recommendation(refused)


def _no_recommendation(refused: ServiceRefused) -> NoFeasibleConfig:
    """Return the error that a study on this host would raise where the service has no recommendation."""
    kind = NothingMeasured if refused.kind == ProblemKind.NOTHING_MEASURED else NoFeasibleConfig
    return kind(str(refused))
