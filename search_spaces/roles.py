"""Where each property of librdkafka belongs: in the measured config, with the connection, or with neither.

The catalogue of the library does not say this; it is our decision, one line each, with its reason. Beside it stand the
names of the Java client that librdkafka does not know, each with what to use in its place.

Source of these: the producer, TLS and SASL properties of Apache Kafka 4.3 against the list of librdkafka 2.16.0.
"""

import re
from enum import StrEnum
from typing import Final


class Role(StrEnum):
    """Who sets a property.

    `PRODUCER` properties are what is measured and tuned. `CONNECTION` properties say how to reach the cluster
    and as whom; they come from `--command-config` and never enter a fingerprint, a tracker or a
    recommendation. `RESERVED` ones are set by the load generator, or would change what a measurement means.
    """

    PRODUCER = "producer"
    CONNECTION = "connection"
    RESERVED = "reserved"


CONNECTION_REASON: Final = (
    "it says how to reach the cluster and as whom, not how to produce; put it in the file given as --command-config"
)
PRODUCER_REASON: Final = "it is a knob of the producer; put it in the config that is measured"

_CONNECTION_NAMES: Final = frozenset(
    {
        "bootstrap.servers",
        # Quotas are given to a client id, and operators look for it: it identifies, it does not tune.
        "client.id",
        "client.rack",
        "client.dns.lookup",
        "security.protocol",
    }
)
_CONNECTION_PREFIXES: Final = ("ssl.", "https.", "sasl.", "enable.ssl.", "enable.sasl.", "broker.address.")

_CODE: Final = "it is set by a call of the client's library, not by text"
_LOG: Final = "the load generator reads the client's log itself"
_UNUSED: Final = "the client takes it and no longer uses it; leave it out"
_OLD_BROKERS: Final = "it is for brokers before 0.10 and will be removed; leave it out"
_TOPICS: Final = "the runner creates and chooses the topics itself"
_TRANSACTIONS: Final = "the load generator does not write in transactions"
_RESERVED: Final = {
    "allow.auto.create.topics": _TOPICS,
    "topic.blacklist": _TOPICS,
    "builtin.features": "it describes the build of the client",
    "debug": _LOG,
    "log_level": _LOG,
    "log.queue": _LOG,
    "log.thread.name": _LOG,
    "log.connection.close": _LOG,
    "delivery.report.only.error": "without the report of every record nothing can be counted or timed",
    "enable.gapless.guarantee": "it is experimental, and ends the producer under test at the first gap",
    "enable.random.seed": "the load generator seeds its own payloads; this one seeds the process",
    "enabled_events": "the load generator chooses the events it reads",
    "internal.termination.signal": "the load generator ends its clients itself",
    "plugin.library.paths": "it loads native code into the load generator",
    "statistics.interval.ms": "the load generator reads the client's statistics at its own interval",
    "transactional.id": _TRANSACTIONS,
    "transaction.timeout.ms": _TRANSACTIONS,
    "api.version.request": _OLD_BROKERS,
    "api.version.fallback.ms": _OLD_BROKERS,
    "broker.version.fallback": _OLD_BROKERS,
    "produce.offset.report": _UNUSED,
    "reconnect.backoff.jitter.ms": _UNUSED,
    "socket.blocking.max.ms": _UNUSED,
    "topic.metadata.refresh.fast.cnt": _UNUSED,
}
_MOCK_PREFIX: Final = "test.mock."

# Wider than the list of the client's secrets on purpose: names of other clients and misspellings reach
# messages too.
_SECRET: Final = re.compile(
    r"pass?w|passphrase|pwd|secret|credential|jaas|token(?!\.endpoint)|private[._]?key"
    r"|ssl[._]key(?!\.location|store\.location)|keystore\.key|sasl\.oauthbearer\.config|sasl\.oauthbearer\.extensions|user\.info",
    re.IGNORECASE,
)
_PUBLIC: Final = frozenset({"sasl.oauthbearer.client.credentials.client.id"})


