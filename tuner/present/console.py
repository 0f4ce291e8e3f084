"""The two output streams: results go to standard output, everything else to standard error."""

from collections.abc import Iterable

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from typing_extensions import override

from runners.reporting import printable


class _SafeConsole(Console):
    """A console that escapes control characters in texts, because texts from outside could change the terminal."""

    @override
    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        for segment in super().render(renderable, options):
            yield segment if segment.control else segment._replace(text=printable(segment.text))


OUT = _SafeConsole(highlight=False)
ERR = _SafeConsole(stderr=True, highlight=False)


def say(sentence: str) -> None:
    """Print a sentence about the progress of a command."""
    # A command in a sentence must stay in one line, so that it can be copied.
    ERR.print(sentence, style="dim", markup=False, soft_wrap=True)


def warn(sentence: str) -> None:
    """Print a warning about something that makes the result less reliable."""
    ERR.print("warning: " + sentence, style="yellow", markup=False, soft_wrap=True)
