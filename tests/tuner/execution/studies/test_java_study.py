"""Studies of the Java client: a simulated one, from its file to its exports, and a real one."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

import tuner
from runners.clusters.cluster import RunningCluster
from runners.errors import WorkloadRefused
from runners.reporting import silent
from runners.workload import RecordSizes, Workload
from search_spaces import Guarantee, ProducerConfig, java, parse_properties
from tests.helpers.studies import Told, on_record, real_study
from tuner.execution.open_target import open_target
from tuner.execution.studies.run import measure_study
from tuner.model.goals import Goal
from tuner.model.target import Target
from tuner.model.trial import Trial, TrialKind
from tuner.present.export import Format, export, is_translated, offered, recommendation_json, recommendation_of
from tuner.results.comparisons.comparison import compare
from tuner.results.recommendations.recommend import recommend

STUDY = """\
study: {{name: {name}}}
client: {client}
workload: {{record_bytes: 1000}}
search: {{trials: 8, burn_in_max: 0}}
confirm: {{rounds: 2, max_rounds: 2}}
executor: {{kind: simulated}}
tracking: {{enabled: false}}
"""
"""Text of a study file with places for the name and the client."""


def run(name: str, client: str) -> tuner.Study:
    path = Path(f"{name}.yaml")
    path.write_text(STUDY.format(name=name, client=client), encoding="utf-8")
    return tuner.run_study(path)


@pytest.fixture(autouse=True)
def in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("KAFKA_TUNER_STUDIES", str(tmp_path / "studies"))


def test_a_study_of_the_java_client_is_kept_and_exported_in_its_own_words() -> None:
    study = run("of-java", "java:3.9.1")
    (size,) = study.results.sizes
    assert {trial.client for trial in size.trials} == {"java 3.9.1"}
    assert {trial.config().client for trial in size.trials} == {java("3.9.1")}
    assert any("buffer.memory" in trial.values for trial in size.trials)
    again = [Trial.from_json(trial.as_json()) for trial in size.trials]
    assert [trial.config().fingerprint for trial in again] == [trial.fingerprint for trial in size.trials]
    found = recommend(study.results, "1000", Goal.BALANCED)
    record = recommendation_json(found)
    assert record["config"]["client"] == "java 3.9.1"
    assert record["java"]["label"] == "measured with this client"
    assert recommendation_of(record).config == found.config
    written = parse_properties(export(found, Format.JAVA))
    assert ProducerConfig.parse(written, java("3.9.1")) == found.config
    assert "not measured" not in export(found, Format.SPRING)
    for form in offered(found.config.client):
        assert export(recommendation_of(record), form) == export(found, form)
    translated = json.loads(export(found, Format.LIBRDKAFKA))
    assert Guarantee.of(ProducerConfig.parse(translated)).at_least(Guarantee.of(found.config))
    assert [is_translated(form, found.config.client) for form in (Format.JAVA, Format.LIBRDKAFKA)] == [False, True]


@pytest.mark.campaign
def test_studies_of_two_clients_are_told_apart() -> None:
    compared = compare(run("of-java", "java").results, run("of-librdkafka", "librdkafka").results)
    assert "the studies differ in client: java 4.3.1 and librdkafka" in compared.differences


@pytest.mark.long
@pytest.mark.broker
def test_a_real_study_measures_the_java_client(broker: RunningCluster, tmp_path: Path) -> None:
    spec = real_study(broker.bootstrap, trials=2)
    measure_study(replace(spec, baseline=ProducerConfig.parse({}, java())), "", tmp_path, Told())
    trials = on_record(tmp_path)
    assert {trial.client for trial in trials} == {java().identity}
    assert all(trial.metrics["mb_per_s"] > 0 for trial in trials)
    assert sum(trial.kind is TrialKind.SEARCH for trial in trials) >= 1


@pytest.mark.broker
def test_the_python_generator_is_refused_for_the_java_client(broker: RunningCluster) -> None:
    target = Target(bootstrap=broker.bootstrap)
    with (
        open_target(target, silent, java()) as session,
        pytest.raises(WorkloadRefused, match=r"the client is the Java client 4\.3\.1"),
    ):
        session.runner("python").run(ProducerConfig.parse({}, java()), Workload(RecordSizes.fixed(100)))


@pytest.mark.long
@pytest.mark.broker
def test_the_java_client_is_measured_on_a_broker_of_ours() -> None:
    config = ProducerConfig.parse({"acks": "all"}, client=java("3.9.1"))
    workload = Workload(RecordSizes.fixed(1_000), warmup_s=0.2, measured_s=0.5, rate_records_per_s=1_000)
    with open_target(Target(), client=config.client) as opened:
        seen = [opened.runner().run(config, workload) for _ in range(2)]
    assert all(each.counts.agree for each in seen)
    assert {each.origin.client_version for each in seen} == {"kafka-clients 3.9.1"}
