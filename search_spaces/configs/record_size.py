"""The check that a config can write records of a size."""

from search_spaces.configs.producer_config import ProducerConfig


def check_record(
    config: ProducerConfig,
    record_bytes: int,
    key_bytes: int | None = None,
    topic_max_message_bytes: int | None = None,
) -> None:
    """Check that a config can queue and send records of one size, and that the topic accepts them.

    The topic's limit applies to compressed batches, so it is checked only if the config does not compress.

    Args:
        config: The config to write with.
        record_bytes: Size of a record's value, in bytes.
        key_bytes: Size of a record's key, in bytes; None for no key.
        topic_max_message_bytes: The topic's `max.message.bytes`; None if it is not known.

    Raises:
        RuleBroken: The record exceeds one of the limits, or full batches exceed the topic's limit.
    """
    config.client.limits.check(config.effective_values, record_bytes, key_bytes, topic_max_message_bytes)
