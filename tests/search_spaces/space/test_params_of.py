"""Tests of which configs a space contains, and of the answers that lead to them."""

import random

import pytest

from runners.clusters.cluster import RunningCluster
from search_spaces import ProducerConfig, SearchSpace, Value
from search_spaces.librdkafka.levels import DEFAULT_LEVELS
from tests.helpers.choosers import Replay
from tests.helpers.mock_cluster import largest_batch_bytes

DEFAULTS = ProducerConfig.parse({})
RECORDS = 500


@pytest.mark.parametrize("record_bytes", [10, 100, 1_000, 10_000, 100_000, 900_000])
def test_the_default_space_contains_the_defaults(record_bytes: int) -> None:
    space = SearchSpace.of(record_bytes, DEFAULTS)
    params = space.params_of(DEFAULTS)
    assert params is not None
    spelt_out = space.draw(Replay(params))
    assert {name: DEFAULTS.effective(name) for name in spelt_out.values} == spelt_out.values
    assert 8 <= len(space.parameters) <= 11
    assert space.fixed == {}


@pytest.mark.parametrize(
    "given",
    [
        {"linger.ms": 0},
        {"linger.ms": 0.5, "compression.type": "lz4"},
        {"compression.type": "gzip", "compression.level": 9},
        {"enable.idempotence": True},
        {"acks": 1, "batch.size": 16384},
        {"max.in.flight": 1, "retry.backoff.ms": 50},
    ],
)
def test_the_space_of_a_baseline_contains_the_baseline(given: dict[str, Value]) -> None:
    baseline = ProducerConfig.parse(given)
    assert SearchSpace.of(1_000, baseline).params_of(baseline) is not None


@pytest.mark.parametrize(
    "given",
    [
        {"linger.ms": 200},
        {"batch.size": 100},
        {"acks": 1},
        {"partitioner": "murmur2"},
        {"max.in.flight": 5_000},
        {"message.max.bytes": 2_000_000},
    ],
)
def test_configs_outside_the_space_have_no_params(given: dict[str, Value]) -> None:
    assert SearchSpace.of(1_000, DEFAULTS).params_of(ProducerConfig.parse(given)) is None


def test_a_codec_without_a_level_has_its_default_level() -> None:
    space = SearchSpace.of(1_000, DEFAULTS)
    for codec, level in (("gzip", 6), ("lz4", 0), ("zstd", 3)):
        params = space.params_of(ProducerConfig.parse({"compression.type": codec}))
        assert params is not None
        assert params[f"compression.level.{codec}"] == level


def bytes_compressed(cluster: RunningCluster, codec: str, level: int) -> int:
    """Return the size in bytes of one batch of fixed content, which is full, and sent, with the last record."""
    config: dict[str, str | int] = {
        "linger.ms": 10_000,
        "batch.num.messages": RECORDS,
        "compression.type": codec,
        "compression.level": level,
    }
    draw = random.Random(1)
    words = [bytes(draw.choices(range(97, 123), k=6)) for _ in range(500)]
    values = [b" ".join(draw.choices(words, k=40)) for _ in range(RECORDS)]
    return largest_batch_bytes(cluster, "levels", config, values)


@pytest.mark.parametrize(("codec", "other"), [("gzip", 5), ("lz4", 3), ("zstd", 2)])
def test_the_default_levels_compress_like_no_level(mock_cluster: RunningCluster, codec: str, other: int) -> None:
    by_default = bytes_compressed(mock_cluster, codec, -1)
    assert by_default == bytes_compressed(mock_cluster, codec, DEFAULT_LEVELS[codec])
    assert by_default != bytes_compressed(mock_cluster, codec, other)
