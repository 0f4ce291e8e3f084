"""The mirror of a study: where it lies in MLflow, and that it hears how the study has ended."""

from typing import Any

import pytest

from tuner.execution.mirroring import SyncOutcome, finish_mirror, mlflow_experiment
from tuner.model.errors import DeadlinePassed, TooManyFailures
from tuner.model.progress import StudyState
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
def test_the_default_mlflow_experiment_is_named_after_the_target(
    changes: dict[str, Any], host: str | None, name: str
) -> None:
    assert mlflow_experiment(changes.get("targets", (Target(),)), host, simulated="simulated" in changes) == name


class Listening:
    """A mirror that does nothing but remember the final state of the study."""

    def __init__(self) -> None:
        self.heard: list[StudyState] = []

    def start(self, remember: object) -> None:
        """Do nothing."""

    def poke(self) -> None:
        """Do nothing."""

    def behind(self, on_record: int) -> int:
        return on_record

    def finish(self, timeout_s: float, state: StudyState) -> SyncOutcome:
        assert timeout_s > 0
        self.heard.append(state)
        return SyncOutcome(0, 0, "nowhere", None)


@pytest.mark.parametrize(
    ("error", "state"),
    [
        (None, StudyState.FINISHED),
        (TooManyFailures, StudyState.FAILED),
        (KeyboardInterrupt, StudyState.INTERRUPTED),
        (DeadlinePassed, StudyState.INTERRUPTED),
    ],
)
def test_a_mirror_is_told_how_the_study_has_ended(error: type[BaseException] | None, state: StudyState) -> None:
    mirror = Listening()
    finish_mirror(mirror, "night", print, error)
    assert mirror.heard == [state]
