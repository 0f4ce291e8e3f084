"""The values that the Java client derives from other properties.

Source: `ProducerConfig.postProcessParsedConfig` and `KafkaProducer.configureDeliveryTimeout` of kafka-clients, tried
with 2.8.2 to 4.3.1. The tests compare the derived values with those of constructed producers.
"""

from typing import Final

from search_spaces.client_facts.effective_values import EffectiveValues
from search_spaces.client_facts.knobs import IDEMPOTENCE, IN_FLIGHT
from search_spaces.client_facts.rules import IDEMPOTENT_MAX_IN_FLIGHT
from search_spaces.properties.catalogue import INT_MAX, TRANSACTIONAL_ID

# The default enable.idempotence=true had no effect in these releases. Source: "Upgrading to 3.2.0" in the
# documentation of Apache Kafka, KAFKA-13598.
_NOT_IDEMPOTENT_BY_DEFAULT: Final = frozenset({"3.0.0", "3.1.0"})


def derived(config: EffectiveValues, name: str) -> str | None:
    """Return the value that the client derives for a property that is not given; None if it does not derive one."""
    match name:
        case "enable.idempotence" if config.stated(TRANSACTIONAL_ID):
            return "true"
        case "enable.idempotence" if config.stated(name) == "true":
            return None if _idempotent_by_default(config) else "false"
        case "acks" if config.stated(name) != "-1":
            # Before 3.0, the default of acks is 1.
            asked = config.stated(IDEMPOTENCE) == "true" or config.stated(TRANSACTIONAL_ID)
            return "-1" if asked else None
        case "delivery.timeout.ms":
            least_ms = min(INT_MAX, config.integer("linger.ms") + config.integer("request.timeout.ms"))
            return str(max(least_ms, int(config.stated(name))))
        case "reconnect.backoff.max.ms" if config.is_given("reconnect.backoff.ms"):
            return config.text("reconnect.backoff.ms")
        case _:
            return None


def _idempotent_by_default(config: EffectiveValues) -> bool:
    """Return whether a producer is idempotent that does not set `enable.idempotence`, whose default is true."""
    return (
        config.catalogue.version not in _NOT_IDEMPOTENT_BY_DEFAULT
        and config.stated("acks") == "-1"
        and int(config.stated("retries")) > 0
        and int(config.stated(IN_FLIGHT)) <= IDEMPOTENT_MAX_IN_FLIGHT
    )
