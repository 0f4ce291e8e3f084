"""The compression levels that librdkafka uses by default."""

from typing import Final

from search_spaces.client_facts.effective import Effective
from search_spaces.librdkafka.rules import NO_LEVEL

# The level that a codec uses when compression.level is -1. Source: RD_KAFKA_COMPLEVEL_*_DEFAULT of librdkafka, and
# zlib's own default for gzip. The tests compare the number of bytes that the client sends.
DEFAULT_LEVELS: Final = {"gzip": 6, "lz4": 0, "zstd": 3}


def spelt_out(config: Effective, name: str) -> str:
    """Return a property's value in force, as text; `compression.level=-1` is replaced by the codec's default level."""
    if name == "compression.level" and config.integer(name) == NO_LEVEL:
        return str(DEFAULT_LEVELS.get(config.text("compression.type"), NO_LEVEL))
    return config.text(name)
