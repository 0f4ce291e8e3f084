"""What it means to break a rule between knobs: conditions that answer with the values at fault, or None."""

from collections.abc import Callable
from typing import Final

from search_spaces.effective import Effective

Condition = Callable[[Effective], str | None]

# Source: the description of compression.level in librdkafka 2.16.0 (zstd is cut at 12 by the range of the
# property, and takes 0 for its own default of 3). gzip above 9 is lowered to 9.
CODEC_LEVELS: Final = {"gzip": (0, 9), "lz4": (0, 12), "zstd": (0, 12)}
NO_LEVEL: Final = -1


def show(config: Effective, *names: str) -> str:
    """Return `name=value` of each property, defaults marked as such."""
    return ", ".join(f"{name}={config.text(name)}" + ("" if config.is_given(name) else " (default)") for name in names)


def when_idempotent(knob: str, holds: Callable[[Effective], bool]) -> Condition:
    """Broken when the config is idempotent and `holds` says no; `knob` is what `holds` looks at."""

    def broken(config: Effective) -> str | None:
        if not config.flag("enable.idempotence") or holds(config):
            return None
        return show(config, "enable.idempotence", knob)

    return broken


def above(upper: str, lower: str, *, unlimited: int | None = None) -> Condition:
    """Broken when `upper`, given, is above `lower` in force; `unlimited` is the value meaning no limit."""

    def broken(config: Effective) -> str | None:
        limit = config.number(lower)
        if not config.is_given(upper) or limit == unlimited or config.number(upper) <= limit:
            return None
        return show(config, upper, lower)

    return broken


def above_queue(name: str) -> Condition:
    """Broken when the size `name`, given, is above what the client's queue holds, both in bytes."""

    def broken(config: Effective) -> str | None:
        queue_bytes = config.integer("queue.buffering.max.kbytes") * 1024
        if not config.is_given(name) or config.integer(name) <= queue_bytes:
            return None
        return show(config, name, "queue.buffering.max.kbytes") + f", which is {queue_bytes} bytes"

    return broken


def odd_acks(config: Effective) -> str | None:
    """Broken when acks is a number of replicas, which brokers no longer take."""
    return None if config.integer("acks") in (-1, 0, 1) else show(config, "acks")


def level_beyond_codec(config: Effective) -> str | None:
    """Broken when a level is given that the codec in force does not have."""
    level = config.integer("compression.level")
    low, high = CODEC_LEVELS.get(config.text("compression.type"), (NO_LEVEL, NO_LEVEL))
    if level == NO_LEVEL or low <= level <= high:
        return None
    takes = "which has no levels" if high == NO_LEVEL else f"whose levels are {low} to {high}"
    return f"compression.level={level} with {show(config, 'compression.type')}, {takes}"


def linger_beyond_timeout(config: Effective) -> str | None:
    """Broken when a record may time out while it waits for its batch; a timeout of 0 is none."""
    timeout_ms = config.number("delivery.timeout.ms")
    if timeout_ms == 0 or config.number("linger.ms") < timeout_ms:
        return None
    return show(config, "linger.ms", "delivery.timeout.ms")
