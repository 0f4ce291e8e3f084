"""The role of every librdkafka property, with a reason, and hints for names of the Java client.

Source of `JAVA_HINTS`: the producer, TLS and SASL properties of Apache Kafka 4.3, compared with those of librdkafka
2.16.0.
"""

from typing import Final

from search_spaces.properties.catalogue import CONNECTION_REASON, PRODUCER_REASON, TRANSACTIONS_REASON, Role

_CONNECTION_NAMES: Final = frozenset(
    {
        "bootstrap.servers",
        # A client id identifies a client to operators and quotas; it does not change how fast the client is.
        "client.id",
        "client.rack",
        "client.dns.lookup",
        "security.protocol",
    }
)
_CONNECTION_PREFIXES: Final = ("ssl.", "https.", "sasl.", "enable.ssl.", "enable.sasl.", "broker.address.")

_CODE: Final = "it can be set only by a call in a program, not in a file; leave it out"
_LOG: Final = "the load generator controls the client's log; leave it out"
UNUSED: Final = "the client accepts it but no longer uses it; leave it out"
_OLD_BROKERS: Final = "it is for brokers older than 0.10 and will be removed from the client; leave it out"
_TOPICS: Final = "the load generator chooses and creates the topics; leave it out"
_RESERVED: Final = {
    "allow.auto.create.topics": _TOPICS,
    "topic.blacklist": _TOPICS,
    "builtin.features": "it only describes how the client was built; leave it out",
    "debug": _LOG,
    "log_level": _LOG,
    "log.queue": _LOG,
    "log.thread.name": _LOG,
    "log.connection.close": _LOG,
    "delivery.report.only.error": "the load generator needs every delivery report to count records; leave it out",
    "enable.gapless.guarantee": "it is experimental and stops the producer at the first gap; leave it out",
    "enable.random.seed": "it seeds the whole process, and the load generator has its own seed; leave it out",
    "enabled_events": "the load generator chooses which events it reads; leave it out",
    "internal.termination.signal": "the load generator closes its clients itself; leave it out",
    "plugin.library.paths": "it would load native code into the load generator; leave it out",
    "statistics.interval.ms": "the load generator chooses the interval of the statistics; leave it out",
    "transactional.id": TRANSACTIONS_REASON,
    "transaction.timeout.ms": TRANSACTIONS_REASON,
    "api.version.request": _OLD_BROKERS,
    "api.version.fallback.ms": _OLD_BROKERS,
    "broker.version.fallback": _OLD_BROKERS,
    "produce.offset.report": UNUSED,
    "reconnect.backoff.jitter.ms": UNUSED,
    "socket.blocking.max.ms": UNUSED,
    "topic.metadata.refresh.fast.cnt": UNUSED,
}
_MOCK_PREFIX: Final = "test.mock."


def hidden(name: str) -> str | None:
    """Return why users must not set a property that the client has but does not list; None for all other names."""
    if name.startswith(_MOCK_PREFIX):
        return "it replaces the cluster by a mock in the client, but the runner chooses the cluster; leave it out"
    return None


def role_of(name: str, *, producer: bool, pointer: bool) -> tuple[Role, str]:
    """Return a property's role, and the reason to show to a user who put the property in the wrong place.

    Args:
        name: The property's canonical name.
        producer: Whether a producer uses the property.
        pointer: Whether the property's value is a pointer or a callback, which only a program can set.
    """
    if pointer:
        return Role.RESERVED, _CODE
    reason = hidden(name)
    if reason is not None:
        return Role.RESERVED, reason
    if not producer:
        return Role.RESERVED, "it is a property of consumers, which a producer ignores; leave it out"
    if name in _RESERVED:
        return Role.RESERVED, _RESERVED[name]
    if name in _CONNECTION_NAMES or name.startswith(_CONNECTION_PREFIXES):
        return Role.CONNECTION, CONNECTION_REASON
    return Role.PRODUCER, PRODUCER_REASON


_SERIALIZER: Final = "librdkafka sends bytes and has no serializers; leave it out"
_PEM: Final = "librdkafka reads PEM or PKCS#12 files, not Java key stores"
_JAAS: Final = "librdkafka does not support JAAS; use sasl.username and sasl.password, or sasl.oauthbearer.*"
_PARTITIONER: Final = "librdkafka has its own partitioners; choose one with the property partitioner"
_NONE: Final = "librdkafka has no counterpart; leave it out"

JAVA_HINTS: Final = {
    "buffer.memory": "it is a Java name; use queue.buffering.max.kbytes and queue.buffering.max.messages",
    "max.request.size": "it is a Java name; use message.max.bytes",
    "compression.gzip.level": "it is a Java name; use compression.level, which goes with compression.type",
    "compression.lz4.level": "it is a Java name; use compression.level, which goes with compression.type",
    "compression.zstd.level": "it is a Java name; use compression.level, which goes with compression.type",
    "send.buffer.bytes": "it is a Java name; use socket.send.buffer.bytes",
    "receive.buffer.bytes": "it is a Java name; use socket.receive.buffer.bytes",
    "socket.connection.setup.timeout.max.ms": "it is a Java name; use socket.connection.setup.timeout.ms",
    "max.block.ms": "librdkafka does not block on a full queue, and the load generator waits instead; leave it out",
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
    "config.providers": _NONE,
    "auto.include.jmx.reporter": _NONE,
    "transaction.two.phase.commit.enable": _NONE,
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
