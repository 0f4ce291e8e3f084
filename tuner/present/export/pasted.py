"""The properties that a user has to paste into a producer's file, for any config and for a recommended one."""

from collections.abc import Mapping
from contextlib import suppress

from search_spaces.client import Client, ClientKind, java
from search_spaces.client_facts.rules import RuleOutcome
from search_spaces.configs.producer_config import ProducerConfig
from search_spaces.errors import ConfigError
from search_spaces.properties.catalogue import shown_value
from search_spaces.translation.from_java import translate_from_java
from search_spaces.translation.to_java import for_java
from tuner.results.recommendations.recommendation import Recommendation


def to_paste(config: ProducerConfig, file: Mapping[str, str], *, everything: bool = False) -> dict[str, str]:
    """Return the properties that give a producer this config, by themselves and after the properties of a file.

    A property that the file sets and the config does not is written with its effective value in the config. Levels of
    codecs that the config does not use, and other properties without an effect, stay as the file has them. A property
    that has an effect in the config, but none in the file, is always written, because the file may set it to a value
    that was ignored when the file was read.

    Args:
        config: The config that the producer should have.
        file: The properties of the file: canonical values by canonical name.
        everything: Whether to return all properties of the config, also those that have the client's default.
    """
    client, wanted, values = config.client, config.effective_values, config.values
    without_effect = {
        rule.idle
        for rule in client.rules
        if rule.idle in file and rule.broken(client.effective_values({**file, **values}))
    }
    names = [name for name in client.producer_names if wanted.text(name) and name not in without_effect]

    def missing(given: Mapping[str, str]) -> dict[str, str]:
        found = client.effective_values(given)
        return {name: wanted.text(name) for name in names if found.text(name) != wanted.text(name)}

    while added := missing({**file, **values}):
        values |= added
    now_effective = {
        name: wanted.text(name) for name in _ignored(client, file) - _ignored(client, values) if name in names
    }
    values |= now_effective
    for name in [
        name for name in values if name not in now_effective and (not everything or name not in config.values)
    ]:
        without = {each: value for each, value in values.items() if each != name}
        if all(not missing(given) and not client.broken_rules(given) for given in (without, {**file, **without})):
            values = without
    return values


def _ignored(client: Client, values: Mapping[str, str]) -> set[str]:
    """Return the properties that have no effect together with these values, whether they are set or not."""
    rules = [rule for rule in client.rules if rule.outcome is RuleOutcome.IGNORED and rule.idle]
    defaults = client.effective_values(values)
    return {
        rule.idle
        for rule in rules
        if rule.broken(client.effective_values({**values, rule.idle: defaults.text(rule.idle)})) is not None
    }


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
