"""The two output streams: results go to standard output, everything else to standard error.

Output to a file or a pipe is never wrapped or cut, because a program may read it. `Unwrapped` does this for all
commands and for the texts of the service.
"""

import io
from collections.abc import Callable, Iterable, Iterator
from typing import Final

from rich.console import Console, ConsoleDimensions, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.table import Column, Table
from rich.text import Text
from typing_extensions import override

from runners.reporting import printable

UNWRAPPED: Final = 1_000_000
"""A number of columns that no line fills. A table takes only the columns that its cells need."""


class Unwrapped(Console):
    """A console that fits lines to the width of a terminal, and leaves them whole in a pipe or a file."""

    @property
    @override
    def size(self) -> ConsoleDimensions:
        found = super().size
        # `is_terminal` can't be used, because it is also true if the user forces colours in a pipe.
        return found if self.file.isatty() else found._replace(width=UNWRAPPED)

    @size.setter
    def size(self, size: tuple[int, int]) -> None:
        self._width, self._height = size

    @override
    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        segments = super().render(renderable, options)
        if isinstance(renderable, Table) and not self.file.isatty():
            return _without_blanks_at_ends(segments)
        return segments

    def show(self, *lines: str, style: str | None = None, end: str = "\n") -> None:
        """Print lines unchanged: markup is not interpreted, and lines are not broken, so that they can be copied."""
        for line in lines:
            self.out(line, style=style, end=end)


def _without_blanks_at_ends(segments: Iterable[Segment]) -> Iterator[Segment]:
    """Yield the lines of a table without the blanks that fill its last column."""
    for line in Segment.split_lines(segments):
        while line and not line[-1].text.rstrip(" "):
            line.pop()
        if line:
            line[-1] = line[-1]._replace(text=line[-1].text.rstrip(" "))
        yield from (*line, Segment.line())


def text_of(show: Callable[[Unwrapped], None]) -> str:
    """Return what a function prints on the console that it gets, as plain text without colours."""
    text = io.StringIO()
    show(Unwrapped(file=text, highlight=False, no_color=True))
    return text.getvalue()


class _SafeConsole(Unwrapped):
    """A console that escapes control characters in texts, because texts from outside could change the terminal."""

    @override
    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        for segment in super().render(renderable, options):
            yield segment if segment.control else segment._replace(text=printable(segment.text))


OUT = _SafeConsole(highlight=False)
ERR = _SafeConsole(stderr=True, highlight=False)


def print_pairs(rows: Iterable[tuple[str, str]]) -> None:
    """Print rows that each have a name and a text; long texts are folded below themselves."""
    table = Table(Column(style="bold"), Column(overflow="fold"), show_header=False, box=None, padding=(0, 2, 0, 0))
    for name, text in rows:
        table.add_row(name, Text(text))
    OUT.print(table)


def say(sentence: str) -> None:
    """Print a sentence about the progress of a command."""
    ERR.show(sentence, style="dim")


def warn(sentence: str) -> None:
    """Print a warning about something that makes the result less reliable."""
    ERR.show("warning: " + sentence, style="yellow")


def warn_of_each(warnings: Iterable[str]) -> None:
    """Print warnings; a repeated warning is printed only once."""
    for warning in dict.fromkeys(warnings):
        warn(warning)
