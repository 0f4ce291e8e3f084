"""Lines are printed as they are, because they hold names, paths and commands of the user."""

from io import StringIO

from rich.table import Table

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


def test_the_lines_of_a_table_end_without_blanks_unless_a_terminal_shows_them() -> None:
    table = Table(show_header=False, box=None, padding=(0, 2, 0, 0))
    table.add_row("client", "librdkafka")
    table.add_row("throughput", "12 MB/s")
    table.add_row("notes", "")
    pipe, terminal = StringIO(), Terminal()
    for out in (pipe, terminal):
        Unwrapped(file=out, width=40, no_color=True).print(table)
    assert pipe.getvalue() == "client      librdkafka\nthroughput  12 MB/s\nnotes\n"
    assert terminal.getvalue().splitlines()[0] == "client      librdkafka  "
