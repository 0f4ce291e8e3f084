"""Translation of a Java producer's properties to the nearest librdkafka config. The translated config is not measured.

The Java producer's own defaults and the values that it derives are filled in first. So the translated config promises
at least what the Java producer promises.

Source for names, ranges, defaults and `postProcessAndValidateIdempotenceConfigs`: `ProducerConfig` of kafka-clients
4.3.1. Source for the compression levels: `GzipCompression`, `Lz4Compression` and `ZstdCompression` of kafka-clients.
"""

import difflib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from search_spaces.client import librdkafka
from search_spaces.errors import ConfigError, ConfigProblems, InvalidValue, RuleBroken, UnknownProperty
from search_spaces.guarantee import Guarantee
from search_spaces.producer_config import ProducerConfig
from search_spaces.rules import IDEMPOTENT_MAX_IN_FLIGHT

_INT_MAX: Final = 2**31 - 1
_LONG_MAX: Final = 2**63 - 1
_GUARANTEE_NAMES: Final = ("acks", "enable.idempotence", "max.in.flight.requests.per.connection", "retries")


@dataclass(frozen=True, slots=True)
class _Number:
    low: int
    high: int
    default: int | None = None


# The properties that have a twin in librdkafka. A property without a default is translated only if it is given.
_NUMBERS: Final = {
    "batch.size": _Number(0, _INT_MAX, 16384),
    "buffer.memory": _Number(0, _LONG_MAX, 33554432),
    "compression.gzip.level": _Number(-1, 9, -1),
    "compression.lz4.level": _Number(1, 17, 9),
    "compression.zstd.level": _Number(-131072, 22, 3),
    "connections.max.idle.ms": _Number(-_LONG_MAX, _LONG_MAX),
    "delivery.timeout.ms": _Number(0, _INT_MAX, 120000),
    "linger.ms": _Number(0, _LONG_MAX, 5),
    "max.in.flight.requests.per.connection": _Number(1, _INT_MAX, 5),
    "max.request.size": _Number(0, _INT_MAX, 1048576),
    "metadata.max.age.ms": _Number(0, _LONG_MAX),
    "metadata.recovery.rebootstrap.trigger.ms": _Number(0, _LONG_MAX),
    "receive.buffer.bytes": _Number(-1, _INT_MAX, 32768),
    "reconnect.backoff.max.ms": _Number(0, _LONG_MAX, 1000),
    "reconnect.backoff.ms": _Number(0, _LONG_MAX, 50),
    "request.timeout.ms": _Number(0, _INT_MAX, 30000),
    "retries": _Number(0, _INT_MAX, _INT_MAX),
    "retry.backoff.max.ms": _Number(0, _LONG_MAX, 1000),
    "retry.backoff.ms": _Number(0, _LONG_MAX, 100),
    "send.buffer.bytes": _Number(-1, _INT_MAX, 131072),
    "socket.connection.setup.timeout.ms": _Number(0, _LONG_MAX),
}
_WORDS: Final = {
    "acks": (("all", "-1", "0", "1"), "all"),
    "compression.type": (("none", "gzip", "snappy", "lz4", "zstd"), "none"),
    "enable.idempotence": (("true", "false"), "true"),
    "enable.metrics.push": (("true", "false"), "true"),
    "metadata.recovery.strategy": (("rebootstrap", "none"), "rebootstrap"),
    "partitioner.ignore.keys": (("true", "false"), "false"),
}
# Properties of the producer that change nothing which librdkafka could do the same way.
_WITHOUT_TWIN: Final = frozenset(
    {
        "max.block.ms",
        "metadata.max.idle.ms",
        "partitioner.adaptive.partitioning.enable",
        "partitioner.availability.timeout.ms",
        "partitioner.class",
        "socket.connection.setup.timeout.max.ms",
    }
)
TUNED_NAMES: Final = (*_NUMBERS, *_WORDS, *_WITHOUT_TWIN)
_WHOLE: Final = re.compile(r"[+-]?[0-9]{1,19}", re.ASCII)
_LIKENESS: Final = 0.9
# The ranges of librdkafka 2.16.0 that are narrower than Java's.
_LARGEST_MESSAGE: Final = 1_000_000_000
_SMALLEST_MESSAGE: Final = 1000
_LONGEST_LINGER_MS: Final = 900_000
_LONGEST_SOCKET_TIMEOUT_MS: Final = 300_000
_DEFAULT_SOCKET_TIMEOUT_MS: Final = 60_000
_HIGHEST_LEVEL: Final = 12


