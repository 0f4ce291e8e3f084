"""The properties of transactions in a producer's properties file.

No measured config has them, because the load generator does not use transactions. But they decide which other values
the client accepts, and which defaults it has.
"""

from collections.abc import Mapping

from search_spaces.client import Client
from search_spaces.client_facts.effective_values import EffectiveValues
from search_spaces.configs.producer_config import ProducerConfig
from search_spaces.properties.catalogue import TRANSACTION_TIMEOUT, TRANSACTIONAL_ID
from search_spaces.properties.values import canonical_value


def transactions(client: Client, entries: Mapping[str, str]) -> dict[str, str]:
    """Return the properties of transactions among a file's entries: canonical values by name.

    The result is empty if the producer is not transactional. To librdkafka, an empty `transactional.id` means that it
    is not; Java refuses an empty one.

    Raises:
        InvalidValue: The client does not take a value.
    """
    names = (name for name in (TRANSACTIONAL_ID, TRANSACTION_TIMEOUT) if name in entries)
    values = {name: canonical_value(client.catalogue.find(name), entries[name]) for name in names}
    return values if values.get(TRANSACTIONAL_ID) else {}


def transaction_timeout_ms(client: Client, found: Mapping[str, str]) -> int | None:
    """Return the timeout of transactions in milliseconds; None if the producer is not transactional.

    Args:
        client: The client that the file is for.
        found: What `transactions` returned.
    """
    return client.effective_values(found).integer(TRANSACTION_TIMEOUT) if found else None


def effective_values_within(config: ProducerConfig, transaction_timeout_ms: int | None) -> EffectiveValues:
    """Return the effective values of the config of a file, also those defaults that depend on its transactions.

    Args:
        config: The config, which lacks the properties of transactions.
        transaction_timeout_ms: The timeout of transactions; None if the producer is not transactional.
    """
    if transaction_timeout_ms is None:
        return config.effective_values
    within = {TRANSACTIONAL_ID: "any", TRANSACTION_TIMEOUT: str(transaction_timeout_ms)}
    return config.client.effective_values({**config.values, **within})
