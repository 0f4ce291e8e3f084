"""Writes the results of benchmarks to the pages of docs/evidence, each below the command that measured it.

Two comments on a page mark the place for the result of a command:

    <!-- result of: python -m benchmarks.paced -->
    <!-- end of result -->

A benchmark that is run with `--write` replaces the text between the comments by its command, the date, the machine and
what it printed. A command for which no page has a place is refused before anything is measured.
"""

import argparse
import io
import math
import os
import platform
import re
import shlex
import sys
from collections.abc import Callable
from contextlib import redirect_stdout, suppress
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Final, TextIO

import psutil
from typing_extensions import override

from search_spaces.client import Client, client_of
from search_spaces.errors import UnknownClient
from tuner.execution.environment import processor

PAGES: Final = Path(__file__).parents[1] / "docs" / "evidence"
END: Final = "<!-- end of result -->"
TUNER: Final = str(Path(sys.executable).with_name("tuner"))
"""The program `tuner` of this Python environment."""
WRITE: Final = "--write"
KEEP: Final = "--keep"
"""The option that names a new folder for the results. Like `--write`, it is not part of the command on a page."""
_PLACE: Final = re.compile("<!-- result of: (.*?) -->")


def benchmark_parser(description: str | None) -> argparse.ArgumentParser:
    """Return a parser with the options that every benchmark has.

    Args:
        description: The docstring of the benchmark's module. Its first line is shown in the help.
    """
    parser = argparse.ArgumentParser(description=(description or "").partition("\n")[0])
    parser.add_argument(WRITE, action="store_true", help="put the result on its page of docs/evidence")
    return parser


def add_keep(parser: argparse.ArgumentParser, what: str) -> None:
    """Add the option `--keep FOLDER`, whose value is a new, empty folder that is made immediately.

    Args:
        parser: The parser of the benchmark.
        what: What the folder keeps, for the help.
    """
    parser.add_argument(KEEP, type=_new_folder, metavar="FOLDER", help=f"a new folder that keeps {what}")


def add_client(
    parser: argparse.ArgumentParser, known: str = "librdkafka, java, or java:VERSION", default: str = "librdkafka"
) -> None:
    """Add the option `--client`, whose value is the client to measure.

    Args:
        parser: The parser of the benchmark.
        known: What the option may be, for the help.
        default: The client that is measured without the option.
    """
    parser.add_argument("--client", type=_client, default=default, help=known)


def _client(text: str) -> Client:
    try:
        return client_of(text)
    except UnknownClient as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _new_folder(text: str) -> Path:
    try:
        Path(text).mkdir(parents=True)
    except OSError as error:
        raise argparse.ArgumentTypeError(
            f"must name a new folder, but {text} can't be made: {error.strerror}"
        ) from None
    return Path(text)


def whole_number(text: str) -> int:
    """Return an argument that must be a whole number from 1, such as a number of studies.

    Raises:
        ArgumentTypeError: The argument is not a whole number, or less than 1.
    """
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"must be a whole number from 1, but got {text!r}")
    return int(text)


def whole_numbers(text: str) -> list[int]:
    """Return an argument that must be whole numbers from 1 with commas between them, such as record sizes.

    Raises:
        ArgumentTypeError: One of them is not a whole number, or less than 1.
    """
    return [whole_number(each.strip()) for each in text.split(",")]


def positive_number(text: str) -> float:
    """Return an argument that must be a number above 0, such as a number of seconds.

    Raises:
        ArgumentTypeError: The argument is not a finite number, or not above 0.
    """
    with suppress(ValueError):
        if 0 < (number := float(text)) < math.inf:
            return number
    raise argparse.ArgumentTypeError(f"must be a number above 0, but got {text!r}")


def run_benchmark(main: Callable[[], None]) -> None:
    """Run a benchmark. With `--write`, also put what it prints to standard output on its page of docs/evidence.

    The page is also changed if the benchmark missed a goal (exit code 1), but not if it ended with another error.

    Raises:
        SystemExit: `main` ended the process, or no page has a place for the result of this command.
    """
    if WRITE not in sys.argv or {"-h", "--help"} & set(sys.argv):
        return main()
    command = this_command()
    page, copy = page_of(command), io.StringIO()
    ended = SystemExit(0)
    with redirect_stdout(_Both(sys.stdout, copy)):
        try:
            main()
        except SystemExit as error:
            ended = error
    if ended.code in (None, 0, 1):
        page.write_text(with_result(page.read_text(), command, copy.getvalue()))
        print(f"written to {page.relative_to(PAGES.parents[1])}", file=sys.stderr)
    raise ended


def print_goal(what: str, value: float, goal: float, unit: str) -> bool:
    """Print a value with its goal, and return whether the value is below the goal."""
    met = value < goal
    print(f"- {what}: {value:.3g} {unit} (goal: under {goal:g} {unit}: {'met' if met else 'missed'})", flush=True)
    return met


def this_command() -> str:
    """Return the command that runs this process, without `--write` and `--keep FOLDER`."""
    spec = sys.modules["__main__"].__spec__
    name = spec.name if spec else Path(sys.argv[0]).name
    words = [word for word in sys.argv[1:] if word != WRITE]
    if KEEP in words:
        place = words.index(KEEP)
        del words[place : place + 2]
    return shlex.join(["python", "-m", name, *words])


def commands() -> list[str]:
    """Return the commands that the evidence pages have places for, page by page."""
    return [command for page in sorted(PAGES.glob("*.md")) for command in _PLACE.findall(page.read_text())]


def page_of(command: str) -> Path:
    """Return the page that has a place for the result of a command.

    Raises:
        SystemExit: No page of docs/evidence has a place for this result.
    """
    for page in sorted(PAGES.glob("*.md")):
        if _start(command) in page.read_text():
            return page
    sys.exit(
        "no page of docs/evidence has a place for this command; add these lines to a page: "
        f"'{_start(command)}' and '{END}'"
    )


def with_result(page: str, command: str, printed: str) -> str:
    """Return a page's text with the result of a command in its place.

    Args:
        page: The text of the page, which has a place for the command.
        command: The command, spelled as on the page.
        printed: What the command printed, as Markdown.
    """
    place = re.compile(re.escape(_start(command)) + ".*?" + re.escape(END), re.DOTALL)
    when = datetime.now(UTC).date().isoformat()
    block = f"{_start(command)}\n```console\n$ {command}\n```\n\n*{when}. {machine()}.*\n\n{printed.strip()}\n\n{END}"
    return place.sub(lambda _: block, page, count=1)


def machine() -> str:
    """Describe this machine and the versions of Python and the client, without the host's name."""
    memory_gb = psutil.virtual_memory().total / 1e9
    parts = [
        f"{os.cpu_count()} cores ({processor()})",
        f"{memory_gb:.0f} GB",
        f"Linux {platform.release().split('-')[0]}",
    ]
    parts += [f"Python {platform.python_version()}", f"confluent-kafka {version('confluent-kafka')}"]
    return ", ".join(parts)


def _start(command: str) -> str:
    return f"<!-- result of: {command} -->"


class _Both(io.TextIOBase):
    """A text stream that writes everything to two other streams."""

    def __init__(self, first: TextIO, second: TextIO) -> None:
        self._streams = (first, second)

    @override
    def write(self, text: str, /) -> int:
        for stream in self._streams:
            stream.write(text)
        return len(text)

    @override
    def flush(self) -> None:
        for stream in self._streams:
            stream.flush()
