"""What a metric is: one number of a trial, with its unit, its better direction and the places that show it."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Final

from runners.measurement import Measurement, Window

SATURATED: Final = "saturated_"
"""Before the name of a latency that was taken under saturation."""


class Direction(Enum):
    """Which way is better."""

    MAXIMIZE = "maximize"
    MINIMIZE = "minimize"


class ShownIn(Enum):
    """Where a metric is shown whatever a study optimises; what it optimises is shown in all of these places."""

    MEASUREMENT = "the JSON record of a single measurement"
    COMPARISONS = "gains over the baseline: confirmations, verifications, explanations, the table of the front"
    TABLES = "tables of a config's numbers"
    MLFLOW = "metrics of a trial's run in MLflow"


@dataclass(frozen=True, slots=True)
class Metric:
    """One number of a trial.

    Attributes:
        name: With its unit at the end.
        label: The name in words, without the unit.
        unit: For people; empty where there is none.
        direction: Which way is better.
        meaning: One sentence for people.
        read: Takes it from a phase's measurement; None where the measurement does not know it.
        read_window: Takes it from one window of the phase; None where windows don't tell of it.
        paced: Whether it comes from the paced phase; else from the saturating one.
        worst_phase: Whether it comes from both phases instead, and the lower value counts.
        needs_acknowledgement: Whether it means anything only where brokers answer (acks other than 0).
        shown: Where it is always shown.
    """

    name: str
    label: str
    unit: str
    direction: Direction
    meaning: str
    read: Callable[[Measurement], float | None]
    read_window: Callable[[Window], float | None] | None = None
    paced: bool = False
    worst_phase: bool = False
    needs_acknowledgement: bool = False
    shown: frozenset[ShownIn] = frozenset()

    @property
    def title(self) -> str:
        """The name in words with the unit: `latency p99, ms`."""
        named = f"{self.label}, {self.unit}" if self.unit else self.label
        return f"{named} with a full queue" if self.name.startswith(SATURATED) else named

    def value_in(self, seen: Measurement) -> float | None:
        """The value that a trial may be judged by.

        None where the measurement does not know it, and for a latency with acks=0: what was timed then is the hand-off
        to the local socket.
        """
        if self.needs_acknowledgement and seen.latency_is_local:
            return None
        return self.read(seen)
