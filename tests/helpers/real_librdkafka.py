"""Access to librdkafka through `ctypes`, to see how the real client treats a config."""

import ctypes
from collections.abc import Iterable, Mapping

from scripts.make_librdkafka_catalogue import librdkafka

_TEXT_BYTES = 4096


class Refused(Exception):
    """Raised when the client refuses the config."""


def values_in_force(config: Mapping[str, str], names: Iterable[str]) -> dict[str, str]:
    """Return the values of `names` that a real producer with `config` reports; unreadable ones are left out.

    Raises:
        Refused: The client does not set a property, does not create the producer, or refuses a topic.
    """
    client = _producer(config)
    library = _typed()
    try:
        topic = library.rd_kafka_topic_new(client, b"topic", None)
        if not topic:
            raise Refused("no topic")
        library.rd_kafka_topic_destroy(topic)
        conf = library.rd_kafka_conf(client)
        answers = {name: _get(conf, name) for name in names}
        return {name: value for name, value in answers.items() if value is not None}
    finally:
        library.rd_kafka_destroy(client)


def _producer(config: Mapping[str, str]) -> int:
    library = _typed()
    conf = library.rd_kafka_conf_new()
    error = ctypes.create_string_buffer(_TEXT_BYTES)
    for name, value in {"log_level": "0", **config}.items():
        if library.rd_kafka_conf_set(conf, name.encode(), value.encode(), error, _TEXT_BYTES):
            library.rd_kafka_conf_destroy(conf)
            raise Refused(error.value.decode())
    client: int | None = library.rd_kafka_new(0, conf, error, _TEXT_BYTES)
    if client is None:
        library.rd_kafka_conf_destroy(conf)
        raise Refused(error.value.decode())
    return client


def _get(conf: int, name: str) -> str | None:
    text = ctypes.create_string_buffer(_TEXT_BYTES)
    size = ctypes.c_size_t(_TEXT_BYTES)
    known = _typed().rd_kafka_conf_get(conf, name.encode(), text, ctypes.byref(size)) == 0
    return text.value.decode() if known else None


def _typed() -> ctypes.CDLL:
    library = librdkafka()
    pointer, text, size = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t
    for name, result, arguments in (
        ("conf_new", pointer, []),
        ("conf_set", ctypes.c_int, [pointer, text, text, text, size]),
        ("conf_get", ctypes.c_int, [pointer, text, text, ctypes.POINTER(size)]),
        ("conf_destroy", None, [pointer]),
        ("new", pointer, [ctypes.c_int, pointer, text, size]),
        ("conf", pointer, [pointer]),
        ("topic_new", pointer, [pointer, text, pointer]),
        ("topic_destroy", None, [pointer]),
        ("destroy", None, [pointer]),
    ):
        function = getattr(library, f"rd_kafka_{name}")
        function.restype = result
        function.argtypes = arguments
    return library
