"""Programs read the formats for users of the Java client: their producer then has the values that were measured.

A producer of kafka-clients is constructed with what the program hands over, and is asked for its effective values.

Quarkus has no test here: that all attributes of an outgoing channel are passed to its producer is what its
documentation says, see `search_spaces.java_client.formats`. For Strimzi, Kafka Connect itself reads what stands in the
resource's `config`, which Strimzi's operator passes on.
"""

from pathlib import Path
from typing import Final

import pytest

from search_spaces.files.properties_file import format_properties
from search_spaces.translation.to_java import for_java
from tests.helpers.real_java_client import constructed, differences
from tests.helpers.stored_studies import study
from tests.tuner.present.export.java_programs import CONNECT, SPRING, STREAMS
from tests.tuner.present.export.java_recommendation import entries_of, of_java
from tuner.model.goals import Goal
from tuner.present.export import Format, export
from tuner.results.recommendations.recommend import recommend
from tuner.results.recommendations.recommendation import Recommendation

pytestmark = pytest.mark.campaign

_RELEASE: Final = "4.3.1"
_CONFIGS: Final = {
    "tuned": {
        "acks": "all",
        "batch.size": "262144",
        "buffer.memory": "67108864",
        "compression.lz4.level": "3",
        "compression.type": "lz4",
        "enable.idempotence": "true",
        "linger.ms": "7",
        "max.in.flight.requests.per.connection": "3",
        "partitioner.adaptive.partitioning.enable": "false",
        "send.buffer.bytes": "-1",
    },
    "weak": {
        "acks": "1",
        "enable.idempotence": "false",
        "linger.ms": "0",
        "max.in.flight.requests.per.connection": "10",
    },
    "defaults": {},
}
_WORKER: Final = {
    "bootstrap.servers": "127.0.0.1:1",
    "key.converter": "org.apache.kafka.connect.converters.ByteArrayConverter",
    "value.converter": "org.apache.kafka.connect.converters.ByteArrayConverter",
    "offset.storage.file.filename": "offsets",
    "plugin.discovery": "service_load",
}
_CONNECTOR: Final = {"name": "connector", "connector.class": "Connector", "tasks.max": "1"}
_APPLICATION: Final = {"application.id": "application", "bootstrap.servers": "127.0.0.1:1"}


@pytest.fixture(
    scope="module", params=["tuned", *(pytest.param(each, marks=pytest.mark.long) for each in ("weak", "defaults"))]
)
def found(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Recommendation:
    confirmed = recommend(study(tmp_path_factory.mktemp("confirmed")), "1000", Goal.BALANCED)
    return of_java(confirmed, _CONFIGS[request.param], _RELEASE)


def check(found: Recommendation, handed_over: dict[str, str], *, left_to_the_program: tuple[str, ...] = ()) -> None:
    """Check that a producer with these properties has the effective values of the config that was measured."""
    ours = {name: value for name, value in handed_over.items() if name in found.config.client.producer_names}
    for name in left_to_the_program:
        assert ours.pop(name) != found.config.effective(name)
    (seen,) = constructed(_RELEASE, [ours])
    assert isinstance(seen, dict), seen
    assert differences(found.config, seen) == []


def written(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def test_spring_boot_gives_its_producer_the_values_that_were_measured(found: Recommendation, tmp_path: Path) -> None:
    ours = written(tmp_path / "application.yml", export(found, Format.SPRING))
    check(found, SPRING.producer_properties(ours))


@pytest.mark.long
def test_the_export_wins_over_the_keys_of_spring_boot(found: Recommendation, tmp_path: Path) -> None:
    before = {"acks": "0", "batch.size": "1", "retries": "1"}
    text = 'spring.kafka.producer: {acks: "0", batch-size: 1, retries: 1}\n'
    ours = written(tmp_path / "application.yml", export(found, Format.SPRING))
    handed_over = SPRING.producer_properties(written(tmp_path / "before.yml", text), ours)
    config = for_java(found.config).properties
    assert {name: handed_over[name] for name in before} == {name: config.get(name, before[name]) for name in before}


@pytest.mark.long
def test_kafka_streams_gives_its_producer_the_values_that_were_measured(found: Recommendation, tmp_path: Path) -> None:
    text = format_properties(_APPLICATION) + export(found, Format.STREAMS)
    check(found, STREAMS.producer_properties(written(tmp_path / "streams.properties", text)))


@pytest.mark.long
@pytest.mark.parametrize("form", [Format.CONNECT, Format.STRIMZI_CONNECTOR])
def test_a_connector_of_kafka_connect_gives_its_producer_the_values_that_were_measured(
    found: Recommendation, tmp_path: Path, form: Format
) -> None:
    worker = written(tmp_path / "worker.properties", format_properties(_WORKER))
    config = {**_CONNECTOR, **entries_of(export(found, form))}
    connector = written(tmp_path / "connector.properties", format_properties(config))
    # Connect retries for ever, which the export leaves as it is.
    check(found, CONNECT.producer_properties(worker, connector), left_to_the_program=("delivery.timeout.ms",))


@pytest.mark.long
def test_a_worker_of_kafka_connect_gives_its_producers_the_values_that_were_measured(
    found: Recommendation, tmp_path: Path
) -> None:
    config = {**_WORKER, **entries_of(export(found, Format.STRIMZI_CONNECT))}
    worker = written(tmp_path / "worker.properties", format_properties(config))
    connector = written(tmp_path / "connector.properties", format_properties(_CONNECTOR))
    check(found, CONNECT.producer_properties(worker, connector), left_to_the_program=("delivery.timeout.ms",))
