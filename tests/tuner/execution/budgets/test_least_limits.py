"""A new study with too little time or too few bytes is refused with the least: by the API and by the service, too."""

import datetime
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

import tuner
from tests.helpers.service_in_process import in_process
from tests.helpers.serving import Response
from tuner.execution.budgets import estimate
from tuner.execution.budgets.least_limits import check_limits
from tuner.model.errors import ExitCode, LimitTooLow, exit_code_of
from tuner.model.spec import Executor, StudySpec
from tuner.storage.sqlite import SqliteStore
from tuner.study_file import parse_study

STUDY: dict[str, Any] = {"study": "short", "workload": {"record_bytes": 500}, "executor": {"kind": "ray"}}
NOW = datetime.datetime(2026, 11, 24, 22, 0)


def spec_with(**search: object) -> StudySpec:
    text = yaml.safe_dump({**STUDY, "search": search})
    return parse_study(text, name="short", folder=None, origin="the test", environ={})


@pytest.mark.parametrize(
    ("search", "key"),
    [
        ({"hours": 0.03}, "search.hours"),
        ({"until": "22:10"}, "search.until"),
        ({"max_bytes": 1000}, "search.max_bytes"),
    ],
)
def test_the_least_limit_that_the_message_names_is_enough(search: dict[str, object], key: str) -> None:
    with pytest.raises(LimitTooLow) as refused:
        check_limits(spec_with(**search), NOW)
    error = refused.value
    assert error.key == key
    assert exit_code_of(error) is ExitCode.USAGE
    assert str(error) == f"{key}: {error.rule}; give at least {error.least}"
    least = error.least.strip("'")
    enough = spec_with(**{key.removeprefix("search."): float(least) if key == "search.hours" else least})
    check_limits(enough, NOW)
    check_limits(replace(spec_with(**search), executor=Executor.SIMULATED), NOW)


@pytest.mark.parametrize("name", ["short", "other.short"])
def test_the_python_api_refuses_before_anything_is_stored(studies: Path, name: str) -> None:
    SqliteStore(studies / "other").close()
    with pytest.raises(LimitTooLow, match=r"search\.hours: .* give at least [0-9.]+$"):
        tuner.run_study({**STUDY, "study": name, "search": {"hours": 0.03}})
    assert [path.name for path in studies.iterdir()] == ["other"]


def test_the_service_refuses_with_status_422_and_the_least(tmp_path: Path) -> None:
    def submitted(hours: float) -> Response:
        body = json.dumps({**STUDY, "search": {"hours": hours}}).encode()
        return service.ask("POST", "/v1/studies", body=body, headers={"content-type": "application/json"})

    least_h = estimate.least_s(spec_with()) / 3600
    with in_process(tmp_path) as service:
        refused = submitted(0.03)
        assert refused.status == 422
        assert refused.json["type"].endswith("/limit-too-low")
        (error,) = refused.json["errors"]
        assert error["key"] == "search.hours"
        given = float(error["detail"].rpartition("give at least ")[2])
        assert least_h <= given < least_h + 0.02
        assert service.queue.jobs() == []
        assert submitted(given).status == 201
