"""A config that is pasted into a producer's file gives the producer that config."""

from typing import Final

import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from search_spaces import DURABILITY, Client, ConfigError, KnobChange, ProducerConfig, SearchSpace, java, librdkafka
from search_spaces.client import ClientKind
from search_spaces.configs.producer_config import same_effect
from search_spaces.files.java_file import read_java
from tests.helpers.choosers import Random
from tuner.present.export.pasted import to_paste

CHANGES: Final[tuple[tuple[str, str], ...]] = (
    ("acks", "1"),
    ("linger.ms", "5"),
    ("retry.backoff.ms", "100"),
    ("reconnect.backoff.ms", "50"),
    ("reconnect.backoff.ms", "100"),
    ("request.timeout.ms", "30000"),
)
COMMON: Final = {
    "acks": ["0", "1", "all"],
    "enable.idempotence": ["true", "false"],
    "max.in.flight.requests.per.connection": ["1", "5", "10"],
    "linger.ms": ["0", "20", "1000"],
    "retries": ["0", "3"],
    "batch.size": ["16384", "1000000"],
    "reconnect.backoff.ms": ["20", "900"],
}
FILES: Final = {
    ClientKind.LIBRDKAFKA: {
        **COMMON,
        "compression.type": ["none", "gzip", "zstd"],
        "compression.level": ["-1", "3", "9"],
        "delivery.timeout.ms": ["10000", "120000"],
        "message.max.bytes": ["1000000", "5000000"],
        "queue.buffering.max.messages": ["0", "100000"],
        "sticky.partitioning.linger.ms": ["0", "50"],
        "queuing.strategy": ["fifo", "lifo"],
    },
    ClientKind.JAVA: {
        **COMMON,
        "compression.type": ["none", "gzip", "zstd"],
        "compression.gzip.level": ["9"],
        "compression.lz4.level": ["17"],
        "compression.zstd.level": ["9"],
        "delivery.timeout.ms": ["31000", "120000"],
        "buffer.memory": ["33554432", "536870912"],
        "partitioner.adaptive.partitioning.enable": ["true", "false"],
        "partitioner.availability.timeout.ms": ["100"],
    },
}
CLIENTS: Final = (librdkafka(), java(), java("3.9.1"), java("2.8.2"))


def read(entries: dict[str, str], client: Client) -> ProducerConfig:
    """Return the config of a file's entries, as the program reads them."""
    if client.kind is ClientKind.JAVA:
        return read_java(entries, client).config
    return ProducerConfig.parse(entries, client)


@given(st.data())
def test_a_pasted_config_has_the_effect_of_the_measured_one(data: st.DataObject) -> None:
    client = data.draw(st.sampled_from(CLIENTS))
    known = {name: values for name, values in FILES[client.kind].items() if name in client.catalogue}
    names = data.draw(st.lists(st.sampled_from(sorted(known)), unique=True, max_size=5))
    given_values = {name: data.draw(st.sampled_from(known[name])) for name in names}
    changes = data.draw(st.lists(st.sampled_from(CHANGES), unique_by=lambda change: change[0], max_size=2))
    try:
        baseline = read(given_values, client)
        client = baseline.client  # an older one if the newest does not accept the file
        space = SearchSpace.of(
            data.draw(st.sampled_from([100, 1_000, 100_000])),
            baseline,
            floor=DURABILITY[data.draw(st.sampled_from(sorted(DURABILITY)))],
            changes={name: KnobChange(value=value) for name, value in changes},
        )
    except ConfigError as error:
        event(type(error).__name__)
        return
    event("a space")
    for seed in range(2):
        config = space.draw(Random(seed + data.draw(st.integers(0, 2**20))))
        for everything in (False, True):
            pasted = to_paste(config, baseline.values, everything=everything)
            for file in ({}, given_values):
                assert same_effect(read({**file, **pasted}, client).effective_values, config.effective_values), (
                    file,
                    pasted,
                )


@pytest.mark.parametrize(
    ("client", "file", "durability", "changes", "pasted"),
    [
        (
            java(),
            {"acks": "1", "enable.idempotence": "false", "linger.ms": "20"},
            "idempotent",
            {},
            {"acks": "-1", "enable.idempotence": "true"},
        ),
        (librdkafka(), {"acks": "1"}, "all", {}, {"acks": "-1"}),
        (
            librdkafka(),
            {"enable.idempotence": "true"},
            "leader",
            {"acks": KnobChange(value="1")},
            {"acks": "1", "enable.idempotence": "false"},
        ),
        (
            librdkafka(),
            {"compression.type": "gzip", "compression.level": "9"},
            "baseline",
            {"compression.type": KnobChange(value="snappy")},
            {"compression.type": "snappy", "compression.level": "-1"},
        ),
        (
            java(),
            {"compression.type": "gzip", "compression.lz4.level": "17"},
            "baseline",
            {"compression.type": KnobChange(value="lz4"), "compression.lz4.level": KnobChange(value="9")},
            {"compression.type": "lz4", "compression.lz4.level": "9"},
        ),
        (
            java(),
            {"partitioner.adaptive.partitioning.enable": "false", "partitioner.availability.timeout.ms": "100"},
            "baseline",
            {"partitioner.adaptive.partitioning.enable": KnobChange(value="true")},
            {"partitioner.adaptive.partitioning.enable": "true", "partitioner.availability.timeout.ms": "0"},
        ),
    ],
)
def test_a_default_of_the_config_is_pasted_if_the_file_sets_another_value(
    client: Client, file: dict[str, str], durability: str, changes: dict[str, KnobChange], pasted: dict[str, str]
) -> None:
    baseline = read(file, client)
    space = SearchSpace.of(1000, baseline, changes=changes, floor=DURABILITY[durability])
    assert pasted.items() <= to_paste(space.draw(Random(1)), baseline.values).items()
