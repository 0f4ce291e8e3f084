"""Names of the Java client that librdkafka does not know, each with what to use in its place.

Source: the producer, TLS and SASL properties of Apache Kafka 4.3 against the list of librdkafka 2.16.0.
"""

from typing import Final

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
