"""librdkafka's C functions come from the library that users run, and its structs are read correctly from memory."""

from random import Random

import confluent_kafka
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from runners.librdkafka import capi


def test_the_library_is_the_one_inside_confluent_kafka() -> None:
    text, _ = confluent_kafka.libversion()
    assert capi.version() == text


@pytest.mark.parametrize(
    ("code", "name"),
    [
        (capi.ERR_QUEUE_FULL, "_QUEUE_FULL"),
        (capi.ERR_FATAL, "_FATAL"),
        (capi.ERR_NONE, "NO_ERROR"),
        (confluent_kafka.KafkaError.MSG_SIZE_TOO_LARGE, "MSG_SIZE_TOO_LARGE"),
    ],
)
def test_error_codes_have_the_names_that_librdkafka_gives_them(code: int, name: str) -> None:
    assert capi.error_name(code) == name
    assert capi.error_text(code)


@given(st.lists(st.integers(-(1 << 63), (1 << 63) - 1), min_size=1, max_size=50), st.randoms())
def test_private_fields_are_read_from_any_addresses(moments: list[int], chance: Random) -> None:
    messages = np.zeros(len(moments), dtype=capi.MESSAGE)
    messages["private"] = moments
    order = list(range(len(moments)))
    chance.shuffle(order)
    addresses = messages.ctypes.data + np.array(order, dtype=np.uint64) * np.uint64(capi.MESSAGE.itemsize)
    assert capi.read_private(addresses.astype(np.uint64)).tolist() == [moments[number] for number in order]


@given(st.lists(st.tuples(*[st.integers(0, 1 << 30)] * 4), min_size=1, max_size=50))
def test_fields_of_fetched_records_are_read_in_their_order(fields: list[tuple[int, ...]]) -> None:
    messages = np.zeros(len(fields), dtype=capi.MESSAGE)
    # The padding after the two short fields must not matter.
    messages.view(np.uint8)[:] = 0xFF
    for name, values in zip(("err", "partition", "len", "offset"), zip(*fields, strict=True), strict=True):
        messages[name] = values
    seen = capi.read_fetched(messages.ctypes.data + np.arange(len(fields)) * capi.MESSAGE.itemsize)
    columns = (seen.errors, seen.partitions, seen.value_bytes, seen.offsets)
    assert [tuple(row) for row in zip(*(column.tolist() for column in columns), strict=True)] == fields


def test_error_codes_of_fetched_records_are_negative() -> None:
    messages = np.zeros(1, dtype=capi.MESSAGE)
    messages["err"] = capi.ERR_PARTITION_EOF
    assert capi.read_fetched(np.array([messages.ctypes.data])).errors.tolist() == [capi.ERR_PARTITION_EOF]


def test_a_list_of_messages_has_the_layout_of_the_loaded_library() -> None:
    capi.check_message_list.cache_clear()
    capi.check_message_list()
