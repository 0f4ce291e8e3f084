"""Translation of a Java producer's properties to the nearest librdkafka config. The translated config is not measured.

The Java producer's own defaults and the values that it derives are filled in first. So the translated config promises
at least what the Java producer promises.

Source for the compression levels: `GzipCompression`, `Lz4Compression` and `ZstdCompression` of kafka-clients.
"""

import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from search_spaces.catalogue import INT_MAX
from search_spaces.client import Client, java, librdkafka
from search_spaces.effective import Effective
from search_spaces.errors import ConfigError, ConfigProblems, RuleBroken, UnknownProperty
from search_spaces.guarantee import GUARANTEE_NAMES
from search_spaces.knobs import IDEMPOTENCE, IN_FLIGHT
from search_spaces.librdkafka.rules import SOCKET_BEYOND_TRANSACTION_MS
from search_spaces.producer_config import ProducerConfig
from search_spaces.roles import TRANSACTION_TIMEOUT, Role
from search_spaces.transactions import transaction_timeout_ms, transactions
from search_spaces.values import canonical_value, lowered

# Properties of the producer that change nothing which librdkafka could do the same way.
_WITHOUT_TWIN: Final = frozenset(
    {
        "metadata.max.idle.ms",
        "partitioner.adaptive.partitioning.enable",
        "partitioner.availability.timeout.ms",
        "partitioner.class",
        "socket.connection.setup.timeout.max.ms",
    }
)
LIKENESS: Final = 0.9
# The ranges of librdkafka 2.16.0 that are narrower than Java's.
_LARGEST_MESSAGE: Final = 1_000_000_000
_SMALLEST_MESSAGE: Final = 1000
_LONGEST_LINGER_MS: Final = 900_000
_LONGEST_SOCKET_TIMEOUT_MS: Final = 300_000
_DEFAULT_SOCKET_TIMEOUT_MS: Final = 60_000
_SHORTEST_TRANSACTION_MS: Final = 1_000
_HIGHEST_LEVEL: Final = 12
_FAST_LZ4: Final = 9
# The last release that takes more than five requests in flight as a reason not to be idempotent.
_BEFORE_4: Final = "3.9.1"


@dataclass(frozen=True, slots=True)
class JavaFile:
    """What the properties of a Java producer mean to the Java client.

    Attributes:
        values: The properties that the client obeys: canonical names and values.
        client: The Java client that they are read for.
        set_aside: Names of properties that do not tune the producer.
        notes: Why properties were left out or lowered, as the client does it, one sentence each.
        transaction_timeout_ms: The timeout of transactions; None if the producer is not transactional.
    """

    values: Mapping[str, str]
    client: Client
    set_aside: tuple[str, ...]
    notes: tuple[str, ...]
    transaction_timeout_ms: int | None = None

    @property
    def config(self) -> ProducerConfig:
        """The config of the file.

        Raises:
            RuleBroken: Values that are valid alone break a rule together; `read_java` has checked this, unless it was
                asked not to.
        """
        return ProducerConfig.parse(self.values, self.client)


def read_java(entries: Mapping[str, str], client: Client | None = None, *, complete: bool = True) -> JavaFile:
    """Check the properties of a Java producer.

    Args:
        entries: Property names and values, as a properties file holds them. The Java producer passes properties that it
            does not know to serializers and other plug-ins. They are set aside, unless such a name resembles the name
            of a property that tunes the producer.
        client: The Java client that the file is for. None: the newest one, or the newest one that accepts more than
            five requests in flight, if the file needs one.
        complete: Whether the file is the whole config. If other properties will be added to it, the rules between
            properties are not checked.

    Raises:
        ConfigProblems: A value is wrong, a name is misspelt, or values contradict each other; the message has all
            problems.
    """
    client = client or java()
    problems: list[ConfigError] = []
    values: dict[str, str] = {}
    aside: list[str] = []
    notes: list[str] = []
    for name, value in entries.items():
        try:
            if not _tunes(client, name):
                aside.append(name)
                continue
            entry = client.catalogue.find(name)
            used = lowered(entry, value)
            values[name] = canonical_value(entry, used)
            if used != value:
                notes.append(f"lowered {name}={value} to {used}, as the client does")
        except ConfigError as error:
            problems.append(error)
    within: dict[str, str] = {}
    try:
        within = transactions(client, entries)
    except ConfigError as error:
        problems.append(error)
    if within:
        # A transactional producer must be idempotent, and does not start if it is not.
        values.setdefault(IDEMPOTENCE, "true")
    if problems:
        raise ConfigProblems(problems)
    broken = broken_rules(client, {**values, **within}) if complete else []
    if broken and client == java() and not broken_rules(java(_BEFORE_4), {**values, **within}):
        return read_java(entries, java(_BEFORE_4))
    if broken:
        raise ConfigProblems(broken)
    notes += _drop_idle(client, values)
    return JavaFile(values, client, tuple(aside), tuple(notes), transaction_timeout_ms(client, within))


