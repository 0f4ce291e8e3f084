"""`tuner serve`: the service, its tokens, and the processes of its studies."""

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated, Final

import typer

from tuner.cli import options
from tuner.present.console import ERR, OUT, say
from tuner.service.config import load_config
from tuner.service.http.tokens import Role, TokenFile

app: Final = typer.Typer(help="Run the service: studies submitted over HTTP, recommendations fetched by URL.")
_tokens: Final = typer.Typer(help="Make and remove the tokens that clients of the service need.", no_args_is_help=True)
app.add_typer(_tokens, name="token")

Config = Annotated[
    Path | None,
    typer.Option("--config", metavar="FILE", help="The service's own file; see docs/how-to/service.md."),
]


@app.callback(invoke_without_command=True)
def serve(
    context: typer.Context,
    config: Config = None,
    host: Annotated[str | None, typer.Option(help="Address to listen at, in place of the file's.")] = None,
    port: Annotated[int | None, typer.Option(min=0, max=65_535, help="Port, in place of the file's.")] = None,
    access_log: Annotated[bool, typer.Option("--access-log/--no-access-log", help="Log each request.")] = True,
) -> None:
    """Serve until it is stopped. Studies that were under way go on with the next start.

    \b
    Examples:
        tuner serve                              on 127.0.0.1:8080, with a broker of our own
        tuner serve --config service.yaml
        tuner serve token add ci --role submit --config service.yaml
    """
    if context.invoked_subcommand is not None:
        return
    # Deferred: whoever only makes a token needs no web framework.
    from tuner.service.http.server import serve as serve_forever

    tell = partial(ERR.print, markup=False, soft_wrap=True)
    found = load_config(config)
    found = replace(found, host=host or found.host, port=found.port if port is None else port)
    serve_forever(found, config.absolute() if config is not None else None, tell, access_log=access_log)


@app.command(hidden=True)
def study(
    name: Annotated[str, typer.Argument()],
    config: Config = None,
    attempt: Annotated[str, typer.Option()] = "",
) -> None:
    """Run one submitted study; the service starts this."""
    # Deferred, as above.
    from tuner.service.worker.study_process import run_child

    run_child(name, load_config(config), attempt)


@_tokens.command()
def add(
    name: Annotated[str, typer.Argument(help="Whose it is; stands in the access log and with each study.")],
    role: Annotated[Role, typer.Option(metavar="read|submit", help="What it is good for.")] = Role.READ,
    config: Config = None,
) -> None:
    """Make a token, and print it once: only its hash is kept.

    \b
    Examples:
        tuner serve token add ci --role submit > ci.token
        tuner serve token add pipelines
    """
    typer.echo(_file(config).add(name, role))
    say(f"this is the only time that it is shown; {name} may {role}")


@_tokens.command(name="list")
def list_tokens(config: Config = None, as_json: options.Json = False) -> None:
    """List the tokens: names and roles."""
    found = _file(config).tokens()
    if as_json:
        rows = [{"name": each.name, "role": str(each.role), "created_at": each.created_at} for each in found]
        options.print_json({"schema_version": 1, "kind": "tokens", "tokens": rows})
        return
    for each in found:
        OUT.print(f"{each.name}  {each.role}  {each.created_at}", markup=False)


@_tokens.command()
def remove(name: Annotated[str, typer.Argument(help="Whose.")], config: Config = None) -> None:
    """Make a token good for nothing, at once."""
    _file(config).remove(name)
    say(f"the token of {name} is good for nothing now")


def _file(config: Path | None) -> TokenFile:
    return TokenFile(load_config(config).tokens)
