"""librdkafka's C functions, called through `ctypes`.

The functions belong to the same library that confluent-kafka uses. Loading confluent-kafka's extension module resolves
the `rd_kafka_*` symbols, wherever the wheel keeps the library. So we measure the client that users run, and need no
compiler. Calls through `ctypes` release the interpreter lock, so one thread can send records while another thread takes
the delivery reports.

Source: librdkafka 2.16 `src/rdkafka.h` for every signature and struct in this file.
"""

import ctypes
from ctypes import CDLL, POINTER, c_char_p, c_int, c_int32, c_int64, c_size_t, c_ssize_t, c_void_p
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

import confluent_kafka.cimpl
import numpy as np
from numpy.typing import NDArray

from runners.errors import GeneratorError

PRODUCER: Final = 0
CONSUMER: Final = 1
PARTITION_UNASSIGNED: Final = -1

EVENT_DELIVERY: Final = 0x1
EVENT_LOG: Final = 0x4
EVENT_ERROR: Final = 0x8
EVENT_STATS: Final = 0x40

ERR_NONE: Final = 0
ERR_QUEUE_FULL: Final = -184
ERR_FATAL: Final = -150
ERR_PARTITION_EOF: Final = -191

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

WORD_BYTES: Final = 8
"""Size of an address in bytes."""
_WORD_SHIFT: Final = 3
"""An address shifted right by this many bits is divided by `WORD_BYTES`."""
_OFFSETS: Final[dict[str, int]] = {name: offset for name, (_, offset, *_) in (MESSAGE.fields or {}).items()}
_FETCHED: Final = ("err", "partition", "len", "offset")
_OFFSET_FIELDS: Final = ("partition", "offset")
_FIELD_WORDS: Final[dict[tuple[str, ...], NDArray[np.int64]]] = {
    names: np.array([[_OFFSETS[name] // WORD_BYTES - 1] for name in names], dtype=np.int64)
    for names in (("private",), _OFFSET_FIELDS, _FETCHED)
}
"""For groups of fields, their indices in `_memory` for a struct at address 0, shape (number of fields, 1)."""

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
    "rd_kafka_queue_new": (c_void_p, [c_void_p]),
    "rd_kafka_metadata": (c_int, [c_void_p, c_int, c_void_p, POINTER(c_void_p), c_int]),
    "rd_kafka_metadata_destroy": (None, [c_void_p]),
    "rd_kafka_consume_start_queue": (c_int, [c_void_p, c_int32, c_int64, c_void_p]),
    "rd_kafka_consume_stop": (c_int, [c_void_p, c_int32]),
    "rd_kafka_consume_batch_queue": (c_ssize_t, [c_void_p, c_int, c_void_p, c_size_t]),
    "rd_kafka_messages_count": (c_size_t, [c_void_p]),
    "rd_kafka_messages_get": (c_void_p, [c_void_p, c_size_t]),
    "rd_kafka_messages_destroy": (None, [c_void_p]),
    "rd_kafka_mem_malloc": (c_void_p, [c_void_p, c_size_t]),
    "rd_kafka_mem_free": (None, [c_void_p, c_void_p]),
    "rd_kafka_last_error": (c_int, []),
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
    if ctypes.sizeof(c_void_p) != WORD_BYTES:
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
    found: NDArray[np.int64] = _words_of(messages.astype(np.int64), "private")[0]
    return found


def read_offsets(messages: NDArray[np.uint64]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Return partitions and offsets of the `rd_kafka_message_t` structs at these addresses, each of shape (n,)."""
    partitions, offsets = _words_of(messages.astype(np.int64), *_OFFSET_FIELDS)
    # The partition has 32 bits, and the rest of its word is padding.
    return partitions.astype(np.int32), offsets


@dataclass(frozen=True, slots=True)
class FetchedRecords:
    """Fields of records that a consumer took from the client, one entry per record.

    Attributes:
        errors: Error codes, shape (n,). An entry with a code is no record: the client reports an error in its place.
        partitions: Partitions, shape (n,).
        value_bytes: Sizes of the values, shape (n,); 0 for a tombstone.
        offsets: Offsets in the partition, shape (n,).
    """

    errors: NDArray[np.int32]
    partitions: NDArray[np.int32]
    value_bytes: NDArray[np.int64]
    offsets: NDArray[np.int64]


def read_fetched(messages: NDArray[np.int64]) -> FetchedRecords:
    """Return fields of the `rd_kafka_message_t` structs whose addresses are in `messages`, shape (n,)."""
    # One call for all fields: calls, and not the memory, take most of the time for small batches.
    errors, partitions, value_bytes, offsets = _words_of(messages, *_FETCHED)
    # Two of the fields have 32 bits, and the rest of their words is padding.
    return FetchedRecords(errors.astype(np.int32), partitions.astype(np.int32), value_bytes, offsets)


class MessageList:
    """Memory for the addresses of up to `room` records, which librdkafka frees together with the records in one call.

    librdkafka has such lists only for its share consumers: `rd_kafka_messages_t`, a count and then the addresses. We
    fill one ourselves, because a call of `rd_kafka_message_destroy` for each record would take as long as all
    the rest. The layout is not documented, so it is checked once against librdkafka's own functions.
    Source: librdkafka 2.16 `src/rdkafka_int.h`, `struct rd_kafka_messages_s`, and `rd_kafka_messages_destroy`.

    Attributes:
        room: The largest number of records.
        first: Address of the first entry, to which librdkafka writes.
    """

    def __init__(self, room: int) -> None:
        """Allocate the memory, with librdkafka's own allocator.

        Raises:
            GeneratorError: There is no memory.
        """
        self.room = room
        self._lib = library()
        self._at: int = self._lib.rd_kafka_mem_malloc(None, WORD_BYTES * (room + 1)) or 0
        if not self._at:
            raise GeneratorError(f"there is no memory left for a list of {room:,} records")
        self.first = self._at + WORD_BYTES

    def addresses(self, count: int) -> NDArray[np.int64]:
        """Return the addresses of the first `count` records, shape (count,), as long as they are not freed."""
        return _memory()[self._at // WORD_BYTES : self._at // WORD_BYTES + count]

    def free(self, count: int) -> None:
        """Free the list and its first `count` records. Neither may be used any more."""
        c_size_t.from_address(self._at).value = count
        self._lib.rd_kafka_messages_destroy(self._at)


@cache
def check_message_list() -> None:
    """Check that a `MessageList` has the layout that the loaded librdkafka expects.

    Raises:
        GeneratorError: It has not. Records can then not be taken in bulk.
    """
    lib, listed = library(), MessageList(2)
    listed.addresses(2)[:] = (WORD_BYTES, 2 * WORD_BYTES)
    c_size_t.from_address(listed.first - WORD_BYTES).value = 2
    seen = (
        lib.rd_kafka_messages_count(listed.first - WORD_BYTES),
        *(lib.rd_kafka_messages_get(listed.first - WORD_BYTES, number) for number in range(2)),
    )
    listed.free(0)
    if seen != (2, WORD_BYTES, 2 * WORD_BYTES):
        raise GeneratorError(
            f"the lists of messages of librdkafka {version()} must be a count and then addresses, but have another "
            "layout; use the version of confluent-kafka that the tuner was installed with"
        )


def _words_of(messages: NDArray[np.int64], *fields: str) -> NDArray[np.int64]:
    """Return fields of the message structs at these addresses, shape (number of fields, n)."""
    return np.take(_memory(), (messages >> _WORD_SHIFT) + _FIELD_WORDS[fields])


@cache
def _memory() -> NDArray[np.int64]:
    # The array covers the address space of this process, so that one numpy call reads a field of thousands of structs.
    # Creating the array reads no memory. The array begins at the second word, because ctypes takes address 0 for
    # a missing buffer.
    words = (c_int64 * (1 << 44)).from_address(WORD_BYTES)
    return np.ctypeslib.as_array(words)