def _tunes(client: Client, name: str) -> bool:
    """Return whether a property tunes the producer.

    Raises:
        UnknownProperty: The name is a misspelt name of a property that does.
    """
    if name in client.catalogue:
        return client.catalogue.find(name).role is Role.PRODUCER
    near = difflib.get_close_matches(name.lower().replace("_", "."), client.producer_names, n=1, cutoff=LIKENESS)
    if near:
        raise UnknownProperty(name, client.label, near)
    return False


def _drop_idle(client: Client, values: dict[str, str]) -> list[str]:
    """Remove properties that have no effect, and return why, one sentence each."""
    sentences = []
    for rule in client.rules:
        if rule.idle in values and rule.broken(client.in_force(values)) is not None:
            sentences.append(f"left out {rule.idle}={values.pop(rule.idle)}: {rule.statement}")
    return sentences


def broken_rules(client: Client, values: Mapping[str, str]) -> list[ConfigError]:
    """Return the rules of a client that these values break, without those about properties that have no effect.

    The values may have the properties of transactions, too.
    """
    broken: list[ConfigError] = []
    for rule in (*client.rules, *client.transaction_rules):
        if rule.idle:
            continue
        try:
            rule.check(client.in_force(values))
        except RuleBroken as error:
            broken.append(error)
    return broken


def translate_from_java(
    config: ProducerConfig, transaction_timeout_ms: int | None = None
) -> tuple[ProducerConfig, tuple[str, ...]]:
    """Return librdkafka's config that comes closest to a Java producer's, and the differences, one sentence each.

    Properties are left out if librdkafka's default is the same, except the properties that decide the guarantee.

    Args:
        config: The config of the Java producer.
        transaction_timeout_ms: Its timeout of transactions; None if it is not transactional. librdkafka refuses a
            transactional producer whose other timeouts are longer.
    """
    notes: list[str] = []
    force = config.in_force
    values = {
        "acks": force.text("acks"),
        IDEMPOTENCE: force.text(IDEMPOTENCE),
        IN_FLIGHT: str(min(1_000_000, force.integer(IN_FLIGHT))),
        "retries": force.text("retries"),
        "socket.send.buffer.bytes": _socket_bytes(force.integer("send.buffer.bytes")),
        "socket.receive.buffer.bytes": _socket_bytes(force.integer("receive.buffer.bytes")),
        "partitioner": "random" if _known(force, "partitioner.ignore.keys") == "true" else "murmur2_random",
        **_sizes(force, notes),
        **_compression(force, notes),
        **_timing(force, notes, transaction_timeout_ms),
        **_backoff(force),
        **_if_given(force),
    }
    if force.is_given("partitioner.class"):
        notes.append("librdkafka can't run a Java partitioner.class, so records go to other partitions")
    for name in [name for name in values if name not in GUARANTEE_NAMES]:
        rest = {other: value for other, value in values.items() if other != name}
        if librdkafka().in_force(rest).text(name) == values[name]:
            values = rest
    without = [name for name in config.values if name in _WITHOUT_TWIN]
    if without:
        notes.append(f"librdkafka has no counterpart of {', '.join(without)}")
    return ProducerConfig.parse(values), tuple(notes)


def _known(force: Effective, name: str) -> str | None:
    """Return the value in force; None if the release has no such property."""
    return force.text(name) if name in force.client.catalogue else None


def _socket_bytes(java_bytes: int) -> str:
    # The operating system chooses the size: Java writes this as -1, librdkafka as 0.
    return str(min(100_000_000, max(0, java_bytes)))


