"""Trials of different hosts, clients and clusters are mixed only if the user says so, and the results then say it."""

import shutil
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from runners.clusters.cluster import RunningCluster
from tests.helpers import stored_studies
from tests.helpers.repository import KEPT_STUDIES
from tests.helpers.stored_studies import ENVIRONMENT
from tests.helpers.studies import Told, on_record, real_study, simulated_study
from tuner.execution.environment import environment_changes, environment_facts
from tuner.execution.open_target import open_target
from tuner.execution.studies.run import measure_study
from tuner.model.errors import StudyChanged
from tuner.model.target import Target
from tuner.prediction.prediction_source import source_of_study
from tuner.present.report.bundle import write_study
from tuner.present.trial_tables.front_table import fronts_json
from tuner.results.recommendations.recommend import recommend
from tuner.storage.sqlite import SqliteStore


@pytest.fixture(scope="module")
def measured(broker: RunningCluster, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a finished study of one trial on the broker."""
    folder = tmp_path_factory.mktemp("measured") / "real"
    measure_study(real_study(broker.connection["bootstrap.servers"], trials=1), "", folder, Told())
    return folder


@pytest.fixture
def folder(measured: Path, tmp_path: Path) -> Path:
    """A copy of that study, which the test may change."""
    return shutil.copytree(measured, tmp_path / "real")


def change(folder: Path, name: str, value: Any) -> None:
    """Change a fact, as if the study had been measured elsewhere."""
    with closing(SqliteStore(folder)) as store:
        store.set_fact(name, value)


def facts(folder: Path) -> dict[str, Any]:
    with closing(SqliteStore(folder)) as store:
        return store.facts()


def go_on(folder: Path, broker: RunningCluster, *, mix: bool = False) -> list[str]:
    """Run a second trial, and return the sentences of the study."""
    told = Told()
    spec = real_study(broker.connection["bootstrap.servers"], trials=2)
    write_study(measure_study(spec, "", folder, told, mix_environments=mix))
    return told.sentences


@pytest.mark.broker
@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("cluster_ids", ["another"], "cluster id of target 1 is .* but was another"),
        ("client_version", "librdkafka 1.0.0", r"client is librdkafka [\d.]+ but was librdkafka 1\.0\.0"),
        ("host", {"processor": "Z80"}, "processor is .* but was Z80"),
        ("host", {"cores": "4096"}, r"number of cores is \d+ but was 4096"),
    ],
)
def test_a_study_of_another_environment_is_not_continued(
    folder: Path, broker: RunningCluster, name: str, value: Any, said: str
) -> None:
    before = len(on_record(folder))
    change(folder, name, value)
    with pytest.raises(StudyChanged, match=f"{said}.*another name .*--mix-environments"):
        go_on(folder, broker)
    assert len(on_record(folder)) == before
    assert facts(folder)[name] == value


@pytest.mark.broker
@pytest.mark.campaign
def test_a_study_is_continued_elsewhere_if_the_user_says_so(folder: Path, broker: RunningCluster) -> None:
    before = len(on_record(folder))
    change(folder, "client_version", "librdkafka 1.0.0")
    go_on(folder, broker, mix=True)
    assert len(on_record(folder)) > before
    (told,) = facts(folder)["mixed"]
    assert told.startswith(f"after {before} trials, the client is librdkafka")
    assert told in (folder / "report.html").read_text(encoding="utf-8").replace("&#39;", "'")


def test_results_from_two_environments_say_so(tmp_path: Path) -> None:
    spec, folder = simulated_study((1000,), trials=4), tmp_path / "moved"
    measure_study(spec, "", folder, Told())
    change(folder, "client_version", "librdkafka 1.0.0")
    longer = replace(spec, search=replace(spec.search, trials=5))
    after = measure_study(longer, "", folder, Told(), mix_environments=True)
    (told,) = after.mixed
    assert told.startswith("trials of different environments")
    assert "was librdkafka 1.0.0" in told
    assert told in recommend(after, "1000").warnings
    assert told in source_of_study(after, None).warnings
    assert told in fronts_json(after, after.sizes)["warnings"]


@pytest.mark.broker
def test_in_the_same_environment_a_study_is_continued(folder: Path, broker: RunningCluster) -> None:
    before = len(on_record(folder))
    go_on(folder, broker)
    assert len(on_record(folder)) > before
    assert "mixed" not in facts(folder)


@pytest.mark.broker
def test_studies_that_tests_invent_have_the_facts_of_a_real_one(folder: Path, tmp_path: Path) -> None:
    real, invented = facts(folder), facts(stored_studies.write_study(tmp_path / "invented"))
    assert real.keys() <= invented.keys()
    for name in ENVIRONMENT:
        ours, theirs = real[name], invented[name]
        assert type(theirs) is type(ours), name
        assert not isinstance(ours, dict) or theirs.keys() <= ours.keys(), name


@pytest.mark.broker
def test_the_facts_name_this_host_and_the_cluster(broker: RunningCluster) -> None:
    with open_target(Target(bootstrap=broker.connection["bootstrap.servers"])) as opened:
        seen = environment_facts([opened, opened])
    assert seen["cluster_ids"] == [seen["cluster"]["cluster_id"]] * 2
    assert seen["machine"]["name"]
    own = Path("/etc/machine-id")
    if own.is_file():
        assert own.read_text().strip() not in str(seen)


NOW = {
    "client_version": "librdkafka 2.16.0",
    "broker_version": "4.3.1",
    "host": {"processor": "AMD EPYC", "cores": "2"},
    "machine": {"name": "here", "id": "1"},
    "cluster_ids": [None],
}


def test_another_host_is_recognised_by_its_id() -> None:
    there = {**NOW, "machine": {"name": "here", "id": "2"}}
    assert environment_changes(NOW, there, loads_here=True) == ["the host is here (id 1) but was here (id 2)"]
    assert environment_changes(NOW, {**NOW, "machine": {"name": "pod-2", "id": None}}, loads_here=True) == []


def test_the_host_of_the_driver_does_not_matter_to_a_ray_cluster() -> None:
    there = {**NOW, "machine": {"name": "there", "id": "2"}, "host": {"processor": "Z80", "cores": "1"}}
    assert environment_changes(NOW, there, loads_here=False) == []


def test_loads_do_not_move_between_this_host_and_a_ray_cluster() -> None:
    here, there = {**NOW, "loads_run_on": "this host"}, {**NOW, "loads_run_on": "nodes of a Ray cluster"}
    assert environment_changes(here, there, loads_here=True) == [
        "the location of the load generators is this host but was nodes of a Ray cluster"
    ]
    assert environment_changes(there, NOW, loads_here=False) == [], "older releases did not store it"


def test_a_study_of_an_older_release_is_continued(tmp_path: Path) -> None:
    old = facts(shutil.copytree(KEPT_STUDIES / "quickstart-35028fe", tmp_path / "old"))
    assert "machine" not in old
    assert environment_changes(NOW, old, loads_here=True) == []
    assert environment_changes({**NOW, "client_version": "librdkafka 3"}, old, loads_here=True) == [
        "the client is librdkafka 3 but was librdkafka 2.16.0"
    ]
