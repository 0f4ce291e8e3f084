"""`tuner init` writes a new study file."""

import shlex
from pathlib import Path
from typing import Annotated

import typer

from tuner.cli.options import common_options, target_options
from tuner.cli.output import print_written, write_output
from tuner.present.console import say
from tuner.study_file import name_line, starter_text


def init(
    path: Annotated[Path, typer.Argument(metavar="FILE", help="File to write.")] = Path("study.yaml"),
    bootstrap: target_options.ClusterBootstrap = None,
    as_json: common_options.Json = False,
) -> None:
    """Write a new study file that lists the settings with their defaults and explains them.

    \b
    Examples:
        tuner init
        tuner init overnight.yaml --bootstrap broker:9092
    """
    if bootstrap is not None:
        target_options.check_bootstrap(bootstrap)
    if str(path).startswith("-"):
        raise typer.BadParameter(f"the name of a file must not begin with -, but got {path}; name another file")
    if path.exists():
        raise typer.BadParameter(f"the file must be new, but {path} is there already; name another file")
    write_output(path, starter_text(bootstrap, str(path)))
    if line := name_line(str(path)):
        say(f"a study can't have the name of this file, so the file says {line.strip()}")
    say(f"wrote {path}; next: tuner plan {shlex.quote(str(path))}")
    if as_json:
        print_written(path, as_json=True)