def _sizes(force: Effective, notes: list[str]) -> dict[str, str]:
    batch = min(_LARGEST_MESSAGE, max(1, force.integer("batch.size")))
    if batch != force.integer("batch.size"):
        notes.append(
            f"librdkafka takes batch.size from 1 to {_LARGEST_MESSAGE}: {force.integer('batch.size')} became {batch}"
        )
    # Java never sends a batch that is larger than its buffer, and librdkafka's queue must hold the largest message.
    kbytes = min(INT_MAX, -(-max(force.integer("buffer.memory"), batch, _SMALLEST_MESSAGE) // 1024))
    # Java sends a batch that is larger than max.request.size alone; librdkafka would make such a batch smaller.
    message = max(batch, _SMALLEST_MESSAGE, min(force.integer("max.request.size"), kbytes * 1024, _LARGEST_MESSAGE))
    notes.append(
        "librdkafka's queue is full at 100000 records or at buffer.memory, whichever is first; Java counts only bytes"
    )
    return {
        "batch.size": str(batch),
        "message.max.bytes": str(message),
        "queue.buffering.max.kbytes": str(kbytes),
    }


def _compression(force: Effective, notes: list[str]) -> dict[str, str]:
    codec = force.text("compression.type")
    name = f"compression.{codec}.level"
    properties = {"compression.type": codec}
    if _known(force, name) is None or not force.is_given(name):
        return properties
    level = nearest = force.integer(name)
    if codec == "lz4":
        if level == _FAST_LZ4:  # the fast compressor, which librdkafka uses by default
            return properties
        nearest = min(_HIGHEST_LEVEL, max(3, level))
    elif codec == "zstd":
        nearest = 3 if level == 0 else min(_HIGHEST_LEVEL, max(1, level))
    if nearest != level:
        notes.append(f"librdkafka has no {codec} level {level}, so the nearest one is used: {nearest}")
    return {**properties, "compression.level": str(nearest)}


def _timing(force: Effective, notes: list[str], transaction_ms: int | None) -> dict[str, str]:
    longest_ms = INT_MAX if transaction_ms is None else max(_SHORTEST_TRANSACTION_MS, transaction_ms)
    linger_ms = min(_LONGEST_LINGER_MS, longest_ms - 1, force.integer("linger.ms"))
    # The default socket.timeout.ms of a transactional producer is a little shorter than its transactions.
    longest_request_ms = min(_LONGEST_SOCKET_TIMEOUT_MS, longest_ms - SOCKET_BEYOND_TRANSACTION_MS)
    request_ms = min(longest_request_ms, max(1, force.integer("request.timeout.ms")))
    delivery_ms = min(longest_ms, max(force.integer("delivery.timeout.ms"), linger_ms + 1, request_ms))
    because = "" if transaction_ms is None else f" in a producer with {TRANSACTION_TIMEOUT}={transaction_ms}"
    for name, before, now in (
        ("linger.ms", force.integer("linger.ms"), linger_ms),
        ("request.timeout.ms", force.integer("request.timeout.ms"), request_ms),
        ("delivery.timeout.ms", force.integer("delivery.timeout.ms"), delivery_ms),
    ):
        if before != now:
            notes.append(f"librdkafka does not take {name}={before}{because}: it became {now}")
    socket_ms = max(_DEFAULT_SOCKET_TIMEOUT_MS, request_ms)
    return {
        "linger.ms": str(linger_ms),
        "request.timeout.ms": str(request_ms),
        "delivery.timeout.ms": str(delivery_ms),
        # librdkafka gives a request up after socket.timeout.ms, which must not come first.
        "socket.timeout.ms": str(min(longest_ms, socket_ms)),
    }


def _backoff(force: Effective) -> dict[str, str]:
    retry_ms = min(300_000, max(1, force.integer("retry.backoff.ms")))
    reconnect_ms = min(3_600_000, force.integer("reconnect.backoff.ms"))
    # Before 3.7, the backoff did not grow.
    longest_ms = int(_known(force, "retry.backoff.max.ms") or retry_ms)
    return {
        "retry.backoff.ms": str(retry_ms),
        "retry.backoff.max.ms": str(min(300_000, max(retry_ms, longest_ms))),
        "reconnect.backoff.ms": str(reconnect_ms),
        "reconnect.backoff.max.ms": str(min(3_600_000, max(reconnect_ms, force.integer("reconnect.backoff.max.ms")))),
    }


def _if_given(force: Effective) -> dict[str, str]:
    def given(name: str) -> bool:
        return _known(force, name) is not None and force.is_given(name)

    values = {name: force.text(name) for name in ("enable.metrics.push", "metadata.recovery.strategy") if given(name)}
    for name, twin, low, high in (
        ("connections.max.idle.ms", "connections.max.idle.ms", 0, INT_MAX),
        ("metadata.max.age.ms", "topic.metadata.refresh.interval.ms", 10, 3_600_000),
        ("metadata.recovery.rebootstrap.trigger.ms", "metadata.recovery.rebootstrap.trigger.ms", 0, INT_MAX),
        ("socket.connection.setup.timeout.ms", "socket.connection.setup.timeout.ms", 1000, INT_MAX),
    ):
        if given(name):
            values[twin] = str(min(high, max(low, force.integer(name))))
    return values
