"""The knobs of librdkafka's producer that are worth searching, their ranges, and the starting points of a search."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Final

from search_spaces.domains import Domain, Range, Words
from search_spaces.effective import Effective
from search_spaces.record_size import QUEUE_KBYTES, QUEUE_MESSAGES, Sizes
from search_spaces.rules import CODEC_LEVELS

IN_FLIGHT: Final = "max.in.flight.requests.per.connection"
IDEMPOTENCE: Final = "enable.idempotence"
LEVEL: Final = "compression.level"

# Memory that a queued record needs besides its key and value. Measured with 2.16.0: the resident memory of a process
# grew by 241 bytes per record with 400,000 queued records of 10 bytes, and by 1,216 with 100,000 of 1,000 bytes.
_QUEUED_RECORD_BYTES: Final = 232
_LEAST_QUEUED: Final = 1_000
_MOST_QUEUED: Final = 2_000_000
_RANDOM_PARTITIONERS: Final = ("random", "consistent_random", "murmur2_random", "fnv1a_random")

_THESIS: Final = "De Vos Meaker (2020), Analysing the Kafka Producer and Benchmarking its Performance"
_MANUAL: Final = "librdkafka 2.16 CONFIGURATION.md"
_INTRODUCTION: Final = "librdkafka's INTRODUCTION.md"


class Stage(IntEnum):
    """The part of a search in which a knob is changed for the first time, if the search starts with few knobs.

    A few knobs bring most of the gain, and the search finds their best values sooner while all other knobs stay fixed.
    Source: Kanellis, Alagappan and Venkataraman (2020), Too Many Knobs to Tune?, HotStorage. Simulated clusters showed
    which knobs these are, see docs/evidence/search.md.
    """

    FIRST = 0
    SECOND = 1
    LAST = 2


@dataclass(frozen=True, slots=True)
class Knob:
    """One knob of the producer.

    Attributes:
        name: Kafka's name of the property; for a compression level, the codec is appended.
        unit: The unit of the knob's numbers; "" for words and for counts without a unit.
        domain: Returns the values that the search may try, for given sizes of records and of the topic.
        searched: Returns whether the knob is searched by default, for given sizes and the baseline's values.
        source: How we know that the knob matters, and where its range comes from.
        stage: The part of the search in which the knob is changed for the first time. For a knob that the study file
            names, this is always the first part.
    """

    name: str
    unit: str
    domain: Callable[[Sizes], Domain]
    searched: Callable[[Sizes, Effective], bool]
    source: str
    stage: Stage = Stage.FIRST

    @property
    def sets(self) -> str:
        """The client's property that the knob sets."""
        return LEVEL if self.name.startswith(f"{LEVEL}.") else self.name


def words(*values: str) -> Words:
    """Return the domain (the values to choose from) that consists of these words, spelt as the client writes them."""
    return Words(values, values)


def _fixed(domain: Domain) -> Callable[[Sizes], Domain]:
    return lambda _: domain


def _always(_: Sizes, __: Effective) -> bool:
    return True


def _on_request(_: Sizes, __: Effective) -> bool:
    return False


def _capacity(sizes: Sizes, batch_bytes: int) -> int:
    return max(1, math.ceil(batch_bytes / sizes.in_batch_bytes))


