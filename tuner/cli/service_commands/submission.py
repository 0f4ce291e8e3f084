"""Commands that submit studies to a service, and control them: `tuner --server URL run`, `plan`, `pause` and others.

They take the options of the commands without a service, except those about the target: a service has its own clusters.
"""

import contextlib
from collections.abc import Iterator, Mapping
from itertools import count
from typing import Any, Final

import typer

from tuner.cli.interruption import Interrupted
from tuner.cli.options import common_options
from tuner.cli.options.options_from_dataclass import with_options
from tuner.cli.options.study_arguments import MbPerS
from tuner.cli.options.study_from_options import StudyFromOptions, option_of
from tuner.cli.output import print_result, print_text
from tuner.cli.service_commands.at_service import (
    Detach,
    Study,
    Target,
    check_ended,
    follow,
    left_running,
    media_type,
    service,
    show_recommendations,
    warn_of_limits,
)
from tuner.client import Client, ServiceRefused
from tuner.model.errors import ProblemKind
from tuner.present.console import say, warn_of_each
from tuner.present.studies.plan_view import plan_csv
from tuner.service.submission import ORIGIN
from tuner.study_file import changed_text

_OF_A_CLUSTER: Final = frozenset(
    {"bootstrap", "command_config", "container", "brokers", "topic", "like", "ray_address"}
)
"""The options of a study that a service does not accept, because its operator sets them."""


@with_options(without=_OF_A_CLUSTER)
def run(
    options: StudyFromOptions,
    target: Target = None,
    detach: Detach = False,
    as_json: common_options.Json = False,
    quiet: common_options.Quiet = False,
) -> None:
    """Submit a study to the service, and follow it until it ends.

    Ctrl-C only stops this command: the study keeps running on the service. The same command follows the study again.

    \b
    Examples:
        tuner --server https://tuner.example run orders.yaml
        tuner --server https://tuner.example run orders.yaml --detach
        tuner --server https://tuner.example run --quick --record-bytes 500 --target lab
    """
    text = options.text_for_service(target)
    with service() as client:
        silent = quiet or as_json
        left = f"the service may have received the study; `tuner --server {client.url} studies` lists its studies"
        try:
            view = _submitted(client, options, text, target)
        except Interrupted:
            raise Interrupted(left) from None
        name = view["name"]
        with left_running(client, name):
            warn_of_limits(view)
            if not silent:
                hint = "" if detach else "; Ctrl-C stops this command, not the study"
                say(f"study {name} is {view['state']} at {client.url}{hint}")
            if detach:
                print_result(view, lambda: typer.echo(name), as_json=as_json)
                return
            check_ended(client, name, follow(client, name, silent=silent))
        show_recommendations(client, name, as_json=as_json)


def _submitted(client: Client, options: StudyFromOptions, text: str, target: str | None) -> dict[str, Any]:
    """Submit a study, and return it as the service shows it.

    A name that the program has made gets the end `-2`, or a higher number, if the service has a study of this name with
    other settings.
    """
    first: str | None = None
    fixed = options.name is not None or options.study_file is not None
    for number in count(2):
        try:
            with _naming_options(options):
                # A name that the program has chosen may belong to another user's study, which must keep its settings.
                return client.submit(text, media_type(options.study_file, text), may_change=fixed)
        except ServiceRefused as error:
            if fixed or error.kind not in (ProblemKind.SETTINGS_CHANGED, ProblemKind.NAME_TAKEN):
                raise
            first = first or options.default_name(target)
            text = changed_text(text, {"study": {"name": f"{first}-{number}"}})
            say(f"the service has a study {first} with other settings, so this study is {first}-{number}")
    raise AssertionError("the names do not end")


@with_options(without=_OF_A_CLUSTER)
def plan(
    options: StudyFromOptions,
    target: Target = None,
    mb_per_s: MbPerS = 200.0,
    as_json: common_options.Json = False,
    as_csv: common_options.Csv = False,
) -> None:
    """Show what a study would do on the service, without any traffic: trials, time, bytes, search space.

    \b
    Examples:
        tuner --server https://tuner.example plan orders.yaml
        tuner --server https://tuner.example plan --quick --record-bytes 500 --target lab
    """
    text = options.text_for_service(target)
    kind = media_type(options.study_file, text)
    with service() as client, _naming_options(options):
        record = client.plan(text, mb_per_s, kind)
        warnings = record.pop("warnings")
        print_result(
            record,
            lambda: print_text(client.plan_text(text, mb_per_s, kind)),
            lambda: plan_csv(record),
            as_json=as_json,
            as_csv=as_csv,
        )
        warn_of_each(() if as_json else warnings)


def pause(study: Study, as_json: common_options.Json = False) -> None:
    """Stop a study on the service until you resume it.

    \b
    Example:
        tuner --server https://tuner.example pause orders
    """
    with service() as client:
        _print_state(client.pause(study), as_json=as_json)


def resume(study: Study, as_json: common_options.Json = False) -> None:
    """Continue a study on the service that was paused or that failed.

    \b
    Example:
        tuner --server https://tuner.example resume orders
    """
    with service() as client:
        _print_state(client.resume(study), as_json=as_json)


def cancel(study: Study, as_json: common_options.Json = False) -> None:
    """Stop a study on the service for good; its results are kept.

    If the study is being confirmed again or copied to MLflow, only the confirmation or the copy stops.

    \b
    Example:
        tuner --server https://tuner.example cancel orders
    """
    with service() as client:
        _print_state(client.cancel(study), as_json=as_json)


def _print_state(view: Mapping[str, Any], *, as_json: bool) -> None:
    print_result(view, lambda: typer.echo(view["state"]), as_json=as_json)


@contextlib.contextmanager
def _naming_options(options: StudyFromOptions) -> Iterator[None]:
    """Name the user's file, or options instead of keys and lines if the study file was made of options."""
    try:
        yield
    except ServiceRefused as error:
        faults = error.problem.get("errors", ())
        if options.study_file is not None and error.kind == ProblemKind.STUDY_FILE:
            named = str(error).replace(ORIGIN, str(options.study_file), 1)
            raise ServiceRefused(error.status, {**error.problem, "detail": named}) from None
        if (
            options.study_file is not None
            or error.kind not in (ProblemKind.STUDY_FILE, ProblemKind.LIMIT_TOO_LOW)
            or not faults
        ):
            raise
        raise typer.BadParameter("; ".join(f"{option_of(each['key'])}: {each['detail']}" for each in faults)) from None
