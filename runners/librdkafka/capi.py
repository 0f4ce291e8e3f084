"""librdkafka's own C functions, called through `ctypes`.

The functions are those of the very library that confluent-kafka is linked to: loading its extension module resolves
the `rd_kafka_*` symbols, wherever the wheel keeps them, so the client measured is the client users run and no compiler
is needed. Foreign calls release the interpreter lock, so a sender and a drain thread run side by side.

Source: librdkafka 2.16 `src/rdkafka.h` for every signature and struct here.
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
"""`rd_kafka_message_t` on a 64-bit platform, as a numpy record so that thousands are prepared in one go."""

_WORD: Final = 8
PRIVATE_OFFSET: Final = 64
"""Where `_private` lies in `rd_kafka_message_t`, in bytes."""

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
    """The librdkafka inside confluent-kafka, its functions typed.

    Raises:
        GeneratorError: The extension module does not expose librdkafka's functions, or the platform is not 64-bit;
            the caller then falls back on the Python load generator.
    """
    if ctypes.sizeof(c_void_p) != 8:
        raise GeneratorError(
            "the native load generator needs a 64-bit platform; use the Python one (--generator python)"
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
    """Version of the librdkafka that is loaded, such as `2.16.0`."""
    return str(library().rd_kafka_version_str(), "ascii")


def error_name(code: int) -> str:
    """The name of an error code, such as `_MSG_TIMED_OUT`."""
    return str(library().rd_kafka_err2name(code), "ascii")


def error_text(code: int) -> str:
    """Librdkafka's own sentence for an error code."""
    return str(library().rd_kafka_err2str(code), "utf-8")


def read_private(messages: NDArray[np.uint64]) -> NDArray[np.int64]:
    """The `_private` fields of the `rd_kafka_message_t` at the addresses given, shape (n,)."""
    words = (messages + np.uint64(PRIVATE_OFFSET - _WORD)) // np.uint64(_WORD)
    return np.take(_memory(), words.astype(np.int64))


@cache
def _memory() -> NDArray[np.int64]:
    # This process's address space as an array of words, so that fields of thousands of structs are gathered in one
    # numpy call. Only the words asked for are touched. It begins at the second word: address 0 reads as "no buffer".
    words = (c_int64 * (1 << 44)).from_address(_WORD)
    return np.ctypeslib.as_array(words)