def _queue_kbytes(sizes: Sizes) -> Range:
    least = math.ceil(sizes.message_bytes / 1024)
    high = max(least, sizes.queue_memory_bytes // 1024)
    return Range(max(least, min(high, math.ceil(sizes.batch_high_bytes / 1024))), high, log=True)


def _queue_messages(sizes: Sizes) -> Range:
    queued_bytes = sizes.record_bytes + sizes.key_bytes + _QUEUED_RECORD_BYTES
    high = max(1, min(_MOST_QUEUED, sizes.queue_memory_bytes // queued_bytes))
    return Range(min(_LEAST_QUEUED, high), high, log=True)


def _level(codec: str, low: int, source: str) -> Knob:
    domain = Range(low, CODEC_LEVELS[codec][1])
    return Knob(f"{LEVEL}.{codec}", "", _fixed(domain), _always, source, Stage.LAST)


# In the order in which they are drawn: a knob that bounds another comes first (see `search_spaces.dependencies`).
KNOBS: Final = (
    Knob(
        "acks",
        "",
        _fixed(Words(("0", "1", "all"), ("0", "1", "-1"))),
        _always,
        f"{_THESIS}, table 13: the most influential knob for the latency of records of 10 and 100 bytes",
    ),
    Knob(
        IDEMPOTENCE,
        "",
        _fixed(words("false", "true")),
        _always,
        f"{_INTRODUCTION}, Idempotent Producer: no duplicates, order kept, at most 5 requests in flight",
        Stage.LAST,
    ),
    Knob(
        IN_FLIGHT,
        "requests",
        _fixed(Range(1, 100, log=True, special=1_000_000, reach=160)),
        _always,
        f"{_THESIS}, 5.2.3: 1 costs throughput but lowers the latency of small records; {_MANUAL}: 1,000,000: no limit",
        Stage.LAST,
    ),
    Knob(
        QUEUE_KBYTES,
        "KiB",
        _queue_kbytes,
        lambda sizes, baseline: not sizes.messages_bind(baseline),
        f"{_THESIS}, tables 5 and 6: under full load, latency is the time in the buffer; {_MANUAL}: its limit in bytes",
        Stage.SECOND,
    ),
    Knob(
        "message.max.bytes",
        "bytes",
        lambda sizes: Range(max(1_000, sizes.message_bytes), sizes.batch_high_bytes, log=True),
        _on_request,
        f"{_MANUAL}; unless it is searched, it is raised as far as batch.size and the record need",
    ),
    Knob(
        QUEUE_MESSAGES,
        "records",
        _queue_messages,
        lambda sizes, baseline: sizes.messages_bind(baseline),
        f"{_THESIS}, tables 5 and 6: under full load, latency is the time in the buffer; {_MANUAL}: importance high",
        Stage.SECOND,
    ),
    Knob(
        "batch.size",
        "bytes",
        lambda sizes: Range(sizes.batch_low_bytes, sizes.batch_high_bytes, log=True),
        lambda sizes, _: sizes.several_in_batch,
        f"{_THESIS}, tables 8 to 12: best at 100 to 1,000 records per batch; at most the topic's max.message.bytes",
    ),
    Knob(
        "batch.num.messages",
        "records",
        lambda sizes: Range(
            _capacity(sizes, sizes.batch_low_bytes), _capacity(sizes, sizes.batch_high_bytes), log=True
        ),
        # For larger records, a batch reaches batch.size before it reaches this count.
        lambda sizes, baseline: (
            baseline.integer("batch.num.messages") * sizes.in_batch_bytes < sizes.batch_high_bytes
            and sizes.several_in_batch
        ),
        f"{_INTRODUCTION}, High throughput: a batch is full at this count or at batch.size, whichever comes first",
    ),
    Knob(
        "linger.ms",
        "ms",
        _fixed(Range(0.05, 100, whole=False, log=True, special=0, reach=0.02)),
        _always,
        f"{_INTRODUCTION}, Performance: the single most important property; {_THESIS}, 5.2.2: 10 ms is better than 0",
    ),
    Knob(
        "sticky.partitioning.linger.ms",
        "ms",
        # The client's default is twice linger.ms, so this goes up to twice the longest linger.
        _fixed(Range(0, 200)),
        lambda sizes, baseline: (
            sizes.partitions > 1 and sizes.key_bytes == 0 and baseline.text("partitioner") in _RANDOM_PARTITIONERS
        ),
        f"{_MANUAL}: how long records without a key stay on one partition; a longer stay fills batches better",
    ),
    Knob(
        "compression.type",
        "",
        _fixed(words("none", "gzip", "snappy", "lz4", "zstd")),
        _always,
        f"{_INTRODUCTION}, Compression: uses the client's CPU to save bytes on the network and on disk",
    ),
    # Level 0 is left out for gzip, where it means "do not compress", and for zstd, where it means the default level.
    _level("gzip", 1, f"{_MANUAL}, compression.level: 0 to 9"),
    _level("lz4", 0, f"{_MANUAL}, compression.level: 0 to 12"),
    _level("zstd", 1, f"{_MANUAL}, compression.level: 0 to 12, where 0 means zstd's own default of 3"),
    Knob(
        "socket.send.buffer.bytes",
        "bytes",
        _fixed(Range(65_536, 8_388_608, log=True, special=0, reach=40_000)),
        _on_request,
        f"{_MANUAL}: 0 lets the operating system adapt the size; matters on fast networks with long round trips",
    ),
    Knob(
        "socket.nagle.disable",
        "",
        _fixed(words("true", "false")),
        _on_request,
        f"{_MANUAL}: false lets TCP delay small requests until earlier ones are acknowledged",
    ),
)
LEVEL_KNOBS: Final = tuple(knob.name for knob in KNOBS if knob.sets == LEVEL)


@dataclass(frozen=True, slots=True)
class StartingPoint:
    """Changes to the baseline that a search tries first, because guides or measurements recommend them.

    Attributes:
        source: The guide or the measurement that recommends the changes.
        changes: The changed properties and their values, by Kafka's names.
    """

    source: str
    changes: Mapping[str, str]


STARTING_POINTS: Final = (
    StartingPoint(
        "measured on 2 cores at 20,000 records of 1 kB per second: p99 2 ms, against 7 to 9 ms with the defaults",
        {"linger.ms": "0.5", "compression.type": "lz4"},
    ),
    StartingPoint(
        "librdkafka's INTRODUCTION.md, High throughput: wait for larger batches, which also compress better",
        {"linger.ms": "20", "compression.type": "lz4"},
    ),
    StartingPoint(
        "librdkafka's INTRODUCTION.md, High throughput: a queue for more records than the default of 100,000",
        {"linger.ms": "10", "queue.buffering.max.messages": "500000"},
    ),
    StartingPoint(
        "librdkafka's INTRODUCTION.md, Low latency: hardly wait for a batch to fill",
        {"linger.ms": "1"},
    ),
)
