"""Ctrl-C, SIGTERM and closed terminals: each raises an exception, so that the command cleans up before it ends."""

import os
import signal
from contextlib import suppress
from types import FrameType
from typing import Final


class Interrupted(BaseException):
    """Raised on Ctrl-C, on SIGTERM, and on SIGHUP, as when an SSH session is closed.

    It is not a KeyboardInterrupt, because the command-line library would catch that. Its text, if it has one, says what
    the command leaves running.
    """


_TERMINALS: Final[list[int]] = []
"""The file descriptors among 0, 1 and 2 that are a terminal when the command line starts."""


_INTERRUPTIONS: Final[list[Interrupted]] = []
"""The exception that `_on_signal` has raised, or none.

`interruption_of` needs it: an error that `ExitStack.close` raises while it cleans up may not have it as its context.
"""


_CLEAN_UP: Final[list[bytes]] = []
"""What the first signal prints, or nothing. See `tell_clean_up`."""


def tell_clean_up() -> None:
    """Let the first signal print at once that the command cleans up before it ends, which may take seconds."""
    after_echo = b"\n" if os.isatty(2) else b""  # a terminal shows `^C`, perhaps at the end of a live line
    _CLEAN_UP[:] = [
        after_echo + b"stopping and cleaning up; pressing Ctrl-C again could leave topics or processes behind\n"
    ]


def catch_signals() -> None:
    """Raise `Interrupted` on the signals that end a command, and note which file descriptors are terminals."""
    _TERMINALS[:] = [descriptor for descriptor in range(3) if os.isatty(descriptor)]
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _on_signal)
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:  # nohup ignores it
        signal.signal(signal.SIGHUP, _on_signal)


def _on_signal(number: int, _: FrameType | None) -> None:
    # The same signal again ends the process immediately, so that the user can leave even if the clean-up hangs. But a
    # shell and the kernel both send SIGHUP if a session is closed, and systemd sends SIGTERM as well.
    signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    if _INTERRUPTIONS:
        return
    leave_closed_terminals(hung_up=number == signal.SIGHUP)
    for line in _CLEAN_UP:
        with suppress(OSError):  # nobody reads it any more
            os.write(2, line)  # not `print`, because the signal may have come while something is printed
    interruption = Interrupted()
    _INTERRUPTIONS.append(interruption)
    raise interruption


def terminal_is_closed() -> bool:
    """Return whether a terminal that was open at the start has been closed."""
    return not all(map(os.isatty, _TERMINALS))


def leave_closed_terminals(*, hung_up: bool) -> None:
    """Redirect output to /dev/null if a terminal is closed, because an error of writing would end the clean-up.

    Args:
        hung_up: Whether all terminals are certainly closed, or will soon be closed.
    """
    for descriptor in _TERMINALS:
        if hung_up or not os.isatty(descriptor):
            nowhere = os.open(os.devnull, os.O_RDWR)
            os.dup2(nowhere, descriptor)
            os.close(nowhere)


def interruption_of(error: BaseException) -> Interrupted | None:
    """Return the `Interrupted` that an error is or that caused it; None if there is none."""
    seen: BaseException | None = error
    while seen is not None and not isinstance(seen, Interrupted):
        # A library written in C wraps the exception that a signal handler raises while the library runs.
        seen = seen.__context__
    return seen or next(iter(_INTERRUPTIONS), None)
