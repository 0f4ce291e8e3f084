"""Parses sizes, durations and times of day that people write in command-line options and study files."""

import datetime
import re
from collections.abc import Mapping
from typing import Final

_BYTES: Final = {"": 1, "B": 1, "kB": 10**3, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12} | {
    "KiB": 2**10,
    "MiB": 2**20,
    "GiB": 2**30,
    "TiB": 2**40,
}
SECONDS_PER_DAY: Final = 86_400
_SECONDS: Final = {"": 1.0, "ms": 0.001, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "d": SECONDS_PER_DAY}
_QUANTITY: Final = re.compile(r"(?P<number>\d{1,18}(\.\d{1,18})?)\s*(?P<unit>[A-Za-z]*)", re.ASCII)
_CLOCK: Final = re.compile(r"((?P<day>\d{4}-\d\d-\d\d) )?(?P<hour>[01]?\d|2[0-3]):(?P<minute>[0-5]\d)", re.ASCII)

SIZE_RULE: Final = "a size must read like 1000, 64KiB or 50GB"
DURATION_RULE: Final = "a duration must read like 2.5, 30s, 5m, 2h or 7d; a number without a unit is in seconds"
CLOCK_RULE: Final = "a time must read like 07:00 or 2026-11-25 07:00"


def size_bytes(text: str) -> int:
    """Return the bytes that a text such as `64KiB`, `50GB` or `1000` stands for.

    Raises:
        ValueError: The text is not a size; the message states the rule and does not repeat the text.
    """
    return int(_amount(text, _BYTES, SIZE_RULE))


def duration_s(text: str) -> float:
    """Return the seconds that a text such as `30s`, `5m`, `2h`, `250ms` or `2.5` stands for.

    Raises:
        ValueError: The text is not a duration; the message states the rule and does not repeat the text.
    """
    return _amount(text, _SECONDS, DURATION_RULE)


def clock_time(text: str) -> str:
    """Return a time of day as `HH:MM`, with its date before it if the text has one.

    Raises:
        ValueError: The text is not a time; the message states the rule and does not repeat the text.
    """
    match = _CLOCK.fullmatch(text.strip())
    if match is None:
        raise ValueError(CLOCK_RULE)
    time = f"{int(match['hour']):02}:{match['minute']}"
    if match["day"] is None:
        return time
    try:
        return f"{datetime.date.fromisoformat(match['day'])} {time}"
    except ValueError:
        raise ValueError(CLOCK_RULE) from None


def _amount(text: str, units: Mapping[str, float], rule: str) -> float:
    match = _QUANTITY.fullmatch(text.strip())
    if match is None or match["unit"] not in units:
        raise ValueError(rule)
    return float(match["number"]) * units[match["unit"]]
