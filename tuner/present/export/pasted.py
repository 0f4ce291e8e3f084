"""The properties of a recommended config that a user has to set."""

from contextlib import suppress

from search_spaces.client import ClientKind, java
from search_spaces.configs.producer_config import ProducerConfig
from search_spaces.errors import ConfigError
from search_spaces.files.pasting import to_paste
from search_spaces.translation.from_java import translate_from_java
from search_spaces.translation.to_java import for_java
from tuner.present.number_text import shown_value
from tuner.results.recommendations.recommendation import Recommendation


def pasted_values(
    recommendation: Recommendation, kind: ClientKind | None = None, *, everything: bool = False
) -> dict[str, str]:
    """Return the properties of a recommended config that a user has to set.

    Users may paste the properties into the baseline's file, so the result includes properties that only the baseline
    sets. A property is left out if the producer has the same value without it, both in that file and in an empty file.

    Args:
        recommendation: The recommendation.
        kind: The client that the properties are for; None for the client that was measured. For another client, the
            config and the baseline are translated.
        everything: Whether to return all properties of the config. A translation always has all of them.
    """
    config, file = recommendation.config, recommendation.baseline.values
    if kind is not None and kind is not config.client.kind:
        config, everything, file = _translated(config), True, {}
        with suppress(ConfigError):  # the baseline of an older study may break a rule that is newer
            file = _translated(recommendation.baseline.config()).values
    values = to_paste(config, file, everything=everything)
    return {name: shown_value(name, value) for name, value in values.items()}


def _translated(config: ProducerConfig) -> ProducerConfig:
    match config.client.kind:
        case ClientKind.LIBRDKAFKA:
            return ProducerConfig.parse(for_java(config).properties, java())
        case ClientKind.JAVA:
            return translate_from_java(config)[0]
