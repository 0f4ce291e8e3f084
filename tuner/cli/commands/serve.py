"""`tuner serve` runs the service, manages its tokens, and runs a study in each process that the service starts."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Final

import typer

from runners.reporting import one_line
from tuner.cli.options import common_options
from tuner.cli.output import print_json, print_result
from tuner.model.document import document
from tuner.present.console import ERR, OUT, say
from tuner.service.config import load_config
from tuner.service.http.tokens import TokenFile, TokenRole

app: Final = typer.Typer(
    help="Run the HTTP service, which runs the studies you submit and returns recommendations.\n\n"
    "Studies that were running when the service stopped continue with the next start.\n\n\b\nExamples:\n"
    "    tuner serve                              on 127.0.0.1:8080, and studies measure on brokers that they start\n"
    "    tuner serve --config service.yaml\n"
    "    tuner serve token add ci --role submit --config service.yaml"
)
_tokens: Final = typer.Typer(
    help="Create, list and remove the tokens with which clients use the service.", no_args_is_help=True
)
app.add_typer(_tokens, name="token")

Config = Annotated[
    Path | None,
    typer.Option(
        "--config",
        metavar="FILE",
        help="Config file of the service, such as service.yaml; docs/how-to/service.md describes it.",
    ),
]


@app.callback(invoke_without_command=True)
def serve(
    context: typer.Context,
    config: Config = None,
    host: Annotated[
        str | None, typer.Option(help="Address to listen on, such as 0.0.0.0; overrides the config file.")
    ] = None,
    port: Annotated[
        int | None,
        typer.Option(min=0, max=65_535, help="Port to listen on, such as 8080; overrides the config file."),
    ] = None,
    access_log: Annotated[
        bool, typer.Option("--access-log/--no-access-log", help="Log one line for each request.")
    ] = True,
) -> None:
    """Run the HTTP service until it is stopped. `tuner serve --help` shows the help text of `app` instead."""
    if context.invoked_subcommand is not None:
        return
    # Imported here, because `tuner serve token` needs no web framework.
    from tuner.service.http.server import serve as serve_forever

    def tell(sentence: str) -> None:
        ERR.show(one_line(sentence))

    settings = load_config(config, checks_certificate=True)  # before any study is started
    settings = replace(settings, host=host or settings.host, port=settings.port if port is None else port)
    serve_forever(settings, config.absolute() if config is not None else None, tell, access_log=access_log)


@app.command(hidden=True)
def study(
    name: Annotated[str, typer.Argument()],
    attempt: Annotated[str, typer.Option()],
    config: Config = None,
) -> None:
    """Run one submitted study. The service starts this command."""
    # Imported here for the same reason as above.
    from tuner.service.worker.study_process import run_child

    run_child(name, load_config(config), attempt)


@_tokens.command()
def add(
    name: Annotated[
        str, typer.Argument(help="Name of the client. It is shown in the access log and with each submitted study.")
    ],
    role: Annotated[
        TokenRole,
        typer.Option(
            metavar="read|submit",
            help="`read` lets the client see studies and recommendations; `submit` also lets the client run studies.",
        ),
    ] = TokenRole.READ,
    config: Config = None,
    as_json: common_options.Json = False,
) -> None:
    """Create a token and print it. The token can't be printed again, because only its hash is kept.

    \b
    Examples:
        tuner serve token add ci --role submit > ci.token
        tuner serve token add pipelines
    """
    token = _file(config).add(name, role)
    print_result(document("token", name=name, role=str(role), token=token), lambda: typer.echo(token), as_json=as_json)
    say(f"keep this token, it is not shown again; {name} has the role {role}")


@_tokens.command(name="list")
def list_tokens(config: Config = None, as_json: common_options.Json = False) -> None:
    """List the tokens with their names, roles and dates.

    \b
    Example:
        tuner serve token list
    """
    tokens = _file(config).tokens()
    rows = [{"name": each.name, "role": str(each.role), "created_at": each.created_at} for each in tokens]
    print_result(
        document("tokens", tokens=rows),
        lambda: OUT.show(*("  ".join(row.values()) for row in rows)),
        as_json=as_json,
    )


@_tokens.command()
def remove(
    name: Annotated[str, typer.Argument(help="Name of the client.")],
    config: Config = None,
    as_json: common_options.Json = False,
) -> None:
    """Revoke the token of a client immediately.

    \b
    Example:
        tuner serve token remove ci
    """
    _file(config).remove(name)
    say(f"the token of {name} is revoked")
    if as_json:
        print_json(document("token_removed", name=name))


def _file(config: Path | None) -> TokenFile:
    return TokenFile(load_config(config).tokens)
