"""A study on a topic of the user predicts for the partitions and replicas of that topic."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from runners.clusters.cluster import RunningCluster
from tests.conftest import TopicMaker
from tests.helpers.studies import Told, real_study
from tuner.execution.studies.run import measure_study
from tuner.model.facts import TOPIC_SHAPE
from tuner.model.target import Target
from tuner.prediction.observations import observations_of_study
from tuner.results.study_load import assumed_shape, stored_load, study_workload
from tuner.search.expectation import ModelExpectation, expectation_of


@pytest.mark.campaign
@pytest.mark.broker
def test_the_load_has_the_partitions_of_the_named_topic(
    broker: RunningCluster, new_topic: TopicMaker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shapes = []

    def kept(*args: Any) -> ModelExpectation | None:
        shapes.append(args[-1])
        return expectation_of(*args)

    monkeypatch.setattr("tuner.execution.studies.search.expectation_of", kept)
    topic = new_topic(4)
    target = Target(bootstrap=broker.bootstrap, topic=topic.name)
    results = measure_study(replace(real_study(broker.bootstrap, trials=1), targets=(target,)), "", tmp_path, Told())
    assert results.facts[TOPIC_SHAPE] == {"partitions": 4, "replication": 1}
    assert shapes == [{"partitions": 4, "replication": 1}], "what the search expects"
    assert study_workload(results, "1000").partitions == 4
    assert {each.workload.partitions for each in observations_of_study(results)} == {4}
    older = replace(results, facts={name: value for name, value in results.facts.items() if name != TOPIC_SHAPE})
    assert not assumed_shape(results)
    assert "assumed: 1 partition, replication 1" in assumed_shape(older)
    assert stored_load(older)["partitions"] == 1, "older releases knew only what the study file says"
