"""The findings and figures of a paper about the rows of an experiment."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from tuner.model.row import Row, RowValue

FEWEST_FOR_TREND: Final = 3
"""The smallest number of rows from which a trend is computed."""
EXPLAINED_RATIO: Final = 0.1
"""Largest relative difference at which a figure of a paper still counts as explained by an artefact."""


class Expectation(StrEnum):
    """How the values of some rows compare with those of others, according to a paper."""

    GREATER = "greater"
    SMALLER = "smaller"
    EQUAL = "equal"


class Artefact(StrEnum):
    """Why a figure of a paper is an artefact of the measurement, and does not show how Kafka behaves."""

    FULL_BUFFER = "full buffer"
    """The buffer is full, so a record waits for all records in it: their number divided by the throughput."""
    RATE_CAP = "rate cap"
    """The rate is the limit that was given to the tool that sent the records."""
    ONE_PAYLOAD = "one payload"
    """All records had the same payload. A codec removes nearly all of it, so almost nothing was sent."""
    LOCAL_HAND_OFF = "local hand-off"
    """With acks=0, the latency ends when the client has written the request to its socket."""
    REPLICAS_BEHIND = "replicas behind"
    """The acknowledged rate is higher than what the brokers' network can replicate, so the replicas fell behind."""
    FOLLOWS_THE_RATE = "follows the rate"
    """A total differs only because the rate differs. For each record, it is equal or differs in the other direction."""
    TWO_CHANGES = "two changes"
    """Two settings differ between the runs that are compared."""
    COARSE_CLOCK = "coarse clock"
    """The figures are whole milliseconds, and the effect is about as large."""


@dataclass(frozen=True, slots=True)
class SuspectedArtefact:
    """A figure of a paper that is probably an artefact of the measurement.

    Attributes:
        kind: The effect that the figure shows instead of Kafka's behaviour.
        because: The calculation or the fact from which this follows, in one sentence.
        paper_value: The paper's figure; None if the reason has no figures.
        explained_by: The value to expect if the paper's figure is an artefact; None if the reason has no figures.
    """

    kind: Artefact
    because: str
    paper_value: float | None = None
    explained_by: float | None = None

    @property
    def explains(self) -> bool:
        """Whether the figure is within 10 % of the value that the artefact would give; true without figures."""
        if self.paper_value is None or self.explained_by is None:
            return True
        return abs(self.paper_value / self.explained_by - 1) <= EXPLAINED_RATIO


@dataclass(frozen=True, slots=True)
class Comparison:
    """The ratio of a metric between two rows, or between a row and a limit.

    Attributes:
        of: Settings that select the row of the numerator.
        over: Settings that select the row of the denominator; None if the denominator is `limit`.
        limit: The denominator, if `over` is None.
        paper_ratio: The ratio in the paper; None if the paper gives none.
        along: A setting whose values are numbers. If it is given, `of` selects several rows, and a line is fitted to
            their metric over this setting. The ratio is then the line's value at the largest number, divided by its
            value at the smallest. Empty if `of` selects one row.
    """

    of: Mapping[str, RowValue]
    over: Mapping[str, RowValue] | None
    limit: float | None = None
    paper_ratio: float | None = None
    along: str = ""


@dataclass(frozen=True, slots=True)
class Finding:
    """A finding of a paper that the experiment's rows can confirm or refute.

    Attributes:
        id: A short name, unique within the experiment.
        claim: The finding, in one sentence.
        source: Page, section or table of the paper.
        metric: The metric that is compared.
        comparisons: What is compared; at least one. The finding holds if all comparisons come out as expected.
        expect: The relation of the rows according to the paper.
        tolerance: For `Expectation.EQUAL`, the largest relative difference that still counts as equal.
        artefact: Why the paper's figure is probably an artefact; None if there is no reason to doubt it.
    """

    id: str
    claim: str
    source: str
    metric: str
    comparisons: tuple[Comparison, ...]
    expect: Expectation
    tolerance: float = 0.1
    artefact: SuspectedArtefact | None = None

    def comparisons_among(self, rows: Sequence[Row]) -> tuple[Comparison, ...]:
        """Return the comparisons that these rows allow. The quick version of an experiment may leave rows out."""

        def has(selected: Mapping[str, RowValue] | None) -> bool:
            return selected is None or any(row.matches(selected) for row in rows)

        return tuple(each for each in self.comparisons if has(each.of) and has(each.over))


@dataclass(frozen=True, slots=True)
class PaperValue:
    """The values that a paper measured for a row.

    Attributes:
        row: Settings that select the row.
        values: The paper's values by metric.
        source: Page, section or table of the paper.
    """

    row: Mapping[str, RowValue]
    values: Mapping[str, float]
    source: str
