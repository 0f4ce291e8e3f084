"""Kafka's record format, version 2: how many bytes a record and a batch take before compression, and the codecs.

Source: "Record Batch" and "Record" in the protocol guide of Apache Kafka. Records are taken to have no headers.
"""

from functools import lru_cache
from typing import Final

CODECS: Final = ("none", "gzip", "snappy", "lz4", "zstd")
"""The codecs of a batch; `none` stands for no compression."""
BATCH_HEADER_BYTES: Final = 61
# The fields that always take one byte: the attributes and the header count, and the timestamp delta if the records of a
# batch are created within 63 ms.
_RECORD_FIXED_BYTES: Final = 3
_CACHED_SIZES: Final = 256


def single_record_batch_bytes(record_bytes: int, key_bytes: int | None = None) -> int:
    """Return the size in bytes that a broker counts for an uncompressed batch of one record."""
    overhead_bytes = record_overhead_bytes(record_bytes, key_bytes, offset_delta_bytes=1)
    return BATCH_HEADER_BYTES + overhead_bytes + (key_bytes or 0) + record_bytes


def records_in_batch(batch_bytes: int, record_bytes: int) -> int:
    """Return how many uncompressed records without keys fit in a batch; a record that is larger has its own batch."""
    in_batch_bytes = single_record_batch_bytes(record_bytes) - BATCH_HEADER_BYTES
    return max(1, (batch_bytes - BATCH_HEADER_BYTES) // in_batch_bytes)


@lru_cache(maxsize=_CACHED_SIZES)
def record_overhead_bytes(record_bytes: int, key_bytes: int | None = None, offset_delta_bytes: int = 2) -> int:
    """Return how many bytes a record takes in a batch besides its key and its value.

    Args:
        record_bytes: Size of the value, in bytes.
        key_bytes: Size of the key, in bytes; None for no key.
        offset_delta_bytes: Size of the record's number in its batch: 1 for the first 64 records, 2 for the next 8,128.
    """
    lengths_bytes = varint_bytes(-1 if key_bytes is None else key_bytes) + varint_bytes(record_bytes)
    overhead_bytes = _RECORD_FIXED_BYTES + offset_delta_bytes + lengths_bytes
    return overhead_bytes + varint_bytes(overhead_bytes + (key_bytes or 0) + record_bytes)


def varint_bytes(number: int) -> int:
    """Return how many bytes a whole number takes in a record, where small numbers take fewer bytes."""
    zigzag = (number << 1) ^ (number >> 63)
    return max(1, -(-zigzag.bit_length() // 7))
