"""What the lines of a producer's properties file mean at a record size and a rate."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from search_spaces.amounts import rate_text, time_text
from search_spaces.client_facts.knobs import IN_FLIGHT
from search_spaces.errors import InvalidValue, RuleBroken
from search_spaces.lint.entries import Entries
from search_spaces.lint.findings import About, LintFinding, LintLevel

MOST_RECORD_BYTES: Final = 2**31 - 1
LEAST_RATE_RECORDS_PER_S: Final = 0.001
MOST_LINTED_RATE_RECORDS_PER_S: Final = 1e9
# librdkafka's default of a million requests in flight stands for no limit.
_NO_LIMIT_IN_FLIGHT: Final = 1_000
_BUSY_S: Final = 0.001
"""How long the client's thread is assumed to be busy at a time. Records gather meanwhile, even without linger."""


@dataclass(frozen=True, slots=True)
class LintLoad:
    """The records that a producer sends.

    Attributes:
        record_bytes: Size of a record's value, in bytes.
        rate_records_per_s: How many records it sends per second; None if that is not known.

    Raises:
        InvalidValue: A number is out of range.
    """

    record_bytes: int
    rate_records_per_s: float | None = None

    def __post_init__(self) -> None:
        if not 1 <= self.record_bytes <= MOST_RECORD_BYTES:
            raise InvalidValue("the record size", f"1 to {MOST_RECORD_BYTES:,} bytes", self.record_bytes)
        rate = self.rate_records_per_s
        if rate is not None and not LEAST_RATE_RECORDS_PER_S <= rate <= MOST_LINTED_RATE_RECORDS_PER_S:
            raise InvalidValue(
                "the rate",
                f"{LEAST_RATE_RECORDS_PER_S} to {MOST_LINTED_RATE_RECORDS_PER_S:,.0f} records per second",
                rate,
            )


@dataclass(frozen=True, slots=True)
class _Batch:
    """How batches fill, if all records go to one partition and the broker keeps up.

    Attributes:
        limit: The property that a full batch reaches first.
        room: How many records a full batch holds.
        linger_s: How long a record waits for others, in seconds.
        rate_records_per_s: Records per second.
    """

    limit: str
    room: int
    linger_s: float
    rate_records_per_s: float

    @property
    def full_after_s(self) -> float:
        """How long after its first record a batch is full."""
        return (self.room - 1) / self.rate_records_per_s

    def gathered(self, wait_s: float) -> int:
        """Return how many records come together in this time, from the first one on."""
        return 1 + math.floor(self.rate_records_per_s * wait_s)

    def share(self, wait_s: float) -> str:
        """Return in words which part of a full batch comes together in this time."""
        percent = 100 * self.gathered(wait_s) / self.room
        return f"{percent:.0f} %" if percent >= 1 else "less than 1 %"


def meanings(entries: Entries, load: LintLoad) -> Iterator[LintFinding]:
    """Yield what the lines mean for these records, one finding for each line that matters."""
    limits = entries.client.limits
    try:
        limits.check(entries.effective_values, load.record_bytes, None, None)
    except RuleBroken as error:
        name = next(each for each in (limits.queue, limits.largest_message) if each in str(error))
        yield entries.finding(LintLevel.ERROR, About.LOAD, name, str(error))
        return
    batch = limits.batch_holds(entries.effective_values, load.record_bytes)
    queue = limits.queue_holds(entries.effective_values, load.record_bytes)
    for holds in (batch, queue):
        yield from _never_reached(entries, holds, load)
    if load.rate_records_per_s is None:
        yield _load_hint(entries, _first(batch), f"a full batch holds {_records(batch[_first(batch)], load)}")
        yield _load_hint(entries, _first(queue), f"the queue holds {_records(queue[_first(queue)], load)}")
        return
    yield from _batches(entries, load, batch, load.rate_records_per_s)
    yield _queued(entries, load, queue, load.rate_records_per_s)


def _first(holds: Mapping[str, int]) -> str:
    """Return the property that allows the fewest records."""
    return min(holds, key=holds.__getitem__)


