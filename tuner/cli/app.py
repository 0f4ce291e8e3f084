"""The root of the command line: its options, its commands, and the exit codes and messages of errors."""

import errno
import importlib
import io
import os
import shutil
import sys
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Final, NoReturn

import typer
from typer.core import TyperCommand, TyperGroup, TyperOption

from tuner.cli.command_table import COMMANDS, MEASURING_COMMANDS, SERVICE_COMMANDS
from tuner.cli.interruption import (
    Interrupted,
    catch_signals,
    interruption_of,
    leave_closed_terminals,
    tell_clean_up,
    terminal_is_closed,
)
from tuner.model.service_variables import SERVER_VARIABLE
from tuner.present.console import ERR, UNWRAPPED

_DISK_ERRORS: Final = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO)
_SHOWN: Final = 40
"""How many characters of a name that is too long an error message shows."""
_COLUMNS_OF_BOXES: Final = 100
"""How many columns a terminal must have, so that Typer's boxes do not cut long words of the help off."""
_FORMS: Final = ("--json", "--csv", "--parquet", "--yaml")
"""The options that say in which format a command prints its result, which has one format."""
_VALUES: Final = {"str": "TEXT", "path": "FILE", "int": "N", "int range": "N", "float": "X", "float range": "X"}
"""What the help calls the value of an option, by Typer's word for its type."""


def _commands() -> Mapping[str, tuple[str, str]]:
    """Return the commands that this call of `tuner` offers.

    With `--server`, only the commands that work on the service are offered. If only the environment variable
    KAFKA_TUNER_SERVER names the service, its commands replace the local ones of the same name, and the other local
    commands stay.
    """
    if any(word == "--server" or word.startswith("--server=") for word in sys.argv[1:]):
        return SERVICE_COMMANDS
    return {**COMMANDS, **SERVICE_COMMANDS} if os.environ.get(SERVER_VARIABLE) else COMMANDS


class _CheckedOptions:
    """A command, or the group of all commands, that refuses an option given twice, and two formats of one result."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the words of the command line.

        A user who repeats an option believes that it takes a list. Without this check, only the last value would count.

        Raises:
            typer.BadParameter: An option that takes one value is given twice, or two formats of the result are given.
        """
        words = list(args)  # reading them empties the list
        command: Any = super()
        rest: list[str] = command.parse_args(ctx, args)
        if ctx.resilient_parsing:  # a shell completes an unfinished line
            return rest
        counts = Counter(command.make_parser(ctx).parse_args(args=words)[2])
        for option, count in counts.items():
            takes_one = isinstance(option, TyperOption) and not (option.multiple or option.is_flag or option.count)
            if takes_one and count > 1:
                raise typer.BadParameter(f"it takes one value, but was given {count} times; give it once", ctx, option)
        given = {option.opts[0] for option in counts}
        if len(forms := [form for form in _FORMS if form in given]) > 1:
            rule = f"a result has one format, but {' and '.join(forms)} were given; leave one out"
            raise typer.BadParameter(rule, ctx)
        return rest


class _Command(_CheckedOptions, TyperCommand):
    """A command with checked options."""


