"""The knobs of the Java producer that are worth searching, their ranges, and the starting points of a search."""

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
from search_spaces.java_client.levels import FAST_LZ4, LEVEL_PROPERTIES, LEVELS_SINCE
from search_spaces.java_client.limits import BUFFER, LARGEST, most_buffer_bytes
from search_spaces.java_client.rules import ADAPTIVE, ADAPTIVE_SINCE, AVAILABILITY, IGNORE_KEYS, PARTITIONER
from search_spaces.java_client.versions import Minor

_MANUAL: Final = "the producer configs of Apache Kafka 4.3"
_KIP_794: Final = "KIP-794, Strictly Uniform Sticky Partitioner"
_LEVELS: Final = "KIP-390, Support Compression Level"
_MOST_REQUEST_BYTES: Final = 16_777_216


def knobs_of(minor: Minor) -> tuple[Knob, ...]:
    """Return the knobs of a minor version, in the order in which they are drawn.

    A knob that limits the range of another knob is drawn before it.
    """
    adaptive = _ADAPTIVE if minor >= ADAPTIVE_SINCE else ()
    levels = _LEVEL_KNOBS if minor >= LEVELS_SINCE else ()
    return (*_FIRST, *adaptive, *_COMPRESSION, *levels, *_SOCKET)


def _buffer(sizes: Sizes) -> Range:
    high = most_buffer_bytes(sizes)
    return Range(max(sizes.message_bytes, min(high, sizes.batch_high_bytes)), high, log=True)


def _largest(sizes: Sizes) -> Range:
    return Range(max(16_384, sizes.message_bytes), max(_MOST_REQUEST_BYTES, sizes.message_bytes), log=True)


def _partitioner_can_adapt(sizes: Sizes, baseline: EffectiveValues) -> bool:
    return sizes.partitions > 1 and sizes.key_bytes == 0 and not baseline.is_given(PARTITIONER)


_FIRST: Final = (
    ACKS,
    Knob(
        IDEMPOTENCE,
        "",
        fixed(words("false", "true")),
        always,
        f"{_MANUAL}: no duplicates, order kept, at most 5 requests in flight; true by default since 3.0",
        Stage.LAST,
    ),
    Knob(
        IN_FLIGHT,
        "requests",
        fixed(Range(1, 100, log=True)),
        always,
        f"{THESIS}, 5.2.3: 1 costs throughput but lowers the latency of small records",
        Stage.LAST,
    ),
    Knob(
        BUFFER,
        "bytes",
        _buffer,
        always,
        f"{THESIS}, tables 5 and 6: under full load, latency is the time in the buffer",
        Stage.SECOND,
    ),
    Knob(
        LARGEST,
        "bytes",
        _largest,
        on_request,
        f"{_MANUAL}: limits a request over several partitions; unless it is searched, it is raised as far as the "
        "record needs",
    ),
    Knob(
        "batch.size",
        "bytes",
        lambda sizes: Range(sizes.batch_low_bytes, sizes.batch_high_bytes, log=True),
        lambda sizes, _: sizes.several_in_batch,
        f"{THESIS}, tables 8 to 12: best at 100 to 1,000 records per batch; {_KIP_794}: records without a key stay on "
        "a partition for this many bytes",
    ),
    Knob(
        "linger.ms",
        "ms",
        fixed(Range(1, 100, log=True, special=0, reach=0.4)),
        always,
        f"{THESIS}, 5.2.2: 10 ms is better than 0; {_MANUAL}: 5 by default since 4.0, 0 before",
    ),
)
_ADAPTIVE: Final = (
    Knob(
        ADAPTIVE,
        "",
        fixed(words("true", "false")),
        _partitioner_can_adapt,
        f"{_KIP_794}: sends more records to partitions whose queues are short, which uneven brokers make longer",
        Stage.LAST,
    ),
    Knob(
        AVAILABILITY,
        "ms",
        fixed(Range(100, 30_000, log=True, special=0, reach=50)),
        on_request,
        f"{_KIP_794}: how long a broker may leave a partition's batches waiting before it gets no more; 0: not used",
    ),
    Knob(
        IGNORE_KEYS,
        "",
        fixed(words("false", "true")),
        on_request,
        f"{_KIP_794}: true fills batches better, but records with equal keys no longer share a partition",
    ),
)
_COMPRESSION: Final = (
    Knob(
        "compression.type",
        "",
        fixed(words(*CODECS)),
        always,
        f"{_MANUAL}: uses the client's CPU to save bytes on the network and on disk",
    ),
)
_LEVEL_KNOBS: Final = (
    Knob("compression.gzip.level", "", fixed(Range(1, 9)), always, f"{_LEVELS}: 1 to 9", Stage.LAST, "gzip"),
    Knob(
        "compression.lz4.level",
        "",
        fixed(words(str(FAST_LZ4), "1", "4", "8", "12")),
        always,
        f"{_LEVELS}: 1 to 17; Lz4Compression of kafka-clients: 9 is the fast compressor, the others the strong one",
        Stage.LAST,
        "lz4",
    ),
    Knob(
        "compression.zstd.level",
        "",
        fixed(Range(1, 12)),
        always,
        f"{_LEVELS}: up to 22, but levels above 12 cost far more CPU than they save bytes",
        Stage.LAST,
        "zstd",
    ),
)
_SOCKET: Final = (
    Knob(
        "send.buffer.bytes",
        "bytes",
        fixed(Range(65_536, 8_388_608, log=True, special=-1, reach=40_000)),
        on_request,
        f"{_MANUAL}: -1 lets the operating system adapt the size; matters on fast networks with long round trips",
    ),
)

_GUIDE: Final = "Confluent's guide to optimising the producer"
STARTING_POINTS: Final = (
    StartingPoint(
        f"{_GUIDE}, throughput: larger batches that wait a little, and a fast codec",
        {"linger.ms": "10", "batch.size": "131072", "compression.type": "lz4"},
    ),
    StartingPoint(
        f"{_GUIDE}, throughput: the largest batches that it names, with room for them in the buffer",
        {"linger.ms": "20", "batch.size": "262144", "compression.type": "lz4", "buffer.memory": "67108864"},
    ),
    StartingPoint(
        "between the guide's values and the defaults: batches that fill quickly, and a fast codec",
        {"linger.ms": "5", "batch.size": "65536", "compression.type": "lz4"},
    ),
    StartingPoint(f"{_GUIDE}, latency: do not wait for a batch to fill", {"linger.ms": "0"}),
)

INFLUENTIAL: Final = (
    "linger.ms",
    "batch.size",
    "compression.type",
    *LEVEL_PROPERTIES.values(),
    "acks",
    BUFFER,
    IDEMPOTENCE,
)
