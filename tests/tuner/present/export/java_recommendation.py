"""A recommendation of a study of the Java client, and what is read back from its forms."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import yaml

from search_spaces.client import java
from search_spaces.configs.guarantee import Guarantee
from search_spaces.configs.producer_config import ProducerConfig
from search_spaces.files.properties_file import parse_properties
from tuner.model.trial import Trial
from tuner.results.recommendations.recommendation import Recommendation


def of_java(found: Recommendation, values: Mapping[str, str], version: str | None = None) -> Recommendation:
    """Return the recommendation as if these values of the Java client had been measured."""
    client = java(version)

    def measured(trial: Trial, given: Mapping[str, str]) -> Trial:
        config = ProducerConfig.parse(given, client)
        return replace(
            trial,
            client=client.identity,
            values=config.values,
            fingerprint=config.fingerprint,
            guarantee=str(Guarantee.of(config)),
        )

    return replace(found, trial=measured(found.trial, values), baseline=measured(found.baseline, {}))


def entries_of(text: str) -> dict[str, str]:
    """Return the keys and values of a form in the order of the text: of a properties file, or the innermost of YAML."""
    if "\nspring:" not in text and "\nkind:" not in text:
        return parse_properties(text)
    found: Any = yaml.safe_load(text)
    while any(isinstance(value, dict) for value in found.values()):
        (found,) = (value for value in found.values() if isinstance(value, dict))
    assert all(isinstance(value, str) for value in found.values())
    return dict(found)
