"""The knobs of librdkafka's producer that are worth searching, their ranges, and the starting points of a search."""

import math
from typing import Final

from search_spaces.client_facts.domains import Range
from search_spaces.client_facts.effective_values import EffectiveValues
from search_spaces.client_facts.knobs import (
    ACKS,
    IDEMPOTENCE,
    IN_FLIGHT,
    THESIS,
    Knob,
    Stage,
    StartingPoint,
    always,
    fixed,
    on_request,
    words,
)
from search_spaces.client_facts.record_format import CODECS
from search_spaces.client_facts.sizes import Sizes
from search_spaces.librdkafka.levels import CODEC_LEVELS
from search_spaces.librdkafka.limits import QUEUE_KBYTES, QUEUE_MESSAGES, QUEUED_RECORD_BYTES

LEVEL_PROPERTY: Final = "compression.level"

_LEAST_QUEUED_RECORDS: Final = 1_000
_MOST_QUEUED_RECORDS: Final = 2_000_000
_MOST_BATCH_RECORDS: Final = 1_000_000
"""The highest `batch.num.messages` that the client accepts. Source: librdkafka 2.16 CONFIGURATION.md."""
RANDOM_PARTITIONERS: Final = ("random", "consistent_random", "murmur2_random", "fnv1a_random")
"""The values of `partitioner` that spread records without a key over all partitions."""

_MANUAL: Final = "librdkafka 2.16 CONFIGURATION.md"
_INTRODUCTION: Final = "librdkafka's INTRODUCTION.md"


def _batch_records(sizes: Sizes, batch_bytes: int) -> int:
    """Return the least `batch.num.messages` with which a batch can reach a size."""
    return max(1, min(_MOST_BATCH_RECORDS, math.ceil(batch_bytes / sizes.in_batch_bytes)))


def _messages_bind(sizes: Sizes, baseline: EffectiveValues) -> bool:
    """Return whether the client's queue reaches its limit on records before its limit on bytes."""
    messages = baseline.integer(QUEUE_MESSAGES)
    return messages > 0 and messages * sizes.record_bytes <= baseline.integer(QUEUE_KBYTES) * 1024


