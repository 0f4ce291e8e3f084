"""The formats in which programs with the Java client take its properties.

Only properties that decide speed or guarantee are in `own_defaults`. Values by which a program outlives an outage of
the cluster, such as the endless `delivery.timeout.ms` of Kafka Connect, are left to the program.

Sources:
    spring: Spring Boot, "Apache Kafka Support", section "Additional Kafka Properties". What is below `properties`
        overrides Spring's own keys, such as `spring.kafka.producer.acks`.
    quarkus: Quarkus, "Apache Kafka Reference Guide": all attributes of an outgoing channel are passed to its producer.
        SmallRye Reactive Messaging, "Kafka Connector", "Configuration Reference": the default of `acks` is 1. The
        prefix `kafka.` would set the properties for consumers, too.
    connect: Apache Kafka, "Kafka Connect", KIP-458; for Connect's own defaults, `Worker.baseProducerConfigs`.
    streams: Apache Kafka, "Kafka Streams", "Configuring a Streams Application"; for the defaults of Streams,
        `StreamsConfig.getProducerConfigs`.
    strimzi: Strimzi, "Custom Resource API Reference", schemas `KafkaConnectSpec` and `KafkaConnectorSpec`: `config`
        takes any property of Connect, but none about connections and logins.
"""

from typing import Final

from search_spaces.client_facts.formats import FileLayout, PropertiesFormat
from search_spaces.client_facts.knobs import IDEMPOTENCE, IN_FLIGHT

_BY_CONNECT: Final = ("acks", IDEMPOTENCE, IN_FLIGHT)
_OVERRIDES: Final = "the worker must allow it: connector.client.config.override.policy=All, the default since Kafka 3.0"

FORMATS: Final = (
    PropertiesFormat("java"),
    PropertiesFormat(
        "spring",
        FileLayout.YAML,
        key="[{}]",
        inside=("spring", "kafka", "producer", "properties"),
        usage="put it into application.yml",
    ),
    PropertiesFormat(
        "quarkus",
        key="mp.messaging.outgoing.CHANNEL.{}",
        own_defaults=("acks",),
        usage="put it into application.properties, with the name of your channel instead of CHANNEL",
    ),
    PropertiesFormat(
        "connect",
        key="producer.override.{}",
        own_defaults=_BY_CONNECT,
        usage=f"put it into the config of a source connector; {_OVERRIDES}",
    ),
    PropertiesFormat(
        "streams",
        key="producer.{}",
        own_defaults=("linger.ms",),
        usage="put it into the config of the Streams application",
    ),
    PropertiesFormat(
        "strimzi-connect",
        FileLayout.YAML,
        key="producer.{}",
        inside=("spec", "config"),
        resource="KafkaConnect",
        own_defaults=_BY_CONNECT,
        usage="for all source connectors: kubectl patch kafkaconnect NAME --type merge --patch-file this-file",
    ),
    PropertiesFormat(
        "strimzi-connector",
        FileLayout.YAML,
        key="producer.override.{}",
        inside=("spec", "config"),
        resource="KafkaConnector",
        own_defaults=_BY_CONNECT,
        usage=f"kubectl patch kafkaconnector NAME --type merge --patch-file this-file; {_OVERRIDES}",
    ),
)