def _never_reached(entries: Entries, holds: Mapping[str, int], load: LintLoad) -> Iterator[LintFinding]:
    """Yield a finding for each given property that limits nothing, because another one is reached first."""
    first = _first(holds)
    for name, records in holds.items():
        if name in entries.values and records > holds[first]:
            value = entries.effective_values.text(first)
            sentence = f"does nothing: {first}={value} is reached first, at {_records(holds[first], load)}"
            yield entries.finding(LintLevel.HINT, About.IDLE, name, sentence)


def _batches(entries: Entries, load: LintLoad, holds: Mapping[str, int], rate: float) -> Iterator[LintFinding]:
    limit = _first(holds)
    batch = _Batch(limit, holds[limit], entries.effective_values.number("linger.ms") / 1e3, rate)
    yield _batch_line(entries, load, batch)
    yield _linger_line(entries, load, batch)
    in_flight = entries.effective_values.integer(IN_FLIGHT)
    if IN_FLIGHT in entries.spellings and in_flight < _NO_LIMIT_IN_FLIGHT:
        longest = time_text(in_flight * batch.room / rate)
        sentence = (
            f"{rate_text(rate)} can go to one partition as long as the broker answers each request within {longest}"
        )
        yield _load_hint(entries, IN_FLIGHT, sentence)


def _batch_line(entries: Entries, load: LintLoad, batch: _Batch) -> LintFinding:
    full = f"a full batch holds {_records(batch.room, load)}"
    if batch.room == 1:
        return _load_hint(entries, batch.limit, full)
    wait_s = max(_BUSY_S, batch.linger_s)
    gathered = batch.gathered(wait_s)
    if gathered >= batch.room:
        after = f"{time_text(batch.full_after_s)} at {rate_text(batch.rate_records_per_s)}"
        return _load_hint(entries, batch.limit, f"{full}, which come together in {after}")
    sentence = (
        f"{full}, but at most {gathered:,} ({batch.share(wait_s)}) come together in {time_text(wait_s)} at "
        f"{rate_text(batch.rate_records_per_s)}, unless the broker falls behind"
    )
    if batch.limit in entries.spellings:
        sentence = f"does nothing, as no batch gets so large: {sentence}"
        return entries.finding(LintLevel.HINT, About.IDLE, batch.limit, sentence)
    return _load_hint(entries, batch.limit, sentence)


def _linger_line(entries: Entries, load: LintLoad, batch: _Batch) -> LintFinding:
    gathered = batch.gathered(batch.linger_s)
    if batch.room == 1:
        sentence = "does nothing: a batch is full with one record"
    elif not batch.linger_s:
        between = time_text(1 / batch.rate_records_per_s)
        sentence = f"a batch leaves as soon as the client can send it; a record comes every {between}"
    elif gathered >= batch.room:
        sentence = (
            f"no batch waits this long: it is full after {time_text(batch.full_after_s)} at "
            f"{rate_text(batch.rate_records_per_s)}; with keys, each partition has only a part of the rate"
        )
    else:
        sentence = (
            f"fills {batch.share(batch.linger_s)} of a batch: {_records(gathered, load)} of {batch.room:,} at "
            f"{rate_text(batch.rate_records_per_s)}, and the first of them waits {time_text(batch.linger_s)}"
        )
    return _load_hint(entries, "linger.ms", sentence)


def _queued(entries: Entries, load: LintLoad, holds: Mapping[str, int], rate: float) -> LintFinding:
    name = _first(holds)
    lasts = time_text(holds[name] / rate)
    sentence = (
        f"the queue holds {_records(holds[name], load)}, enough for {lasts} at {rate_text(rate)} if no broker "
        f"responds; then {entries.client.limits.when_full}"
    )
    return _load_hint(entries, name, sentence)


def _load_hint(entries: Entries, name: str, sentence: str) -> LintFinding:
    return entries.finding(LintLevel.HINT, About.LOAD, name, sentence)


def _records(number: int, load: LintLoad) -> str:
    return f"{number:,} record{'' if number == 1 else 's'} of {load.record_bytes:,} B"