@dataclass(frozen=True, slots=True)
class JavaProducer:
    """The values in force in a Java producer: the given values, and the client's defaults for all other properties.

    Attributes:
        numbers: The whole numbers in force, by Java name.
        words: The words in force, by Java name, in lower case.
        given: Names of the properties that the file itself sets.
        set_aside: Names of the given properties that are not translated, because they do not tune the producer.
        without_twin: Names of the given properties that tune the producer but have no counterpart in librdkafka.
    """

    numbers: Mapping[str, int]
    words: Mapping[str, str]
    given: frozenset[str]
    set_aside: tuple[str, ...]
    without_twin: tuple[str, ...]

    @classmethod
    def parse(cls, entries: Mapping[str, str]) -> "JavaProducer":
        """Check the properties of a Java producer, and fill in the defaults.

        Args:
            entries: Property names and values, as a properties file holds them. The Java producer passes properties
                that it does not know to serializers and other plug-ins. They are set aside, unless such a name
                resembles the name of a property that tunes the producer.

        Raises:
            ConfigProblems: A value is wrong, a name is misspelt, or values contradict each other; the message has all
                problems.
        """
        problems: list[ConfigError] = []
        numbers: dict[str, int] = {name: each.default for name, each in _NUMBERS.items() if each.default is not None}
        words = {name: default for name, (_, default) in _WORDS.items()}
        for name, value in entries.items():
            try:
                if name in _NUMBERS:
                    numbers[name] = _number(name, value)
                elif name in _WORDS:
                    words[name] = _word(name, value)
                elif name not in TUNED_NAMES:
                    _check_spelling(name)
            except ConfigError as error:
                problems.append(error)
        if not problems:
            problems += _derive(entries, numbers, words)
        if problems:
            raise ConfigProblems(problems)
        aside = tuple(name for name in entries if name not in TUNED_NAMES)
        return cls(numbers, words, frozenset(entries), aside, tuple(n for n in entries if n in _WITHOUT_TWIN))

    @property
    def guarantee(self) -> Guarantee:
        """What the Java producer promises about lost, reordered and duplicate records."""
        idempotent = self.words["enable.idempotence"] == "true"
        one_at_a_time = self.numbers["max.in.flight.requests.per.connection"] == 1
        ordered = idempotent or one_at_a_time or self.numbers["retries"] == 0
        return Guarantee(int(self.words["acks"]), ordered, idempotent)


def translate_from_java(java: JavaProducer) -> tuple[ProducerConfig, tuple[str, ...]]:
    """Return librdkafka's config that comes closest to a Java producer, and the differences, one sentence each.

    Properties are left out if librdkafka's default is the same, except the properties that decide the guarantee.
    """
    notes: list[str] = []
    numbers, words = java.numbers, java.words
    values = {
        "acks": words["acks"],
        "enable.idempotence": words["enable.idempotence"],
        "max.in.flight.requests.per.connection": str(min(1_000_000, numbers["max.in.flight.requests.per.connection"])),
        "retries": str(numbers["retries"]),
        "socket.send.buffer.bytes": _socket_bytes(numbers["send.buffer.bytes"]),
        "socket.receive.buffer.bytes": _socket_bytes(numbers["receive.buffer.bytes"]),
        "partitioner": "random" if words["partitioner.ignore.keys"] == "true" else "murmur2_random",
        **_sizes(numbers, notes),
        **_compression(java, notes),
        **_timing(numbers, notes),
        **_backoff(numbers),
        **_if_given(java),
    }
    if "partitioner.class" in java.given:
        notes.append("librdkafka can't run a Java partitioner.class, so records go to other partitions")
    for name in [name for name in values if name not in _GUARANTEE_NAMES]:
        rest = {other: value for other, value in values.items() if other != name}
        if librdkafka().in_force(rest).text(name) == values[name]:
            values = rest
    return ProducerConfig.parse(values), tuple(notes)


