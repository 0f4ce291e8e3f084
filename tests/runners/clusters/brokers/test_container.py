"""A broker in a container. Most of these tests need a Docker engine with an image."""

import gc
import importlib.util
import shutil
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from runners.clusters.brokers.container import DEFAULT_IMAGE, ContainerCluster, variable_name
from runners.clusters.topics.owned_topics import OwnedTopics
from runners.errors import BrokerDidNotStart, EmbeddedBrokerError
from runners.java_runtime.java import KafkaJava, find_java
from tests.helpers.container_engine import docker_engine, has_image

STAND_IN = "kafka-tuner-test/kafka:stand-in"
BASE = "python:3.11-slim-bookworm"


@pytest.fixture(scope="module")
def engine() -> Iterator[Any]:
    with docker_engine() as client:
        yield client


@pytest.fixture(scope="module")
def image(engine: Any, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Kafka's own image if the engine has it, or else a stand-in with the same interface, built without a registry."""
    if has_image(engine, DEFAULT_IMAGE):
        return DEFAULT_IMAGE
    if not has_image(engine, BASE):
        pytest.skip(f"the engine has neither {DEFAULT_IMAGE} nor {BASE} (the base of a stand-in): pull one of them")
    context = tmp_path_factory.mktemp("image")
    shutil.copytree(Path(__file__).parent / "image", context, dirs_exist_ok=True)
    kafka = KafkaJava.prepare()
    whole_runtime = find_java({}).path.parent.parent  # not the program that KAFKA_TUNER_JAVA names in tests
    shutil.copytree(whole_runtime, context / "java")
    shutil.copytree(Path(kafka.class_path.partition(":")[0]).parent, context / "jars")
    engine.images.build(path=str(context), tag=STAND_IN, rm=True)
    return STAND_IN


@pytest.mark.docker
def test_a_broker_in_a_container_serves_topics_and_is_removed(engine: Any, image: str) -> None:
    cluster = ContainerCluster(image, properties={"message.max.bytes": "2000000"})
    try:
        running = cluster.start()
        assert (running.kind, running.local_brokers) == ("container", ())
        with OwnedTopics(running) as topics:
            topic = topics.create(2)
            assert topic.max_message_bytes == 2_000_000
            assert topics.end_offsets(topic) == (0, 0)
    finally:
        cluster.stop()
    assert engine.containers.list(all=True, filters={"ancestor": image}) == []
    cluster.stop()  # a second call is allowed


@pytest.mark.docker
def test_a_broker_that_ends_shows_its_log(engine: Any, image: str) -> None:
    with pytest.raises(BrokerDidNotStart, match=r"(?s)its container ended.*num\.io\.threads"):
        ContainerCluster(image, properties={"num.io.threads": "-1"}).start()
    assert engine.containers.list(all=True, filters={"ancestor": image}) == []


def test_without_an_engine_there_is_one_clear_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    pytest.importorskip("testcontainers", reason="the extra `containers` is not installed")
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/none.sock")
    message = ""
    try:
        ContainerCluster().start()
    except EmbeddedBrokerError as error:
        message = str(error)
    assert "needs a Docker engine and the image apache/kafka" in message
    with warnings.catch_warnings():  # Docker's client leaves a socket open if it finds no engine
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()


def test_without_the_package_there_is_one_clear_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(EmbeddedBrokerError, match="extra `containers`"):
        ContainerCluster().start()


def test_variables_have_the_names_that_kafka_s_image_reads() -> None:
    assert variable_name("log.retention.check.interval.ms") == "KAFKA_LOG_RETENTION_CHECK_INTERVAL_MS"
    assert variable_name("abc_def") == "KAFKA_ABC__DEF"
    assert variable_name("abc-def") == "KAFKA_ABC___DEF"
