"""The compression levels of librdkafka."""

from typing import Final

from search_spaces.client_facts.effective_values import EffectiveValues

# The lowest and highest level of every codec. Source: the description of compression.level in librdkafka 2.16.0. The
# property's own range ends at 12, so zstd's higher levels are out of reach.
CODEC_LEVELS: Final = {"gzip": (0, 9), "lz4": (0, 12), "zstd": (0, 12)}
NO_LEVEL: Final = -1
# The level that a codec uses when compression.level is -1. Source: RD_KAFKA_COMPLEVEL_*_DEFAULT of librdkafka, and
# zlib's own default for gzip. The tests compare the number of bytes that the client sends.
DEFAULT_LEVELS: Final = {"gzip": 6, "lz4": 0, "zstd": 3}
STRONG_LZ4: Final = 3
"""The lowest level of lz4's strong compressor (LZ4 HC). All levels below select the fast one."""


def is_default_level(codec: str, level: int) -> bool:
    """Return whether a value of `compression.level` stands for the codec's default level; for zstd, 0 does, too."""
    return level == NO_LEVEL or (codec, level) == ("zstd", 0)


def spelt_out(config: EffectiveValues, name: str) -> str:
    """Return a property's effective value, as text; `compression.level=-1` is replaced by the codec's default level."""
    if name == "compression.level" and config.integer(name) == NO_LEVEL:
        return str(DEFAULT_LEVELS.get(config.text("compression.type"), NO_LEVEL))
    return config.text(name)