def is_secret(name: str) -> bool:
    """Say whether the value of the property `name` must never be shown, logged or recorded.

    Holds for the names of the Java client and for plausible misspellings too.
    """
    return name not in _PUBLIC and _SECRET.search(name) is not None


def role_of(name: str, *, producer: bool, pointer: bool) -> tuple[Role, str]:
    """Return the role of a canonical property name and the reason to give when it stands in the wrong place.

    Args:
        name: the canonical name.
        producer: whether the client uses the property in a producer at all.
        pointer: whether the property holds a pointer or a callback.
    """
    if pointer:
        return Role.RESERVED, _CODE
    if name.startswith(_MOCK_PREFIX):
        return Role.RESERVED, "it swaps the cluster for one inside the client; the runner chooses the cluster"
    if not producer:
        return Role.RESERVED, "it is a property of consumers, and a producer ignores it; leave it out"
    if name in _RESERVED:
        return Role.RESERVED, _RESERVED[name]
    if name in _CONNECTION_NAMES or name.startswith(_CONNECTION_PREFIXES):
        return Role.CONNECTION, CONNECTION_REASON
    return Role.PRODUCER, PRODUCER_REASON


_SERIALIZER: Final = "librdkafka sends bytes and has no serializers; leave it out"
_PEM: Final = "librdkafka reads PEM or PKCS#12 files, not Java key stores"
_JAAS: Final = "librdkafka has no JAAS; use sasl.username and sasl.password, or sasl.oauthbearer.*"
_PARTITIONER: Final = "librdkafka chooses among its own partitioners with the property partitioner"
_NONE: Final = "librdkafka has nothing like it; leave it out"

JAVA_HINTS: Final = {
    "buffer.memory": "it is a Java name; use queue.buffering.max.kbytes and queue.buffering.max.messages",
    "max.request.size": "it is a Java name; use message.max.bytes",
    "compression.gzip.level": "it is a Java name; use compression.level, which goes with compression.type",
    "compression.lz4.level": "it is a Java name; use compression.level, which goes with compression.type",
    "compression.zstd.level": "it is a Java name; use compression.level, which goes with compression.type",
    "send.buffer.bytes": "it is a Java name; use socket.send.buffer.bytes",
    "receive.buffer.bytes": "it is a Java name; use socket.receive.buffer.bytes",
    "socket.connection.setup.timeout.max.ms": "it is a Java name; use socket.connection.setup.timeout.ms",
    "max.block.ms": "librdkafka does not block on a full queue, the load generator waits; leave it out",
    "metadata.max.idle.ms": _NONE,
    "partitioner.class": _PARTITIONER,
    "partitioner.ignore.keys": _PARTITIONER,
    "partitioner.adaptive.partitioning.enable": _NONE,
    "partitioner.availability.timeout.ms": _NONE,
    "key.serializer": _SERIALIZER,
    "value.serializer": _SERIALIZER,
    "interceptor.classes": _NONE,
    "metric.reporters": _NONE,
    "metrics.num.samples": _NONE,
    "metrics.recording.level": _NONE,
    "metrics.sample.window.ms": _NONE,
    "security.providers": _NONE,
    "sasl.jaas.config": _JAAS,
    "sasl.login.callback.handler.class": _JAAS,
    "sasl.client.callback.handler.class": _JAAS,
    "sasl.login.class": _JAAS,
    "ssl.truststore.location": f"{_PEM}: use ssl.ca.location",
    "ssl.truststore.password": f"{_PEM}: use ssl.ca.location, which needs no password",
    "ssl.truststore.type": f"{_PEM}: use ssl.ca.location",
    "ssl.truststore.certificates": f"{_PEM}: use ssl.ca.pem",
    "ssl.keystore.type": f"{_PEM}: use ssl.keystore.location with a PKCS#12 file",
    "ssl.keystore.key": f"{_PEM}: use ssl.key.pem",
    "ssl.keystore.certificate.chain": f"{_PEM}: use ssl.certificate.pem",
    "ssl.protocol": _NONE,
    "ssl.enabled.protocols": _NONE,
    "ssl.provider": "it is a Java name; use ssl.providers",
}
