"""The defaults that librdkafka derives from other properties.

Source: `rd_kafka_conf_finalize` of librdkafka. The tests compare the derived defaults with what `rd_kafka_conf_get` of
2.16.0 returns for a producer. One derived default is left out here: librdkafka sets `connections.max.idle.ms` to
230,000 if the cluster's address contains "azure".
"""

from decimal import Decimal
from typing import Final

from search_spaces.client_facts.effective_values import EffectiveValues
from search_spaces.client_facts.rules import IDEMPOTENT_MAX_IN_FLIGHT
from search_spaces.librdkafka.rules import SOCKET_BEYOND_TRANSACTION_MS
from search_spaces.properties.catalogue import TRANSACTION_TIMEOUT, TRANSACTIONAL_ID

_STICKY_LIMIT_MS: Final = 900_000
_LEAST_SOCKET_TIMEOUT_MS: Final = 900


def derived(config: EffectiveValues, name: str) -> str | None:
    """Return the default that librdkafka derives for the property `name`; None if it does not derive one."""
    match name:
        case "max.in.flight.requests.per.connection" if config.flag("enable.idempotence"):
            return str(IDEMPOTENT_MAX_IN_FLIGHT)
        case "enable.idempotence" if config.stated(TRANSACTIONAL_ID):
            return "true"
        case "delivery.timeout.ms" if config.stated(TRANSACTIONAL_ID):
            return config.text(TRANSACTION_TIMEOUT)
        case "socket.timeout.ms" if config.stated(TRANSACTIONAL_ID):
            return str(
                max(_LEAST_SOCKET_TIMEOUT_MS, config.integer(TRANSACTION_TIMEOUT) - SOCKET_BEYOND_TRANSACTION_MS)
            )
        case "sticky.partitioning.linger.ms":
            # The client derives this default before it lowers linger.ms, so the unlowered value counts.
            return str(min(_STICKY_LIMIT_MS, int(2 * Decimal(config.stated("linger.ms")))))
        case "linger.ms":
            return _lowered_linger(config)
        case "metadata.max.age.ms":
            refresh_ms = config.integer("topic.metadata.refresh.interval.ms")
            return str(3 * refresh_ms) if refresh_ms > 0 else None
        case "topic.metadata.refresh.fast.interval.ms":
            return config.text("retry.backoff.ms")
        case "allow.auto.create.topics":
            return "true"
        case _:
            return None


def _lowered_linger(config: EffectiveValues) -> str | None:
    timeout_ms = config.integer("delivery.timeout.ms")
    if timeout_ms == 0 or timeout_ms > Decimal(config.stated("linger.ms")):
        return None
    return str(timeout_ms - Decimal("0.1"))
