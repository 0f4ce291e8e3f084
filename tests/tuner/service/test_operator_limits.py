"""A submitted study stays within the limits of the service's operator, and the submitter is told what was changed."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.helpers.command import tuner
from tests.helpers.service_in_process import in_process
from tests.helpers.serving import Serving, ended, serving, study_file
from tuner.model.spec import Executor, PhaseSpec, StudySpec
from tuner.service.config import ServiceConfig, load_config
from tuner.service.operator_limits import LimitsSection
from tuner.service.submission import spec_of, submission_of

GREEDY = """\
study: greedy
workload:
  record_bytes: 100
  producers: 100
  partitions: 10000
  saturate: {warmup: 24h, measured: 24h}
  paced: {measured: 24h}
search: {trials: 5}
safety: {max_bytes_per_trial: 900000TB, min_free_disk: 0, broker_wait: 24h}
executor: {kind: local, ray_wait: 24h}
"""
CHANGED = {
    "workload.producers": "was lowered from 100 to 10, the most that this service allows",
    "workload.partitions": "was lowered from 10,000 to 1,000, the most that this service allows",
    "workload.saturate.warmup": "was lowered from 86,400 s to 600 s, the most that this service allows",
    "workload.saturate.measured": "was lowered from 86,400 s to 600 s, the most that this service allows",
    "workload.paced.measured": "was lowered from 86,400 s to 600 s, the most that this service allows",
    "safety.max_bytes_per_trial": "was lowered from 900,000,000,000,000,000 bytes to 50,000,000,000 bytes, "
    "the most that this service allows",
    "safety.min_free_disk": "was raised from 0 bytes to 5,000,000,000 bytes, the least that this service allows",
    "safety.broker_wait": "was lowered from 86,400 s to 3,600 s, the most that this service allows",
    "executor.kind": "was changed from local to ray, because this service does not allow local",
    "executor.ray_wait": "was lowered from 86,400 s to 3,600 s, the most that this service allows",
}


def config_of(folder: Path, text: str) -> ServiceConfig:
    (folder / "service.yaml").write_text(text)
    return load_config(folder / "service.yaml")


def told(text: str, config: ServiceConfig, **environ: str) -> tuple[StudySpec, dict[str, str]]:
    _, changes = submission_of(text, config, environ)
    spec, again = spec_of(text, config, environ)
    assert again == changes, "the study's process changes what the submitter was told"
    return spec, {change.key: change.detail for change in changes}


def test_a_greedy_study_is_kept_within_the_default_limits() -> None:
    spec, changes = told(GREEDY, load_config(None))
    assert changes == CHANGED
    limits = LimitsSection()
    assert spec.safety.max_bytes_per_trial == limits.max_bytes_per_trial
    assert spec.safety.min_free_disk_bytes == limits.min_free_disk
    assert spec.workload.producers == limits.producers
    assert spec.workload.saturate == PhaseSpec(limits.phase, limits.phase)
    assert spec.executor is Executor.RAY


def test_a_modest_study_is_not_changed() -> None:
    spec, changes = told("study: modest\nworkload: {record_bytes: 100}\n", load_config(None))
    assert changes == {}
    assert spec.search.hours is None


def test_the_operator_sets_other_limits(tmp_path: Path) -> None:
    allowed = "{producers: 100, partitions: 10000, phase: 24h, max_bytes_per_trial: 900000TB, local: true, wait: 24h}"
    generous = config_of(tmp_path, f"limits: {allowed}\n")
    spec, changes = told(GREEDY, generous)
    assert list(changes) == ["safety.min_free_disk"]
    assert spec.executor is Executor.LOCAL


def test_budgets_are_limited_also_where_the_study_sets_none(tmp_path: Path) -> None:
    config = config_of(tmp_path, "limits: {hours: 8, max_bytes: 1TB}\n")
    spec, changes = told("study: endless\nworkload: {record_bytes: 100}\nsearch: {hours: 9, trials: 1000000}\n", config)
    assert (spec.search.hours, spec.search.max_bytes) == (8.0, 10**12)
    assert changes == {
        "search.hours": "was lowered from 9 hours to 8 hours, the most that this service allows",
        "search.max_bytes": "was lowered from no limit to 1,000,000,000,000 bytes, the most that this service allows",
    }


def test_the_value_of_an_environment_variable_is_not_told(tmp_path: Path) -> None:
    config = config_of(tmp_path, "environment: [COUNT]\n")
    text = 'study: curious\nworkload: {record_bytes: 100, producers: "${COUNT:-1\\n2}"}\n'
    _, changes = told(text, config, COUNT="77")
    assert changes == {
        "workload.producers": "was lowered from ${COUNT:-1\\n2} to 10, the most that this service allows"
    }


def test_a_simulated_study_may_name_any_executor() -> None:
    spec, changes = told(GREEDY + "target: simulated\n", load_config(None))
    assert spec.executor is Executor.SIMULATED
    assert "executor.kind" not in changes


def test_the_answer_to_a_verification_says_what_was_changed(tmp_path: Path) -> None:
    (tmp_path / "studies").mkdir()
    asked = {"file": "a.properties", "config": {"linger.ms": 20}, "target": "simulated", "seconds": 86_400}
    with in_process(tmp_path / "studies") as service:
        kind = {"content-type": "application/json"}
        body = json.dumps(asked).encode()
        found = service.ask("POST", "/v1/verifications", body=body, headers=kind)
    assert found.status == 201, found.text
    keys = ("workload.saturate.measured", "workload.paced.measured")
    assert found.json["limited"] == [{"key": key, "detail": CHANGED[key]} for key in keys]


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Serving]:
    with serving(tmp_path / "studies") as found:
        yield found


@pytest.mark.campaign
def test_the_response_the_log_the_record_and_the_command_name_the_values_that_limits_changed(
    served: Serving, tmp_path: Path
) -> None:
    text = study_file("greedy", trials=2) + "safety: {max_bytes_per_trial: 900000TB}\n"
    (tmp_path / "greedy.yaml").write_text(text)
    key = "safety.max_bytes_per_trial"
    assert served.submit(text).json["limited"] == [{"key": key, "detail": CHANGED[key]}]
    for words in ((), ("--quiet",), ("--json",)):
        ran = tuner("--server", served.url, "run", str(tmp_path / "greedy.yaml"), "--detach", *words)
        assert f"warning: {key} {CHANGED[key]}" in " ".join(ran.err.split())
    assert ended(served, "greedy") == "complete"
    forked = tuner("--server", served.url, "fork", "greedy", "greedy-2", "--json")
    assert f"warning: {key} {CHANGED[key]}" in " ".join(forked.err.split())
    assert "limited" not in forked.json, "the output is that of the command without a service"
    fork = served.ask("POST", "/v1/studies/greedy/fork?name=greedy-3")
    assert fork.json["limited"] == [{"key": key, "detail": CHANGED[key]}]
    folder = served.root / "greedy"
    assert f"{key} {CHANGED[key]}" in " ".join((folder / "service.log").read_text().split())
    assert (folder / "study.yaml").read_text() == f"{text}\n# {key} {CHANGED[key]}\n"
