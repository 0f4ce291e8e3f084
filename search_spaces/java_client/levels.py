"""The compression levels of the Java client."""

from typing import Final

from search_spaces.client_facts.effective import Effective

FAST_LZ4: Final = 9
"""The level that selects lz4's fast compressor, and the default. All others select the strong one."""
# -1 stands for zlib's own default. Source: GzipCompression of kafka-clients.
_ZLIB_DEFAULT: Final = "6"


def spelt_out(config: Effective, name: str) -> str:
    """Return a property's value in force, as text; the level of a codec that the config does not use is ""."""
    value = config.text(name)
    if not (name.startswith("compression.") and name.endswith(".level")):
        return value
    if name.split(".")[1] != config.text("compression.type"):
        return ""
    return _ZLIB_DEFAULT if name == "compression.gzip.level" and value == "-1" else value
