"""What the codecs of the simulated client cost and win, by level."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final


@dataclass(frozen=True, slots=True)
class Codec:
    """One codec.

    Attributes:
        found_ratio: Share of what can be compressed away that its lowest level finds.
        s_per_byte: Seconds that its lowest level takes for a byte of value, on one core.
        opening_s_per_byte: Seconds that the broker takes to open a byte of value again: it looks at every record.
        s_per_batch: Seconds that its state takes to set up for a batch.
        usual_level: The level that a client takes unasked.
        effort: By how much each level takes longer than the one before, as a factor.
        found_per_level_ratio: Share of what was left that each further level finds.
        quick_levels: How many levels cost the same as the lowest.
    """

    found_ratio: float
    s_per_byte: float
    opening_s_per_byte: float
    s_per_batch: float = 0.0
    usual_level: int = 1
    effort: float = 1.0
    found_per_level_ratio: float = 0.0
    quick_levels: int = 1

    def found(self, level: int | None) -> float:
        """The share of what can be compressed away that a level finds; None is the usual level."""
        return 1.0 - (1.0 - self.found_ratio) * (1.0 - self.found_per_level_ratio) ** self._steps(level)

    def cost_s(self, level: int | None) -> float:
        """Seconds for a byte of value; None is the usual level."""
        return self.s_per_byte * self.effort ** self._steps(level)

    def _steps(self, level: int | None) -> int:
        asked = self.usual_level if level is None else level
        return max(0, asked - self.quick_levels)


# Source: orders of magnitude of the codecs' own benchmarks (lzbench) for data of which a half is random; opening costs
# less than closing. What snappy, lz4 and zstd take to close was then fitted to our grid, as the embedded preset was.
CODECS: Final[Mapping[str, Codec]] = MappingProxyType(
    {
        "gzip": Codec(0.94, 11e-9, 1.6e-9, usual_level=6, effort=1.16, found_per_level_ratio=0.1),
        "snappy": Codec(0.86, 1.3e-9, 0.2e-9, usual_level=0),
        # librdkafka hands the level to lz4's frame functions: below 3 is the fast codec, from 3 the thorough one.
        "lz4": Codec(0.9, 0.4e-9, 0.08e-9, usual_level=0, effort=1.6, found_per_level_ratio=0.06, quick_levels=2),
        "zstd": Codec(0.95, 2.3e-9, 0.35e-9, 40e-6, usual_level=3, effort=1.25, found_per_level_ratio=0.06),
    }
)