class _Commands(_CheckedOptions, TyperGroup):
    """The group of all commands. It imports the module of a command only when it is called, to keep `--help` quick."""

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        """Replace the placeholder of the called command with the function that implements the command."""
        commands = _commands()
        called = args[0]
        if called in commands:
            self.commands[called] = _command(called, commands[called][0])
            _name_values(self.commands[called], ctx)
            measuring = MEASURING_COMMANDS & {called, " ".join(args[:2])}
            if measuring and commands[called] is COMMANDS[called]:
                tell_clean_up()
        elif called in COMMANDS:
            raise typer.BadParameter(
                f"with --server, a command must be one of {', '.join(commands)}, but got {called}, which the service "
                "does not offer; run it without --server, where the studies are kept"
            )
        elif called in SERVICE_COMMANDS:
            raise typer.BadParameter(
                f"{called} works on the studies of a service only: give --server, or set {SERVER_VARIABLE}"
            )
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        """Run the called command. If an option has a wrong value, the error also shows this value.

        If the command has the wrong option only without a service, the error says so.
        """
        try:
            return super().invoke(ctx)
        except typer.BadParameter as error:
            if error.__cause__ is not None and hasattr(error.__cause__, "errors"):  # pydantic's error
                wrong = str(error.__cause__.errors()[0]["input"])
                rule = error.message.removeprefix("Value error, ").replace("Input should", "must").rstrip(".")
                rule = rule.partition(", unable to parse")[0]
                error.message = rule if wrong in rule else f"{rule}, but got {wrong}"
            raise
        except typer.TyperException as error:
            option, called = getattr(error, "option_name", None), ctx.invoked_subcommand  # of Typer's NoSuchOption
            if called in COMMANDS and _commands()[called] is SERVICE_COMMANDS.get(called):
                local = _command(called, COMMANDS[called][0])
                if any(option in parameter.opts for parameter in local.params):
                    raise typer.BadParameter(
                        f"{option} can't be used with a service: leave it out, or leave out --server "
                        f"(or {SERVER_VARIABLE})",
                        ctx=getattr(error, "ctx", None),
                    ) from None
            raise


def _command(name: str, place: str) -> Any:
    """Import the function `module:function` that implements a command, and return its command."""
    module, _, function_name = place.partition(":")
    function = getattr(importlib.import_module(f"tuner.cli.{module}"), function_name)
    alone = typer.Typer(rich_markup_mode=app.rich_markup_mode)
    if isinstance(function, typer.Typer):
        for inner in function.registered_commands:
            inner.cls = _Command
        alone.add_typer(function, name=name)
    else:
        alone.command(name, cls=_Command)(function)
    return typer.main.get_group(alone).commands[name]


def _name_values(command: Any, ctx: Any) -> None:
    """Give the value of each option a short name in the help, such as `N` instead of Typer's `<int range>`."""
    for parameter in command.params:
        named = parameter.param_type_name != "option" or parameter.metavar is not None
        if not named and (shown := parameter.display_type_rich(ctx)):
            kind = shown.removeprefix("<").removesuffix(">").removeprefix("list[").removesuffix("]")
            parameter.metavar = _VALUES.get(kind, kind)
    for inner in getattr(command, "commands", {}).values():
        _name_values(inner, ctx)


_SETTINGS: Final[dict[str, Any]] = {"help_option_names": ["-h", "--help"]}
app = typer.Typer(
    cls=_Commands,
    help="Find the best Apache Kafka producer config for each of your record sizes, by measuring. "
    "Begin with `tuner run --quick`, which takes minutes and needs no cluster and no study file. "
    "`tuner COMMAND --help` shows examples.",
    no_args_is_help=True,
    context_settings=_SETTINGS,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)


def _placeholder() -> None:
    """Stand in for the function that implements a command, until the command is called."""


def _print_version(wanted: bool) -> None:
    if wanted:
        from tuner.model.version import version

        typer.echo(version())
        raise typer.Exit


@app.callback()
def _root(
    _: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print versions and exit.")
    ] = False,
    storage: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            help="PostgreSQL database that keeps the studies of several hosts: postgresql://USER@HOST/DATABASE. "
            "Without it, studies are kept in folders on this host. Put the password into ~/.pgpass or PGPASSWORD. "
            "Environment variable: KAFKA_TUNER_STORAGE.",
        ),
    ] = None,
    server: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            help="Address of a service, such as https://tuner.example, that runs and keeps the studies instead of this "
            "host. Its token is read from KAFKA_TUNER_TOKEN, or from the file that KAFKA_TUNER_TOKEN_FILE names. "
            "Environment variable: KAFKA_TUNER_SERVER.",
        ),
    ] = None,
) -> None:
    """Apply the options that come before the command."""
    if server is not None:
        os.environ[SERVER_VARIABLE] = server
    if storage is not None:
        if not storage:
            raise typer.BadParameter(
                "--storage must be the URL of a database, but got ''; leave it out for folders on this host"
            )
        from tuner.storage.locations import STORAGE_VARIABLE

        os.environ[STORAGE_VARIABLE] = storage  # the processes that we start read it there, too


