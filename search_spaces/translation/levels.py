"""The compression levels of one client, translated for the other one.

Source: `GzipCompression`, `Lz4Compression` and `ZstdCompression` of kafka-clients.
"""

from search_spaces.java_client.levels import FAST_LZ4
from search_spaces.librdkafka.levels import CODEC_LEVELS, DEFAULT_LEVELS, NO_LEVEL, STRONG_LZ4


def java_level(codec: str, level: int) -> int | None:
    """Return the Java client's level that comes closest to a level of librdkafka; None for the default level.

    Java has no gzip level 0 (no compression), and can't select lz4's strong compressor at level 9.
    """
    if level == NO_LEVEL or (codec, level) == ("gzip", 0):
        return None
    if codec == "lz4" and level < STRONG_LZ4:
        return FAST_LZ4
    if (codec, level) == ("lz4", FAST_LZ4):
        return FAST_LZ4 + 1
    return DEFAULT_LEVELS["zstd"] if (codec, level) == ("zstd", 0) else level


def librdkafka_level(codec: str, level: int) -> int | None:
    """Return librdkafka's level that comes closest to a level of the Java client; None for the default level."""
    if (codec, level) in {("gzip", NO_LEVEL), ("lz4", FAST_LZ4)}:
        return None
    if (codec, level) == ("zstd", 0):
        return DEFAULT_LEVELS["zstd"]
    lowest, highest = STRONG_LZ4 if codec == "lz4" else 1, CODEC_LEVELS[codec][1]
    return min(highest, max(lowest, level))
