"""`tuner compare-clients` on a real broker: both clients are measured in the same rounds, and nothing is left."""

from pathlib import Path

import psutil
import pytest

from runners.clusters.cluster import RunningCluster
from search_spaces import java
from tests.campaign.brokers import our_topics
from tests.helpers.clients import holders, left_by_java
from tests.helpers.command import tuner
from tests.helpers.studies import of_kind, on_record
from tests.helpers.waiting import eventually
from tuner.model.trial import State, TrialKind

pytestmark = [pytest.mark.broker, pytest.mark.long]

ROUNDS = 2


def test_two_real_clients_are_compared_with_a_given_config(
    tmp_path: Path, studies: Path, broker: RunningCluster
) -> None:
    tuned = tmp_path / "tuned.properties"
    tuned.write_text("linger.ms=20\nbatch.size=131072\ncompression.type=lz4\n")
    topics, before = our_topics(broker), {process.pid for process in holders("java", psutil.process_iter())}
    words = ("--seconds", "1", "--warmup", "0.3", "--rounds", str(ROUNDS), "--java", str(tuned), "--json")
    done = tuner("compare-clients", "--bootstrap", broker.bootstrap, *words, timeout_s=300.0)
    assert done.code == 0, done.err
    record = done.json
    assert [each["name"] for each in record["sides"]] == ["librdkafka", "java", "java with tuned.properties"]
    for side in record["sides"]:
        assert (side["rounds"], side["lost"]) == (ROUNDS, False)
        assert all(side["metrics"][name] > 0 for name in ("mb_per_s", "latency_p99_ms", "client_cpu_ms_per_mb")), side
    for pair in record["pairs"]:
        for metric, ratio in pair["java_to_librdkafka"].items():
            assert 0 < ratio["low"] <= ratio["value"] <= ratio["high"], metric
    rounds = of_kind(on_record(studies / record["study"]), TrialKind.CONFIRM)
    assert {trial.state for trial in rounds} == {State.COMPLETE}
    assert {trial.client for trial in rounds} == {"librdkafka", java().identity}
    assert our_topics(broker) == topics
    eventually(lambda: {process.pid for process in holders("java", psutil.process_iter())} <= before)
    assert left_by_java() == []
