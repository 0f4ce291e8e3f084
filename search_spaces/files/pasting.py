"""Computes the properties to paste into a producer's file so that the producer runs with another config."""

from collections.abc import Mapping

from search_spaces.client import Client
from search_spaces.client_facts.rules import RuleOutcome
from search_spaces.configs.producer_config import ProducerConfig


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
