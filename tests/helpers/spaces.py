"""A Hypothesis strategy for search spaces of many kinds."""

from typing import Final

from hypothesis import strategies as st

from search_spaces import DURABILITY, ConfigError, KnobChange, ProducerConfig, SearchSpace, Value

CHANGES: Final[tuple[tuple[str, KnobChange], ...]] = (
    ("acks", KnobChange(choices=("0", "1", "all"))),
    ("acks", KnobChange(value="1")),
    ("enable.idempotence", KnobChange(value="true")),
    ("enable.idempotence", KnobChange(off=True)),
    ("max.in.flight", KnobChange(choices=("1", "5", "100"))),
    ("max.in.flight", KnobChange(low=1, high=1000)),
    ("max.in.flight", KnobChange(off=True)),
    ("retries", KnobChange(low=0, high=10)),
    ("queuing.strategy", KnobChange()),
    ("queue.buffering.backpressure.threshold", KnobChange(low=1, high=10)),
    ("linger.ms", KnobChange(low=0, high=20)),
    ("linger.ms", KnobChange(low=1, high=500, log=False)),
    ("delivery.timeout.ms", KnobChange(low=10, high=1000, log=True)),
    ("request.timeout.ms", KnobChange(low=5, high=60_000)),
    ("socket.timeout.ms", KnobChange(low=50, high=300_000)),
    ("batch.size", KnobChange(choices=("4096", "65536", "1000000"))),
    ("batch.size", KnobChange(low=2_000)),
    ("batch.size", KnobChange(off=True)),
    ("batch.num.messages", KnobChange()),
    ("message.max.bytes", KnobChange()),
    ("queue.buffering.max.messages", KnobChange()),
    ("queue.buffering.max.messages", KnobChange(value="500")),
    ("queue.buffering.max.kbytes", KnobChange(low=64, high=4096)),
    ("queue.buffering.max.kbytes", KnobChange(value="2048")),
    ("compression.type", KnobChange(choices=("lz4", "zstd", "none"))),
    ("compression.type", KnobChange(value="gzip")),
    ("compression.level", KnobChange(off=True)),
    ("compression.level", KnobChange(value="3")),
    ("sticky.partitioning.linger.ms", KnobChange(off=True)),
    ("socket.send.buffer.bytes", KnobChange()),
    ("socket.nagle.disable", KnobChange()),
    ("retry.backoff.ms", KnobChange(low=10, high=5000, log=True)),
    ("retry.backoff.max.ms", KnobChange(low=20, high=5000)),
    ("topic.metadata.refresh.fast.interval.ms", KnobChange(low=1, high=60_000)),
    ("reconnect.backoff.ms", KnobChange(low=0, high=20_000)),
    ("reconnect.backoff.max.ms", KnobChange(low=0, high=20_000)),
    ("partitioner", KnobChange(choices=("murmur2_random", "random"))),
)
BASELINES: Final[tuple[dict[str, Value], ...]] = (
    {},
    {"acks": 1, "linger.ms": 0},
    {"acks": 0},
    {"enable.idempotence": True, "retries": 5},
    {"max.in.flight": 1},
    {"compression.type": "zstd", "compression.level": 7},
    {"compression.type": "gzip", "message.max.bytes": 1_000_000, "request.timeout.ms": 5_000},
    {"queue.buffering.max.messages": 2_000, "queue.buffering.max.kbytes": 16_384, "batch.num.messages": 500},
    {"partitioner": "murmur2", "delivery.timeout.ms": 60_000},
)


def spaces() -> st.SearchStrategy[SearchSpace | ConfigError]:
    """Return a strategy for spaces of varied sizes, baselines, floors and changes, or the errors instead."""
    return st.builds(
        _space,
        st.sampled_from([10, 31, 100, 1_000, 10_000, 33_333, 100_000, 900_000, 999_970]),
        st.sampled_from(BASELINES),
        st.sampled_from(sorted(DURABILITY)),
        st.lists(st.sampled_from(CHANGES), max_size=4, unique_by=lambda change: change[0]).map(dict),
        st.sampled_from([0, 16]),
        st.sampled_from([1, 3]),
        st.sampled_from([1_048_588, 1_048_588, 500_000, 8_000_000]),
        st.sampled_from([2**30, 2**26]),
    )


def _space(
    record_bytes: int,
    baseline: dict[str, Value],
    durability: str,
    changes: dict[str, KnobChange],
    key_bytes: int,
    partitions: int,
    topic_max_message_bytes: int,
    queue_memory_bytes: int,
) -> SearchSpace | ConfigError:
    try:
        return SearchSpace.of(
            record_bytes,
            ProducerConfig.parse(baseline),
            key_bytes=key_bytes,
            partitions=partitions,
            changes=changes,
            floor=DURABILITY[durability],
            topic_max_message_bytes=topic_max_message_bytes,
            queue_memory_bytes=queue_memory_bytes,
        )
    except ConfigError as error:
        return error