def _number(name: str, value: str) -> int:
    allowed, text = _NUMBERS[name], value.strip()
    rule = f"a whole number from {allowed.low:,} to {allowed.high:,} in the Java producer"
    if not _WHOLE.fullmatch(text) or not allowed.low <= int(text) <= allowed.high:
        raise InvalidValue(name, rule, value)
    if name == "compression.gzip.level" and text.lstrip("+") == "0":
        raise InvalidValue(name, "1 to 9, or -1 for the default, in the Java producer", value)
    return int(text)


def _word(name: str, value: str) -> str:
    choices, _ = _WORDS[name]
    text = value.strip().lower()
    if text not in choices:
        raise InvalidValue(name, f"one of {', '.join(choices)} in the Java producer", value)
    return text


def _check_spelling(name: str) -> None:
    near = difflib.get_close_matches(name.lower().replace("_", "."), TUNED_NAMES, n=1, cutoff=_LIKENESS)
    if near and near[0] != name:
        raise UnknownProperty(name, "the Java producer", near)


def _derive(entries: Mapping[str, str], numbers: dict[str, int], words: dict[str, str]) -> list[ConfigError]:
    """Change the values that the Java producer derives from other values, and return the contradictions."""
    problems: list[ConfigError] = []
    words["acks"] = "-1" if words["acks"] == "all" else words["acks"]
    contradictions = {
        "acks": words["acks"] != "-1",
        "retries": numbers["retries"] == 0,
        # A client of version 4.0 or newer does not start with such a file, so the file is for an older client.
        "max.in.flight.requests.per.connection": (
            numbers["max.in.flight.requests.per.connection"] > IDEMPOTENT_MAX_IN_FLIGHT
        ),
    }
    asked = "enable.idempotence" in entries or "transactional.id" in entries
    if words["enable.idempotence"] == "true":
        broken = [name for name, contradicts in contradictions.items() if contradicts]
        if broken and asked:
            rule = f"needs acks=all, retries of at least 1, and at most {IDEMPOTENT_MAX_IN_FLIGHT} requests in flight"
            shown = ", ".join(f"{name}={entries[name]}" for name in broken)
            problems.append(RuleBroken("java-idempotence", f"an idempotent Java producer {rule}", shown))
        elif broken:
            words["enable.idempotence"] = "false"
    elif "transactional.id" in entries:
        rule = "a Java producer with a transactional.id must be idempotent"
        problems.append(RuleBroken("java-transactions", rule, "enable.idempotence=false"))
    least_ms = min(_INT_MAX, numbers["linger.ms"] + numbers["request.timeout.ms"])
    if numbers["delivery.timeout.ms"] < least_ms:
        if "delivery.timeout.ms" in entries:
            rule = "in the Java producer delivery.timeout.ms must be at least linger.ms + request.timeout.ms"
            shown = f"{numbers['delivery.timeout.ms']} is less than {least_ms}"
            problems.append(RuleBroken("java-delivery-timeout", rule, shown))
        numbers["delivery.timeout.ms"] = least_ms
    return problems


def _socket_bytes(java_bytes: int) -> str:
    # The operating system chooses the size: Java writes this as -1, librdkafka as 0.
    return str(min(100_000_000, max(0, java_bytes)))


