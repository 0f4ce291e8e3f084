"""A timer of the kernel that wakes a process at a moment in nanoseconds.

The timeout of `epoll` has a resolution of a millisecond in Python, and may be late by the timer slack of the process
(50 us). A timerfd has neither. Source: timerfd_create(2).
"""

import ctypes
import os
from typing import Final

from runners.clock import NS_PER_S

_CLOCK_MONOTONIC: Final = 1
_TFD_TIMER_ABSTIME: Final = 1
_TFD_NONBLOCK_CLOEXEC: Final = os.O_NONBLOCK | os.O_CLOEXEC


class _Times(ctypes.Structure):
    """`struct itimerspec`: the interval (here always 0) and the moment, each in seconds and nanoseconds."""

    _fields_ = (
        ("every_s", ctypes.c_long),
        ("every_ns", ctypes.c_long),
        ("at_s", ctypes.c_long),
        ("at_ns", ctypes.c_long),
    )


class Timer:
    """A timer on the clock of `time.monotonic_ns`. Its file descriptor becomes readable at the moment that was set.

    Attributes:
        at_ns: The moment that was set; 0 if none is set.
    """

    def __init__(self) -> None:
        """Create the timer.

        Raises:
            OSError: The kernel gives no timer, or this is no Linux.
        """
        libc = ctypes.CDLL(None, use_errno=True)
        try:
            create, self._settime = libc.timerfd_create, libc.timerfd_settime
        except AttributeError:
            raise OSError("a timer needs Linux") from None
        self._fd: int = create(_CLOCK_MONOTONIC, _TFD_NONBLOCK_CLOEXEC)
        if self._fd < 0:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
        self._times = _Times()
        self._pointer = ctypes.byref(self._times)
        self.at_ns = 0

    def fileno(self) -> int:
        """Return the file descriptor."""
        return self._fd

    def set(self, moment_ns: int) -> None:
        """Set the moment, and forget the one before. 0 stops the timer.

        Setting the moment also makes the file descriptor unreadable until then, so that nobody has to read it.
        """
        if moment_ns == self.at_ns:
            return
        self.at_ns = moment_ns
        self._times.at_s, self._times.at_ns = divmod(moment_ns, NS_PER_S)
        self._settime(self._fd, _TFD_TIMER_ABSTIME, self._pointer, None)

    def close(self) -> None:
        """Close the file descriptor."""
        os.close(self._fd)
