"""The role of every property of the Java producer, with a reason, and hints for names of librdkafka."""

from typing import Final

from search_spaces.properties.catalogue import CONNECTION_REASON, PRODUCER_REASON, TRANSACTIONS_REASON, Role

_CONNECTION_NAMES: Final = frozenset({"bootstrap.servers", "client.id", "client.dns.lookup", "security.protocol"})
_CONNECTION_PREFIXES: Final = ("ssl.", "sasl.")

_BYTES: Final = "the load generator sends bytes and sets the serializers itself; leave it out"
_CODE: Final = "it would load code of yours into the load generator; leave it out"
_METRICS: Final = "the load generator reads the client's metrics itself; leave it out"
_RESERVED: Final = {
    "key.serializer": _BYTES,
    "value.serializer": _BYTES,
    "interceptor.classes": _CODE,
    "config.providers": _CODE,
    "security.providers": _CODE,
    "metric.reporters": _CODE,
    "metrics.num.samples": _METRICS,
    "metrics.recording.level": _METRICS,
    "metrics.sample.window.ms": _METRICS,
    "auto.include.jmx.reporter": _METRICS,
    "max.block.ms": "the load generator chooses how long it waits for room in the buffer; leave it out",
    "transactional.id": TRANSACTIONS_REASON,
    "transaction.timeout.ms": TRANSACTIONS_REASON,
    "transaction.two.phase.commit.enable": TRANSACTIONS_REASON,
}

_NAME: Final = "it is a name of librdkafka; "
LIBRDKAFKA_HINTS: Final = {
    "queue.buffering.max.kbytes": f"{_NAME}use buffer.memory, which is in bytes",
    "queue.buffering.max.messages": f"{_NAME}the Java client limits its buffer by bytes only: use buffer.memory",
    "queue.buffering.max.ms": f"{_NAME}use linger.ms",
    "batch.num.messages": f"{_NAME}the Java client limits batches by bytes only: use batch.size",
    "message.max.bytes": f"{_NAME}use max.request.size",
    "message.timeout.ms": f"{_NAME}use delivery.timeout.ms",
    "message.send.max.retries": f"{_NAME}use retries",
    "request.required.acks": f"{_NAME}use acks",
    "compression.codec": f"{_NAME}use compression.type",
    "compression.level": f"{_NAME}use compression.gzip.level, compression.lz4.level or compression.zstd.level",
    "max.in.flight": f"{_NAME}use max.in.flight.requests.per.connection",
    "partitioner": f"{_NAME}the Java client's own partitioner is used unless partitioner.class names another",
    "sticky.partitioning.linger.ms": f"{_NAME}the Java client stays on a partition for batch.size bytes instead",
    "socket.send.buffer.bytes": f"{_NAME}use send.buffer.bytes",
    "socket.receive.buffer.bytes": f"{_NAME}use receive.buffer.bytes",
    "socket.nagle.disable": f"{_NAME}the Java client always disables Nagle's algorithm",
    "topic.metadata.refresh.interval.ms": f"{_NAME}use metadata.max.age.ms",
    "metadata.broker.list": f"{_NAME}use bootstrap.servers",
    "sasl.username": f"{_NAME}use sasl.jaas.config",
    "sasl.password": f"{_NAME}use sasl.jaas.config",
    "ssl.ca.location": f"{_NAME}use ssl.truststore.location",
}


def role_of(name: str) -> tuple[Role, str]:
    """Return a property's role, and the reason to show to a user who put the property in the wrong place."""
    if name in _RESERVED:
        return Role.RESERVED, _RESERVED[name]
    if name in _CONNECTION_NAMES or name.startswith(_CONNECTION_PREFIXES):
        return Role.CONNECTION, CONNECTION_REASON
    return Role.PRODUCER, PRODUCER_REASON
