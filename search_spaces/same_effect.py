"""Whether two configs are the same to the client, although one spells out what the other leaves to defaults."""

from functools import lru_cache
from typing import Final

from search_spaces.catalogue import load_catalogue
from search_spaces.effective import Effective
from search_spaces.roles import Role
from search_spaces.rule_conditions import NO_LEVEL

# What a codec does at level -1. Source: RD_KAFKA_COMPLEVEL_*_DEFAULT of librdkafka, and zlib's own default for
# gzip; the tests compare the bytes sent.
DEFAULT_LEVELS: Final = {"gzip": 6, "lz4": 0, "zstd": 3}


def same_effect(one: Effective, other: Effective) -> bool:
    """Say whether all properties of the producer have the same value in force."""
    return all(spelt_out(one, name) == spelt_out(other, name) for name in _names())


def spelt_out(config: Effective, name: str) -> str:
    """Return the value in force; for a codec without a level, the level that it then has."""
    if name == "compression.level" and config.integer(name) == NO_LEVEL:
        return str(DEFAULT_LEVELS.get(config.text("compression.type"), NO_LEVEL))
    return config.text(name)


@lru_cache
def _names() -> tuple[str, ...]:
    return tuple(entry.name for entry in load_catalogue() if entry.role is Role.PRODUCER)
