"""librdkafka's C functions, called through `ctypes`.

The functions belong to the same library that confluent-kafka uses. Loading confluent-kafka's extension module resolves
the `rd_kafka_*` symbols, wherever the wheel keeps the library. So we measure the client that users run, and need no
compiler. Calls through `ctypes` release the interpreter lock, so one thread can send records while another thread takes
the delivery reports.

Source: librdkafka 2.16 `src/rdkafka.h` for every signature and struct in this file.
"""

import ctypes
from ctypes import CDLL, POINTER, c_char_p, c_int, c_int32, c_int64, c_size_t, c_void_p
from functools import cache
from typing import Any, Final

import confluent_kafka.cimpl
import numpy as np
from numpy.typing import NDArray

from runners.errors import GeneratorError

PRODUCER: Final = 0
PARTITION_UNASSIGNED: Final = -1

EVENT_DELIVERY: Final = 0x1
EVENT_LOG: Final = 0x4
EVENT_ERROR: Final = 0x8
EVENT_STATS: Final = 0x40

ERR_NONE: Final = 0
ERR_QUEUE_FULL: Final = -184
ERR_FATAL: Final = -150

PURGE_QUEUE: Final = 0x1
PURGE_INFLIGHT: Final = 0x2

MESSAGE = np.dtype(
    {
        "names": ["err", "rkt", "partition", "payload", "len", "key", "key_len", "offset", "private"],
        "formats": ["<i4", "<u8", "<i4", "<u8", "<u8", "<u8", "<u8", "<i8", "<i8"],
        "offsets": [0, 8, 16, 24, 32, 40, 48, 56, 64],
        "itemsize": 72,
    }
)
"""`rd_kafka_message_t` on a 64-bit platform, as a numpy record, so that one call prepares thousands of messages."""

_WORD: Final = 8
PRIVATE_OFFSET: Final = 64
"""Offset of `_private` in `rd_kafka_message_t`, in bytes."""

_SIGNATURES: Final[dict[str, tuple[Any, list[Any]]]] = {
    "rd_kafka_version_str": (c_char_p, []),
    "rd_kafka_conf_new": (c_void_p, []),
    "rd_kafka_conf_destroy": (None, [c_void_p]),
    "rd_kafka_conf_set": (c_int, [c_void_p, c_char_p, c_char_p, c_char_p, c_size_t]),
    "rd_kafka_conf_set_events": (None, [c_void_p, c_int]),
    "rd_kafka_new": (c_void_p, [c_int, c_void_p, c_char_p, c_size_t]),
    "rd_kafka_set_log_queue": (c_int, [c_void_p, c_void_p]),
    "rd_kafka_destroy_flags": (None, [c_void_p, c_int]),
    "rd_kafka_topic_new": (c_void_p, [c_void_p, c_char_p, c_void_p]),
    "rd_kafka_topic_destroy": (None, [c_void_p]),
    "rd_kafka_queue_get_main": (c_void_p, [c_void_p]),
    "rd_kafka_queue_destroy": (None, [c_void_p]),
    "rd_kafka_queue_length": (c_size_t, [c_void_p]),
    "rd_kafka_queue_poll": (c_void_p, [c_void_p, c_int]),
    "rd_kafka_event_type": (c_int, [c_void_p]),
    "rd_kafka_event_error": (c_int, [c_void_p]),
    "rd_kafka_event_error_string": (c_char_p, [c_void_p]),
    "rd_kafka_event_error_is_fatal": (c_int, [c_void_p]),
    "rd_kafka_event_stats": (c_char_p, [c_void_p]),
    "rd_kafka_event_log": (c_int, [c_void_p, POINTER(c_char_p), POINTER(c_char_p), POINTER(c_int)]),
    "rd_kafka_event_message_count": (c_size_t, [c_void_p]),
    "rd_kafka_event_message_array": (c_size_t, [c_void_p, c_void_p, c_size_t]),
    "rd_kafka_event_destroy": (None, [c_void_p]),
    "rd_kafka_produce_batch": (c_int, [c_void_p, c_int32, c_int, c_void_p, c_int]),
    "rd_kafka_purge": (c_int, [c_void_p, c_int]),
    "rd_kafka_outq_len": (c_int, [c_void_p]),
    "rd_kafka_err2str": (c_char_p, [c_int]),
    "rd_kafka_err2name": (c_char_p, [c_int]),
    "rd_kafka_message_errstr": (c_char_p, [c_void_p]),
}


@cache
def library() -> CDLL:
    """Return the librdkafka library that confluent-kafka has loaded, with the types of its functions declared.

    Raises:
        GeneratorError: The extension module does not expose librdkafka's functions, or the platform is not 64-bit. The
            caller can then use the Python load generator.
    """
    if ctypes.sizeof(c_void_p) != 8:
        raise GeneratorError(
            "the native load generator needs a 64-bit platform; use the Python load generator (--generator python)"
        )
    loaded = CDLL(confluent_kafka.cimpl.__file__)
    for name, (result, arguments) in _SIGNATURES.items():
        try:
            function = getattr(loaded, name)
        except AttributeError as error:
            raise GeneratorError(
                f"confluent-kafka must expose librdkafka's C functions, but {name} was not found in its extension "
                "module; use the Python load generator (--generator python)"
            ) from error
        function.restype = result
        function.argtypes = arguments
    return loaded


def version() -> str:
    """Return the version of the loaded librdkafka, such as `2.16.0`."""
    return str(library().rd_kafka_version_str(), "ascii")


def error_name(code: int) -> str:
    """Return librdkafka's name of an error code, such as `_MSG_TIMED_OUT`."""
    return str(library().rd_kafka_err2name(code), "ascii")


def error_text(code: int) -> str:
    """Return librdkafka's description of an error code."""
    return str(library().rd_kafka_err2str(code), "utf-8")


def read_private(messages: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Return the `_private` field of each `rd_kafka_message_t` struct whose address is in `messages`, shape (n,)."""
    words = (messages + np.uint64(PRIVATE_OFFSET - _WORD)) // np.uint64(_WORD)
    return np.take(_memory(), words.astype(np.int64))


@cache
def _memory() -> NDArray[np.int64]:
    # The array covers the address space of this process, so that one numpy call reads a field of thousands of structs.
    # Creating the array reads no memory. The array begins at the second word, because ctypes takes address 0 for
    # a missing buffer.
    words = (c_int64 * (1 << 44)).from_address(_WORD)
    return np.ctypeslib.as_array(words)
