"""The types `Knob` (a producer property that is worth searching, with its range) and `StartingPoint`.

The knobs of each client are in its folder.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Final

from search_spaces.client_facts.domains import Domain, WordList
from search_spaces.client_facts.effective_values import EffectiveValues
from search_spaces.client_facts.sizes import Sizes

IN_FLIGHT: Final = "max.in.flight.requests.per.connection"
QUEUING_STRATEGY: Final = "queuing.strategy"
IDEMPOTENCE: Final = "enable.idempotence"
THESIS: Final = "De Vos Meaker (2020), Analysing the Kafka Producer and Benchmarking its Performance"


class Stage(IntEnum):
    """The part of a search in which a knob is changed for the first time, if the search starts with few knobs.

    A few knobs bring most of the gain, and the search finds their best values sooner while all other knobs stay fixed.
    Source: Kanellis, Alagappan and Venkataraman (2020), Too Many Knobs to Tune?, HotStorage. Simulated clusters showed
    which knobs these are, see docs/evidence/search-methods.md.
    """

    FIRST = 0
    SECOND = 1
    LAST = 2


@dataclass(frozen=True, slots=True)
class Knob:
    """One knob of the producer.

    Attributes:
        name: Kafka's name of the property. If the client has one property for the levels of all codecs, the codec is
            appended.
        unit: The unit of the knob's numbers; "" for words and for counts without a unit.
        domain: Returns the values that the search may try, for given sizes of records and of the topic.
        searched: Returns whether the knob is searched by default, for given sizes and the baseline's values.
        source: How we know that the knob matters, and where its range comes from.
        stage: The part of the search in which the knob is changed for the first time. For a knob that the study file
            names, this is always the first part.
        codec: The codec whose compression level the knob is; "" for all other knobs.
    """

    name: str
    unit: str
    domain: Callable[[Sizes], Domain]
    searched: Callable[[Sizes, EffectiveValues], bool]
    source: str
    stage: Stage = Stage.FIRST
    codec: str = ""

    @property
    def sets(self) -> str:
        """The client's property that the knob sets."""
        return self.name.removesuffix(f".{self.codec}") if self.codec else self.name


def words(*values: str) -> WordList:
    """Return the domain (the values to choose from) that consists of these words, spelt as the client writes them."""
    return WordList(values, values)


def fixed(domain: Domain) -> Callable[[Sizes], Domain]:
    """Return a function that returns `domain` for all sizes."""
    return lambda _: domain


def always(_: Sizes, __: EffectiveValues) -> bool:
    """Return True: the knob is searched for all sizes and baselines."""
    return True


def on_request(_: Sizes, __: EffectiveValues) -> bool:
    """Return False: the knob is searched only if the study file names it."""
    return False


ACKS: Final = Knob(
    "acks",
    "",
    fixed(WordList(("0", "1", "all"), ("0", "1", "-1"))),
    always,
    f"{THESIS}, table 13: the most influential knob for the latency of records of 10 and 100 bytes",
)


@dataclass(frozen=True, slots=True)
class StartingPoint:
    """Changes to the baseline that a search tries first, because guides or measurements recommend them.

    Attributes:
        source: The guide or the measurement that recommends the changes.
        changes: The changed properties and their values, by Kafka's names.
    """

    source: str
    changes: Mapping[str, str]
