"""The pieces of sentences for the user that all layers share: counts, shares, durations, lists, error lines."""

from collections.abc import Callable, Collection
from typing import Final

Say = Callable[[str], None]
"""A function that takes one short sentence for the user.

Code that receives a `Say` as an argument calls it in the thread that called the code.
"""

_ESCAPES: Final = {
    code: chr(code).encode("unicode_escape").decode()
    for code in (*range(0x20), *range(0x7F, 0xA0), 0x2028, 0x2029, *range(0x202A, 0x202F), *range(0x2066, 0x206A))
}
"""Control characters, line separators, and characters that change the direction of the text, each with its escape."""
_ESCAPES_IN_LINES: Final = {code: escape for code, escape in _ESCAPES.items() if chr(code) not in "\n\t"}


def first_line(error: Exception) -> str:
    """Return the first line of an error's text, or its type if it has no text."""
    text = str(error).strip() or type(error).__name__
    return text.splitlines()[0][:300]


def one_line(text: str) -> str:
    """Return the text with its control characters escaped, so that it stays one line and can't change a terminal.

    Texts from outside, such as notes and error messages, could otherwise forge lines of a log.
    """
    return text.translate(_ESCAPES)


def printable(text: str) -> str:
    """Return the text with its control characters escaped, except ends of lines and tabs."""
    return text.translate(_ESCAPES_IN_LINES)


def enumerated(things: Collection[object]) -> str:
    """Return things as in a sentence: `a, b and c`; "" for none."""
    *first, last = map(str, things) if things else [""]
    return f"{', '.join(first)} and {last}" if first else last


def counted(number: int, thing: str) -> str:
    """Return a number of things as text: `1 topic`, `1,200 topics`.

    Args:
        number: How many there are.
        thing: The thing in the singular; its plural must end in s.
    """
    return f"{number:,} {thing}{'' if number == 1 else 's'}"


def in_bytes(record_sizes: object) -> str:
    """Return a record size or a mix, given as its text, in words: `1000 B`, or `100 B (70 %) and 1000 B (30 %)`."""
    sizes = [part.partition(":") for part in str(record_sizes).split(",")]
    return enumerated([f"{size} B" + (f" ({100 * float(share):.3g} %)" if share else "") for size, _, share in sizes])


def percent(ratio: float | None, decimals: int = 0) -> str:
    """Return a ratio as a percentage: 0.62 is `62 %`, and with one decimal `62.0 %`. It must not be None."""
    assert ratio is not None
    return f"{100 * ratio:.{decimals}f} %"


def duration(seconds: float) -> str:
    """Return a duration as text: `40 s`, `12 min`, `2 h 05 min`."""
    if round(seconds) < 60:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes // 60} h {minutes % 60:02} min" if minutes >= 60 else f"{minutes} min"


def silent(_: str) -> None:
    """Ignore a sentence for the user. This is the default if a caller passes no function that shows sentences."""
