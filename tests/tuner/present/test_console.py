"""Lines are printed as they are, because they hold names, paths and commands of the user."""

from io import StringIO

from tuner.present.console import Unwrapped


class Terminal(StringIO):
    def isatty(self) -> bool:
        return True


def test_lines_are_not_broken_and_nothing_in_them_is_markup() -> None:
    out = Terminal()
    lines = ["tuner bench -X client.id=orders:key:[red] " + "--quiet " * 20, "the next line"]
    Unwrapped(file=out, width=40, highlight=False, no_color=True).show(*lines)
    assert out.getvalue().splitlines() == lines


def test_a_line_can_be_left_open() -> None:
    out = StringIO()
    Unwrapped(file=out).show("as a ", "whole", end="")
    assert out.getvalue() == "as a whole"
