"""Reports about topics that both clients wrote with known configs: linger, batch fill, codec, idempotence.

The answers do not depend on how fast the machine is. A wait of 200 ms or more is long against the delays of a busy
machine, and shorter waits must only be within the reported limits. Batches that must be full have two seconds for what
takes milliseconds.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

import pytest

from runners.clusters.cluster import RunningCluster
from runners.clusters.topics.owned_topics import Topic
from runners.clusters.topics.stored_topics import StoredTopics
from runners.inspection.batch_reader import BatchReader
from runners.inspection.batch_sampling import BatchSample, SampleLimits, sample_batches
from runners.java_client.java_runner import JavaRunner
from runners.java_client.kept_jvm import end_kept_jvms
from runners.librdkafka.librdkafka_runner import LibrdkafkaRunner
from runners.runner import Runner
from runners.workload import RecordSizes, Workload
from search_spaces.client import Client, java, librdkafka
from search_spaces.configs.producer_config import ProducerConfig
from tests.conftest import TopicMaker
from tuner.inspection.batch_ending import Ending
from tuner.inspection.topic_savings import Inspection, inspection_of
from tuner.present.topics.inspection_words import remarks

pytestmark = pytest.mark.broker

CLIENTS: Final[dict[str, tuple[Client, Callable[[RunningCluster, Topic], Runner]]]] = {
    "librdkafka": (librdkafka(), LibrdkafkaRunner),
    "java": (java(), lambda cluster, topic: JavaRunner(cluster, topic, warms_up=False)),
}
LIMITS: Final = SampleLimits(200, 20_000_000)
LONG_MS: Final = 200
_LATE: Final = 1.25
_LATE_MS: Final = 2
MIX: Final = RecordSizes.parse("200:50,1000:50")


@dataclass(frozen=True, slots=True)
class Case:
    """A config, the load that it is used with, and what must be reported about it."""

    config: dict[str, str | int | bool]
    rate_records_per_s: float
    seconds: float
    linger_ms: float
    full_bytes: int | None = None
    codec: str = "none"
    idempotent: bool | None = None


LONGEST: Final = ("500 ms", "full", "no wait")
"""Cases of the long campaign."""
CASES: Final = {
    "defaults": Case({}, 2_000, 2, linger_ms=5),
    "no wait": Case({"linger.ms": 0, "enable.idempotence": False}, 500, 2, linger_ms=0, idempotent=False),
    "200 ms": Case(
        {"linger.ms": LONG_MS, "compression.type": "lz4", "enable.idempotence": True, "batch.size": 1_000_000},
        *(300, 6),
        linger_ms=LONG_MS,
        codec="lz4",
        idempotent=True,
    ),
    "500 ms": Case(
        {"linger.ms": 500, "compression.type": "zstd", "enable.idempotence": False, "batch.size": 1_000_000},
        *(200, 8),
        linger_ms=500,
        codec="zstd",
        idempotent=False,
    ),
    "full": Case(
        {"linger.ms": 2_000, "batch.size": 16_384, "enable.idempotence": True},
        *(2_000, 2),
        linger_ms=2_000,
        full_bytes=16_384,
        idempotent=True,
    ),
    "full, compressed": Case(
        {"linger.ms": 2_000, "batch.size": 65_536, "compression.type": "snappy", "enable.idempotence": False},
        *(6_000, 6),
        linger_ms=2_000,
        full_bytes=65_536,
        codec="snappy",
        idempotent=False,
    ),
}
DEFAULT_IDEMPOTENCE: Final = {"librdkafka": False, "java": True}


@pytest.fixture(scope="module", autouse=True)
def no_java_process_is_left() -> Iterator[None]:
    yield
    end_kept_jvms()


def read(broker: RunningCluster, topic: Topic) -> BatchSample:
    stored = StoredTopics(broker.connection).one(topic.name)
    brokers = [each.leader for each in stored.partitions]
    with BatchReader(broker.connection, brokers, LIMITS.most_response_bytes) as reader:
        (sample,) = sample_batches(reader, [stored], LIMITS)
    return sample


@pytest.mark.long
@pytest.mark.parametrize(
    "case", [pytest.param(case, marks=pytest.mark.long if case in LONGEST else ()) for case in CASES]
)
@pytest.mark.parametrize("name", CLIENTS)
def test_the_config_is_inferred_from_the_batches(
    broker: RunningCluster, new_topic: TopicMaker, name: str, case: str
) -> None:
    (client, runner), known, topic = CLIENTS[name], CASES[case], new_topic()
    workload = Workload(
        MIX,
        compressibility_ratio=0.5,
        partitions=1,
        warmup_s=0,
        measured_s=known.seconds,
        rate_records_per_s=known.rate_records_per_s,
    )
    runner(broker, topic).run(ProducerConfig.parse(known.config, client=client), workload)
    found = inspection_of(read(broker, topic))
    assert found is not None
    said = f"{found.ending}: {' '.join(remarks(found))}"
    # The load begins with a single record, which a client sends as it is if the codec does not make it smaller.
    assert {codec for codec, batches in found.traffic.codecs.items() if batches > 1} == {known.codec}, said
    idempotent = DEFAULT_IDEMPOTENCE[name] if known.idempotent is None else known.idempotent
    assert found.traffic.idempotent_ratio == float(idempotent)
    check_fill(found, known, said)
    check_linger(found, known, said)


def check_fill(found: Inspection, known: Case, said: str) -> None:
    full_bytes = found.ending.full_bytes
    if known.full_bytes is None:
        assert full_bytes is None, said
    else:
        assert full_bytes is not None, said
        assert 0.85 * known.full_bytes <= full_bytes <= known.full_bytes, said


def check_linger(found: Inspection, known: Case, said: str) -> None:
    ending = found.ending
    at_most = math.inf if ending.linger_at_most_ms is None else ending.linger_at_most_ms
    # A client that gets no CPU time sends late, so a wait may be longer than the configured one.
    assert ending.linger_at_least_ms <= max(known.linger_ms + _LATE_MS, _LATE * known.linger_ms), said
    assert known.linger_ms <= at_most, said
    if known.linger_ms >= LONG_MS and known.full_bytes is None:
        assert ending.ending is Ending.WAIT, said
        assert at_most <= _LATE * known.linger_ms, said
        assert ending.linger_at_least_ms >= known.linger_ms / _LATE, said