def _queue_kbytes(sizes: Sizes) -> Range:
    least = math.ceil(sizes.message_bytes / 1024)
    high = max(least, sizes.queue_memory_bytes // 1024)
    return Range(max(least, min(high, math.ceil(sizes.batch_high_bytes / 1024))), high, log=True)


def _queue_messages(sizes: Sizes) -> Range:
    queued_bytes = sizes.record_bytes + sizes.key_bytes + QUEUED_RECORD_BYTES
    high = max(1, min(_MOST_QUEUED_RECORDS, sizes.queue_memory_bytes // queued_bytes))
    return Range(min(_LEAST_QUEUED_RECORDS, high), high, log=True)


def _level(codec: str, low: int, source: str) -> Knob:
    domain = Range(low, CODEC_LEVELS[codec][1])
    return Knob(f"{LEVEL_PROPERTY}.{codec}", "", fixed(domain), always, source, Stage.LAST, codec)


# In the order in which they are drawn: a knob that bounds another comes first (see `search_spaces.space.dependencies`).
KNOBS: Final = (
    ACKS,
    Knob(
        IDEMPOTENCE,
        "",
        fixed(words("false", "true")),
        always,
        f"{_INTRODUCTION}, Idempotent Producer: no duplicates, order kept, at most 5 requests in flight",
        Stage.LAST,
    ),
    Knob(
        IN_FLIGHT,
        "requests",
        fixed(Range(1, 100, log=True, special=1_000_000, reach=160)),
        always,
        f"{THESIS}, 5.2.3: 1 costs throughput but lowers the latency of small records; {_MANUAL}: 1,000,000: no limit",
        Stage.LAST,
    ),
    Knob(
        QUEUE_KBYTES,
        "KiB",
        _queue_kbytes,
        lambda sizes, baseline: not _messages_bind(sizes, baseline),
        f"{THESIS}, tables 5 and 6: under full load, latency is the time in the buffer; {_MANUAL}: its limit in bytes",
        Stage.SECOND,
    ),
    Knob(
        "message.max.bytes",
        "bytes",
        lambda sizes: Range(max(1_000, sizes.message_bytes), sizes.batch_high_bytes, log=True),
        on_request,
        f"{_MANUAL}; unless it is searched, it is raised as far as batch.size and the record need",
    ),
    Knob(
        QUEUE_MESSAGES,
        "records",
        _queue_messages,
        lambda sizes, baseline: _messages_bind(sizes, baseline),
        f"{THESIS}, tables 5 and 6: under full load, latency is the time in the buffer; {_MANUAL}: importance high",
        Stage.SECOND,
    ),
    Knob(
        "batch.size",
        "bytes",
        lambda sizes: Range(sizes.batch_low_bytes, sizes.batch_high_bytes, log=True),
        lambda sizes, _: sizes.several_in_batch,
        f"{THESIS}, tables 8 to 12: best at 100 to 1,000 records per batch; at most the topic's max.message.bytes",
    ),
    Knob(
        "batch.num.messages",
        "records",
        lambda sizes: Range(
            _batch_records(sizes, sizes.batch_low_bytes), _batch_records(sizes, sizes.batch_high_bytes), log=True
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
        fixed(Range(0.05, 100, whole=False, log=True, special=0, reach=0.02)),
        always,
        f"{_INTRODUCTION}, Performance: the single most important property; {THESIS}, 5.2.2: 10 ms is better than 0",
    ),
    Knob(
        "sticky.partitioning.linger.ms",
        "ms",
        # The client's default is twice linger.ms, so this goes up to twice the longest linger.
        fixed(Range(0, 200)),
        lambda sizes, baseline: (
            sizes.partitions > 1 and sizes.key_bytes == 0 and baseline.text("partitioner") in RANDOM_PARTITIONERS
        ),
        f"{_MANUAL}: how long records without a key stay on one partition; a longer stay fills batches better",
    ),
    Knob(
        "compression.type",
        "",
        fixed(words(*CODECS)),
        always,
        f"{_INTRODUCTION}, Compression: uses the client's CPU to save bytes on the network and on disk",
    ),
    # Level 0 is left out for gzip, where it means "do not compress", and for zstd, where it means the default level.
    _level("gzip", 1, f"{_MANUAL}, compression.level: 0 to 9"),
    _level("lz4", 0, f"{_MANUAL}, compression.level: 0 to 12"),
    _level("zstd", 1, f"{_MANUAL}, compression.level: 0 to 12, where 0 means zstd's own default of 3"),
    Knob(
        "socket.send.buffer.bytes",
        "bytes",
        fixed(Range(65_536, 8_388_608, log=True, special=0, reach=40_000)),
        on_request,
        f"{_MANUAL}: 0 lets the operating system adapt the size; matters on fast networks with long round trips",
    ),
    Knob(
        "socket.nagle.disable",
        "",
        fixed(words("true", "false")),
        on_request,
        f"{_MANUAL}: false lets TCP delay small requests until earlier ones are acknowledged",
    ),
)

STARTING_POINTS: Final = (
    StartingPoint(
        "measured on 2 cores at 20,000 records of 1 kB per second: p99 2 ms, against 7 to 9 ms with the defaults",
        {"linger.ms": "0.5", "compression.type": "lz4"},
    ),
    StartingPoint(
        f"{_INTRODUCTION}, High throughput: wait for larger batches, which also compress better",
        {"linger.ms": "20", "compression.type": "lz4"},
    ),
    StartingPoint(
        f"{_INTRODUCTION}, High throughput: a queue for more records than the default of 100,000",
        {"linger.ms": "10", "queue.buffering.max.messages": "500000"},
    ),
    StartingPoint(
        f"{_INTRODUCTION}, Low latency: hardly wait for a batch to fill",
        {"linger.ms": "1"},
    ),
)

# The sources of the knobs name linger, batches, codec, acks and the size of the queue as the most influential ones.
INFLUENTIAL: Final = (
    "linger.ms",
    "batch.size",
    "compression.type",
    LEVEL_PROPERTY,
    "acks",
    "batch.num.messages",
    QUEUE_KBYTES,
    QUEUE_MESSAGES,
    IDEMPOTENCE,
)
