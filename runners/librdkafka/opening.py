"""Opens a librdkafka producer or consumer, and reads its errors and log messages."""

from collections.abc import Mapping
from ctypes import c_char_p, c_int, create_string_buffer
from dataclasses import dataclass
from typing import Final

from runners.errors import GeneratorError
from runners.librdkafka import capi

_STATISTICS_MS: Final = 100
_STATISTICS_OF_MANY_MS: Final = 1_000
_FEW_PARTITIONS: Final = 64
"""With more partitions than this, reports come every `_STATISTICS_OF_MANY_MS`."""
_ERROR_BYTES: Final = 512
_SEVERE: Final = 3
"""Messages in the client's log are kept up to this level of syslog(3): errors, but no warnings."""


@dataclass(frozen=True, slots=True)
class Complaint:
    """An error message of the client.

    Attributes:
        text: The message.
        fatal: Whether the client can't continue.
    """

    text: str
    fatal: bool = False


def open_client(kind: int, properties: Mapping[str, str], events: int) -> int:
    """Return the handle of a new client. Its log goes to its main queue, once `rd_kafka_set_log_queue` was called.

    Args:
        kind: `capi.PRODUCER` or `capi.CONSUMER`.
        properties: librdkafka properties.
        events: The events that the client puts into its queue, as the sum of `capi.EVENT_...`.

    Raises:
        GeneratorError: librdkafka refuses the properties. The message quotes its reason.
    """
    lib, text = capi.library(), create_string_buffer(_ERROR_BYTES)
    conf = lib.rd_kafka_conf_new()
    for name, value in {**properties, "log.queue": "true"}.items():
        if lib.rd_kafka_conf_set(conf, name.encode(), value.encode(), text, _ERROR_BYTES):
            lib.rd_kafka_conf_destroy(conf)
            raise GeneratorError(f"librdkafka refuses the property {name}: {text.value.decode(errors='replace')}")
    lib.rd_kafka_conf_set_events(conf, events)
    handle = lib.rd_kafka_new(kind, conf, text, _ERROR_BYTES)
    if not handle:
        lib.rd_kafka_conf_destroy(conf)
        raise GeneratorError(f"librdkafka refuses the configuration: {text.value.decode(errors='replace')}")
    return int(handle)


def complaint_of(event: int) -> Complaint | None:
    """Return the message of an error event, or of a log event of at least the level "error"; otherwise None."""
    lib = capi.library()
    kind = lib.rd_kafka_event_type(event)
    if kind == capi.EVENT_ERROR:
        text = lib.rd_kafka_event_error_string(event) or b""
        sentence = f"{capi.error_name(lib.rd_kafka_event_error(event))}: {text.decode(errors='replace')}"
        return Complaint(sentence, bool(lib.rd_kafka_event_error_is_fatal(event)))
    if kind == capi.EVENT_LOG:
        sentence, level = log_text_of(event)
        if level <= _SEVERE:
            return Complaint(sentence)
    return None


def log_text_of(event: int) -> tuple[str, int]:
    """Return the text and the syslog level of a log event."""
    facility, text, level = c_char_p(), c_char_p(), c_int()
    if capi.library().rd_kafka_event_log(event, facility, text, level):
        return "", _SEVERE + 1
    return (text.value or b"").decode(errors="replace"), level.value


def statistics_interval(partitions: int) -> dict[str, str]:
    """Return the property that sets how often the client reports statistics: less often if it has many partitions."""
    interval_ms = _STATISTICS_MS if partitions <= _FEW_PARTITIONS else _STATISTICS_OF_MANY_MS
    return {"statistics.interval.ms": str(interval_ms)}