def _sizes(numbers: Mapping[str, int], notes: list[str]) -> dict[str, str]:
    batch = min(_LARGEST_MESSAGE, max(1, numbers["batch.size"]))
    if batch != numbers["batch.size"]:
        notes.append(
            f"librdkafka takes batch.size from 1 to {_LARGEST_MESSAGE}: {numbers['batch.size']} became {batch}"
        )
    # Java never sends a batch that is larger than its buffer, and librdkafka's queue must hold the largest message.
    kbytes = min(_INT_MAX, -(-max(numbers["buffer.memory"], batch, _SMALLEST_MESSAGE) // 1024))
    # Java sends a batch that is larger than max.request.size alone; librdkafka would make such a batch smaller.
    message = max(batch, _SMALLEST_MESSAGE, min(numbers["max.request.size"], kbytes * 1024, _LARGEST_MESSAGE))
    notes.append(
        "librdkafka's queue is full at 100000 records or at buffer.memory, whichever is first; Java counts only bytes"
    )
    return {
        "batch.size": str(batch),
        "message.max.bytes": str(message),
        "queue.buffering.max.kbytes": str(kbytes),
    }


def _compression(java: JavaProducer, notes: list[str]) -> dict[str, str]:
    codec = java.words["compression.type"]
    name = f"compression.{codec}.level"
    properties = {"compression.type": codec}
    if name not in java.given:
        return properties
    level = java.numbers[name]
    nearest = level
    if codec == "lz4":
        if level == _NUMBERS[name].default:  # the fast compressor, which librdkafka uses by default
            return properties
        nearest = min(_HIGHEST_LEVEL, max(3, level))
    elif codec == "zstd":
        nearest = 3 if level == 0 else min(_HIGHEST_LEVEL, max(1, level))
    if nearest != level:
        notes.append(f"librdkafka has no {codec} level {level}, so the nearest one is used: {nearest}")
    return {**properties, "compression.level": str(nearest)}


def _timing(numbers: Mapping[str, int], notes: list[str]) -> dict[str, str]:
    linger_ms = min(_LONGEST_LINGER_MS, numbers["linger.ms"])
    request_ms = min(_LONGEST_SOCKET_TIMEOUT_MS, max(1, numbers["request.timeout.ms"]))
    delivery_ms = max(numbers["delivery.timeout.ms"], linger_ms + 1, request_ms)
    for name, before, now in (
        ("linger.ms", numbers["linger.ms"], linger_ms),
        ("request.timeout.ms", numbers["request.timeout.ms"], request_ms),
        ("delivery.timeout.ms", numbers["delivery.timeout.ms"], delivery_ms),
    ):
        if before != now:
            notes.append(f"librdkafka does not take {name}={before}: it became {now}")
    return {
        "linger.ms": str(linger_ms),
        "request.timeout.ms": str(request_ms),
        "delivery.timeout.ms": str(delivery_ms),
        # librdkafka gives a request up after socket.timeout.ms, which must not come first.
        "socket.timeout.ms": str(max(_DEFAULT_SOCKET_TIMEOUT_MS, request_ms)),
    }


def _backoff(numbers: Mapping[str, int]) -> dict[str, str]:
    retry_ms = min(300_000, max(1, numbers["retry.backoff.ms"]))
    reconnect_ms = min(3_600_000, numbers["reconnect.backoff.ms"])
    return {
        "retry.backoff.ms": str(retry_ms),
        "retry.backoff.max.ms": str(min(300_000, max(retry_ms, numbers["retry.backoff.max.ms"]))),
        "reconnect.backoff.ms": str(reconnect_ms),
        "reconnect.backoff.max.ms": str(min(3_600_000, max(reconnect_ms, numbers["reconnect.backoff.max.ms"]))),
    }


def _if_given(java: JavaProducer) -> dict[str, str]:
    values = {name: java.words[name] for name in ("enable.metrics.push", "metadata.recovery.strategy")}
    values = {name: value for name, value in values.items() if name in java.given}
    for name, twin, low, high in (
        ("connections.max.idle.ms", "connections.max.idle.ms", 0, _INT_MAX),
        ("metadata.max.age.ms", "topic.metadata.refresh.interval.ms", 10, 3_600_000),
        ("metadata.recovery.rebootstrap.trigger.ms", "metadata.recovery.rebootstrap.trigger.ms", 0, _INT_MAX),
        ("socket.connection.setup.timeout.ms", "socket.connection.setup.timeout.ms", 1000, _INT_MAX),
    ):
        if name in java.given:
            values[twin] = str(min(high, max(low, java.numbers[name])))
    return values
