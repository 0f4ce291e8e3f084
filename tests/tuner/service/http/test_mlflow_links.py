"""The page of a study links to the study's prepared views in MLflow."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.stored_studies import write_study
from tests.tuner.service.http.test_pages import page
from tuner.model.facts import IN_MLFLOW
from tuner.service.responses.query import ResultQuery
from tuner.service.responses.responder import Responder
from tuner.storage.locations import storage_at

ADDRESS = "https://mlflow.example/team"


def links(root: Path, **facts: Any) -> dict[str, str]:
    write_study(root / "overnight", trials=12, facts=facts)
    query = ResultQuery.of("overnight", "mlflow_views", address=ADDRESS)
    found: dict[str, str] = json.loads(Responder(storage_at(), root).responses(query)[query].body)
    return found


def test_the_links_open_the_saved_views(tmp_path: Path) -> None:
    found = links(tmp_path, **{IN_MLFLOW: {"experiment_id": "7", "views": True}})
    assert list(found)[:2] == ["overnight 1000 B: front", "overnight 1000 B: charts"]
    assert {"overnight: all trials", "overnight: confirmations"} <= set(found)
    for link in found.values():
        assert link.startswith(f"{ADDRESS}/#/experiments/7/runs?viewStateShareKey=tuner-")


def test_the_links_hold_the_filter_if_mlflow_refused_the_views(tmp_path: Path) -> None:
    found = links(tmp_path, **{IN_MLFLOW: {"experiment_id": "7", "views": False}})
    assert "runs?searchFilter=" in found["overnight 1000 B: front"]


def test_a_study_that_mlflow_is_not_known_to_hold_has_no_links(tmp_path: Path) -> None:
    assert links(tmp_path) == {}


@pytest.mark.parametrize(("views", "shown"), [({"front": f"{ADDRESS}/#/x"}, f'href="{ADDRESS}/#/x"'), ({}, ADDRESS)])
def test_the_page_links_to_the_views_or_else_to_mlflow(tmp_path: Path, views: dict[str, str], shown: str) -> None:
    text = page(tmp_path, mlflow=(ADDRESS, views))
    assert shown in text
    assert ("every trial in MLflow" in text) == (not views)
