"""The compression levels of the Java client."""

from typing import Final

from search_spaces.client_facts.effective_values import EffectiveValues
from search_spaces.java_client.versions import Minor

LEVELS_SINCE: Final[Minor] = (3, 8)
"""The first version with levels. Source: KIP-390."""
LEVEL_PROPERTIES: Final = {codec: f"compression.{codec}.level" for codec in ("gzip", "lz4", "zstd")}
"""The property that sets the level of each codec that has levels."""
FAST_LZ4: Final = 9
"""The level that selects lz4's fast compressor, and the default. All others select the strong one."""
# -1 stands for zlib's own default. Source: GzipCompression of kafka-clients.
_ZLIB_DEFAULT: Final = "6"


def spelt_out(config: EffectiveValues, name: str) -> str:
    """Return a property's effective value, as text; the level of a codec that the config does not use is ""."""
    value = config.text(name)
    if name not in LEVEL_PROPERTIES.values():
        return value
    codec = config.text("compression.type")
    if name != LEVEL_PROPERTIES.get(codec):
        return ""
    return _ZLIB_DEFAULT if codec == "gzip" and value == "-1" else value
