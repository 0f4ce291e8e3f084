"""Producer configs: their properties, the rules between properties, the properties to search, and the file formats.

This package opens no connection to Kafka and does not depend on any search method.
"""

from search_spaces.client import Client, ClientKind, client_of, java, librdkafka
from search_spaces.client_facts.domains import Chooser, ParamValue
from search_spaces.configs.guarantee import DURABILITY, Guarantee
from search_spaces.configs.producer_config import ProducerConfig, check_record
from search_spaces.connection.connection_config import ConnectionConfig
from search_spaces.errors import (
    ConfigError,
    ConflictingSpellings,
    EmptySpace,
    InvalidKnob,
    InvalidValue,
    MisplacedProperty,
    PropertiesFileError,
    RuleBroken,
    UnknownClient,
    UnknownProperty,
)
from search_spaces.files.properties_file import format_properties, parse_pairs, parse_properties, read_properties
from search_spaces.properties.catalogue import Property, Role, Value, is_secret
from search_spaces.space.parameters import KnobChange
from search_spaces.space.search_space import SearchSpace
from search_spaces.translation.to_java import translate_to_java

__all__ = [
    "DURABILITY",
    "Chooser",
    "Client",
    "ClientKind",
    "ConfigError",
    "ConflictingSpellings",
    "ConnectionConfig",
    "EmptySpace",
    "Guarantee",
    "InvalidKnob",
    "InvalidValue",
    "KnobChange",
    "MisplacedProperty",
    "ParamValue",
    "ProducerConfig",
    "PropertiesFileError",
    "Property",
    "Role",
    "RuleBroken",
    "SearchSpace",
    "UnknownClient",
    "UnknownProperty",
    "Value",
    "check_record",
    "client_of",
    "format_properties",
    "is_secret",
    "java",
    "librdkafka",
    "parse_pairs",
    "parse_properties",
    "read_properties",
    "translate_to_java",
]
