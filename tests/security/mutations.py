"""Bad inputs made from good ones, the same for the same seed, and a watchdog that ends an input that takes too long."""

import contextlib
import random
import signal
from collections.abc import Callable, Iterator
from typing import Any, Final

ODD: Final = (
    *(
        "",
        "null",
        "~",
        "[]",
        "{}",
        "- - - -",
        "{a: {a: {a: {}}}}",
        "'",
        '"',
        "|",
        "%",
        "*x",
        "&x [*x]",
        "!!python/object:x",
    ),
    *("1e999", "-1", "9" * 400, ".nan", "0x10", "1_000", "1e-400", "0o9", "100:1,100:2", "100:nan,2:3", "12:60"),
    *("\x00", "\x1b[31m", "\ud7ff", "🦄", "\u2028", "\t", "a" * 2_000, "${X}", "${", "2001-01-01", "true"),
)
PATIENCE_S: Final = 60.0
"""How long one input may take, in seconds, on a busy machine; usually it takes far less than one second."""


def flipped(r: random.Random, data: bytes, most: int) -> bytes:
    """Return the data with some bits flipped."""
    changed = bytearray(data)
    for _ in range(r.randint(1, most)):
        if changed:
            changed[r.randrange(len(changed))] ^= 1 << r.randrange(8)
    return bytes(changed)


def mutated(r: random.Random, text: str) -> bytes:
    """Return the text with wrong values, keys, lines, indents, nesting or bytes."""
    for _ in range(r.randint(1, 3)):
        lines = text.split("\n")
        at = r.randrange(len(lines))
        separator = ": " if ": " in lines[at] else "="
        key = lines[at].partition(separator)[0]
        match r.randrange(7):
            case 0:
                lines[at] = key + separator + r.choice(ODD)
            case 1:
                lines[at] = r.choice(ODD) + lines[at]
            case 2:
                lines.insert(at, r.choice(lines))
            case 3:
                del lines[at]
            case 4:
                lines[at] = " " * r.randint(0, 9) + lines[at]
            case 5:
                lines[at] = key + separator + "[" * r.choice([1, 50, 5_000])
            case _:
                return flipped(r, "\n".join(lines).encode("utf-8", "surrogatepass"), 4)
        text = "\n".join(lines)
    return text.encode("utf-8", "surrogatepass")


@contextlib.contextmanager
def watchdog() -> Iterator[Callable[[], None]]:
    """Yield a function that starts the time of the next input; an input that takes too long raises an error."""

    def late(*_: object) -> None:
        raise TimeoutError(f"an input must be read within {PATIENCE_S:.0f} s")

    def next_input() -> None:
        signal.setitimer(signal.ITIMER_REAL, PATIENCE_S)

    before = signal.signal(signal.SIGALRM, late)
    try:
        yield next_input
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def try_all(first: int, count: int, check: Callable[[random.Random], None], inputs: Callable[[], Any]) -> None:
    """Call a check with each seed.

    Args:
        first: The first seed.
        count: The number of seeds.
        check: The check, which makes one input.
        inputs: Returns that input, for the message if the check fails.

    Raises:
        AssertionError: A check failed; the message names the seed.
    """
    with watchdog() as next_input:
        for seed in range(first, first + count):
            next_input()
            try:
                check(random.Random(seed))
            except BaseException as error:
                raise AssertionError(f"seed {seed}: {type(error).__name__}: {error}; input: {inputs()!r}") from error
