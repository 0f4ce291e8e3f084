"""What is stored about a study when it begins."""

from typing import Any

import pytest

from tuner.course.mirroring import mlflow_experiment
from tuner.model.target import Target


@pytest.mark.parametrize(
    ("changes", "host", "name"),
    [
        ({}, "build-7", "kafka-tuner/embedded on build-7"),
        ({}, None, "kafka-tuner/embedded"),
        ({"targets": (Target(brokers=3),)}, "build-7", "kafka-tuner/embedded, 3 brokers on build-7"),
        ({"targets": (Target("a:1"), Target("b:1"))}, "build-7", "kafka-tuner/a:1, b:1"),
        ({"simulated": True}, "build-7", "kafka-tuner/simulated"),
    ],
)
def test_the_default_experiment_tells_the_target(changes: dict[str, Any], host: str | None, name: str) -> None:
    assert mlflow_experiment(changes.get("targets", (Target(),)), host, simulated="simulated" in changes) == name