def _open_closed_streams() -> None:
    """Open /dev/null in place of standard streams that the caller has closed, so that no other file gets their number.

    Python has None in `sys` for them.
    """
    while (number := os.open(os.devnull, os.O_RDWR)) <= 2:
        os.set_inheritable(number, True)
    os.close(number)
    for name, number in (("stdin", 0), ("stdout", 1), ("stderr", 2)):
        if getattr(sys, name) is None:
            setattr(sys, name, open(number, "r" if number == 0 else "w", encoding="utf-8", closefd=False))  # noqa: SIM115 - open as long as the process


def _print_in_any_encoding() -> None:
    """Print characters that the user's locale lacks, such as the sign in `±24 %`, as escapes such as `\\xb1`."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def start() -> None:
    """Run the command line, and turn every expected error into one message and its exit code."""
    _open_closed_streams()
    _print_in_any_encoding()
    catch_signals()
    on_terminal = sys.stdout.isatty() and sys.stderr.isatty()
    if not on_terminal or shutil.get_terminal_size().columns < _COLUMNS_OF_BOXES:
        # Typer's boxes have 80 columns on a pipe, and break the examples and the values in error messages.
        app.rich_markup_mode = None
    if not on_terminal:
        _SETTINGS["terminal_width"] = UNWRAPPED
    try:
        for name, (_, sentence) in _commands().items():
            app.command(name, help=sentence)(_placeholder)
        app()
    except (Exception, Interrupted) as error:
        # Imported here, so that `tuner --help` does not wait for the import.
        from tuner.model.errors import EXPECTED, ExitCode, exit_code_of

        if isinstance(error, OSError) and error.errno == errno.EIO and terminal_is_closed():
            error = Interrupted()  # SIGHUP has not come yet
            leave_closed_terminals(hung_up=True)
        interruption = interruption_of(error)
        if interruption is not None and isinstance(error, (Interrupted, SystemError, *EXPECTED)):
            left = str(interruption) or "no topic and no process is left behind; run the same command again"
            if isinstance(error, EXPECTED):  # the clean-up failed
                ERR.show(f"warning: {error}", style="yellow")
                left = str(interruption) or "run the same command again, which also deletes what is left"
            _end(f"interrupted: {left}", ExitCode.INTERRUPTED, "yellow")
        if isinstance(error, OSError) and error.errno == errno.ENAMETOOLONG:
            named = max(Path(str(error.filename)).parts, key=len)[:_SHOWN]
            message = f"the name of a file must have at most 255 bytes, but {named!r}... is too long for the system"
            _end(f"error: {message}; give a shorter one", ExitCode.USAGE, "red")
        if isinstance(error, OSError) and (error.filename is not None or error.errno in _DISK_ERRORS):
            from tuner.storage.locations import unusable_file

            _end(f"error: {unusable_file(error)}", ExitCode.FAILED, "red")
        if isinstance(error, FileNotFoundError) and not _has_working_folder():
            _end("error: the working folder does not exist any more; change to another one", ExitCode.USAGE, "red")
        if not isinstance(error, EXPECTED):
            raise
        _end(f"error: {error}", exit_code_of(error), "red")


def _has_working_folder() -> bool:
    try:
        Path.cwd()
    except FileNotFoundError:
        return False
    return True


def _end(message: str, code: int, style: str) -> NoReturn:
    ERR.show(message, style=style)
    sys.exit(code)
