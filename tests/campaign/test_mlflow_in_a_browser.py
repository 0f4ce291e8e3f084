"""The MLflow UI in a real browser shows two studies as a user sees them. Needs Chromium (Debian: chromium)."""

import asyncio
import contextlib
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from urllib.parse import quote

import psutil
import pytest

from runners.simulated import SimulatedRunner
from runners.workload import RecordSizes
from tests.campaign.browser import await_server, needs_browser, opened
from tests.campaign.browser import page as page_at
from tests.helpers.command import arguments, tuner
from tests.helpers.ports import free_port
from tuner.execution.studies.run import measure_study
from tuner.execution.studies.study_progress import SilentReporter
from tuner.model.spec import ConfirmSpec, Executor, PhaseSpec, SearchSpec, StudySpec, WorkloadSpec
from tuner.model.trial import TrialKind
from tuner.results.study_results import StudyResults
from tuner.service.responses.query import ResultQuery
from tuner.service.responses.responder import Responder
from tuner.storage.locations import storage_at
from tuner.tracking import MlflowMirror

_DRAWING_S = 5.0
"""MLflow moves its charts into place after their data have come. Only a picture needs to wait for that."""
_CHARTS_DRAWN = "document.querySelectorAll('.js-plotly-plot').length > 0"
_CLOSE_ASSISTANT = """
localStorage["mlflow.assistant.fab.autoOpenedOnFirstLoad_v1"] = "true";
localStorage["mlflow.assistant.panelOpen_v1"] = "false";
setTimeout(() => location.reload()); // after this script has answered
1"""
pytestmark = [
    pytest.mark.long,
    needs_browser,
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]


@pytest.fixture(scope="module")
def studies(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[StudyResults]]:
    root = tmp_path_factory.mktemp("studies")
    small = WorkloadSpec((RecordSizes.fixed(1000),), saturate=PhaseSpec(1.0, 1.0), paced=PhaseSpec(1.0, 1.0))
    spec = StudySpec(
        "first",
        small,
        search=SearchSpec(trials=10, startup_trials=5, burn_in_max=1),
        confirm=ConfirmSpec(rounds=2, max_rounds=2, undo_rounds=0),
        executor=Executor.SIMULATED,
    )
    found = []
    for_pictures = replace(
        spec,
        name="orders",
        workload=replace(small, record_sizes=(RecordSizes.fixed(100),)),
        search=replace(spec.search, trials=40, seed=4),
        confirm=replace(spec.confirm, rounds=8, max_rounds=12),
    )
    for asked in (spec, replace(spec, name="second", search=replace(spec.search, seed=7)), for_pictures):
        mirror = MlflowMirror(root / asked.name, asked.tracking, lambda _: None)
        found.append(measure_study(asked, "", root / asked.name, SilentReporter(), mirror, SimulatedRunner(0.03)))
    return root, found


@pytest.fixture(scope="module")
def address(studies: tuple[Path, list[StudyResults]]) -> Iterator[str]:
    port = free_port()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KAFKA_TUNER_STUDIES", str(studies[0]))
        server = subprocess.Popen(
            arguments("ui", "--port", str(port)), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
    address = f"http://127.0.0.1:{port}"
    try:
        await_server(server, f"{address}/health")
        yield address
    finally:
        for child in psutil.Process(server.pid).children(recursive=True):
            with contextlib.suppress(psutil.NoSuchProcess):
                child.terminate()
        server.terminate()
        server.wait()


def test_each_record_size_is_a_parent_run(address: str, tmp_path: Path) -> None:
    page = page_at(f"{address}/#/experiments/1/runs", tmp_path)
    assert set(re.findall(r"(?:first|second) 1000 B(?= ?<)", page)) == {"first 1000 B", "second 1000 B"}


def test_the_pareto_filter_shows_exactly_the_front(
    address: str, studies: tuple[Path, list[StudyResults]], tmp_path: Path
) -> None:
    wanted = quote("""tags."tuner.pareto" = 'true' and tags."tuner.study" = 'first'""")
    # If the runs are sorted by a metric, MLflow shows child runs in a flat list.
    page = page_at(f"{address}/#/experiments/1/runs?searchFilter={wanted}&orderByKey=metrics.%60mb_per_s%60", tmp_path)
    shown = {int(number) for number in re.findall(r">first 1000 B trial (\d+)<", page)}
    assert shown == set(studies[1][0].sizes[0].front)


@pytest.fixture(scope="module")
def links(address: str, studies: tuple[Path, list[StudyResults]]) -> dict[str, str]:
    """The links to the views of the first study, by name, as `tuner ui` prints them."""
    return _links("first", address, studies[0])


def _links(study: str, address: str, root: Path) -> dict[str, str]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KAFKA_TUNER_STUDIES", str(root))
        lines = tuner("ui", study, "--tracking-uri", address).out.splitlines()
    found = [line.rpartition(": http") for line in lines]
    return {name: f"http{rest}" for name, _, rest in found}


@pytest.mark.parametrize(
    ("view", "columns"),
    [
        ("first 1000 B: front", ("mb_per_s", "latency_p99_ms", "mb_per_s_x_baseline")),
        ("first: all trials", ("mb_per_s", "latency_p99_ms", "mb_per_s_x_baseline")),
        ("first: confirmations", ("mb_per_s", "latency_p99_ms")),
        ("Studies side by side (mb_per_s, latency_p99_ms)", ("hypervolume", "best_mb_per_s")),
    ],
)
def test_a_prepared_view_has_our_columns_and_rows(
    links: dict[str, str],
    studies: tuple[Path, list[StudyResults]],
    tmp_path: Path,
    view: str,
    columns: tuple[str, ...],
) -> None:
    page = page_at(links[view], tmp_path)
    for column in columns:
        assert f">{column}<" in page
    trials = studies[1][0].sizes[0].trials
    shown = set(re.findall(r">((?:first|second) 1000 B(?: trial \d+)?)<", page))
    wanted = {
        "first 1000 B: front": {f"first 1000 B trial {number}" for number in studies[1][0].sizes[0].front},
        "first: all trials": {f"first 1000 B trial {trial.number}" for trial in trials},
        "first: confirmations": {
            f"first 1000 B trial {trial.number}" for trial in trials if trial.kind is TrialKind.CONFIRM
        },
    }
    assert shown == wanted.get(view, {"first 1000 B", "second 1000 B"})


def test_the_prepared_charts_are_shown(links: dict[str, str], tmp_path: Path) -> None:
    page = page_at(links["first 1000 B: charts"], tmp_path)
    assert "first 1000 B: charts" in page
    assert "mb_per_s vs. latency_p99_ms" in page
    assert "Parallel" in page
    assert "hypervolume" in page


def test_the_views_and_a_run_are_pictures_in_the_documents(
    address: str, studies: tuple[Path, list[StudyResults]], tmp_path: Path
) -> None:
    views = _links("orders", address, studies[0])
    (run,) = _parent_runs(studies[0], "orders 100 B")
    own_page = f"{address}/#/experiments/1/runs/{run}"
    steps = (
        (views["orders 100 B: front"], _has("orders 100 B trial"), 1_400, "mlflow-front.png"),
        (views["orders 100 B: charts"], _CHARTS_DRAWN, 1_400, "mlflow-charts.png"),
        (f"{own_page}?workflowType=machine_learning", _has("Description"), 1_700, "mlflow-run.png"),
    )

    async def look() -> None:
        async with opened(steps[0][0], tmp_path) as page:
            await page.until(_has("MLflow Assistant"))
            await page.evaluate(_CLOSE_ASSISTANT)
            for link, complete, width_px, picture in steps:
                await page.screen(width_px, 1150)
                await page.evaluate(f"location.href = {json.dumps(link)}; 1")
                await page.until(complete)
                await asyncio.sleep(_DRAWING_S)
                await page.keep(picture)

    asyncio.run(look())


def test_the_service_links_to_the_same_views(
    address: str, links: dict[str, str], studies: tuple[Path, list[StudyResults]]
) -> None:
    query = ResultQuery.of("first", "mlflow_views", address=address)
    answer = Responder(storage_at(), studies[0]).responses(query)[query]
    assert json.loads(answer.body) == links


def test_two_studies_are_compared(address: str, studies: tuple[Path, list[StudyResults]], tmp_path: Path) -> None:
    runs = _parent_runs(studies[0])
    assert len(runs) == 2
    of = quote("[" + ",".join(f'"{run}"' for run in runs) + "]")
    page = page_at(f"{address}/#/compare-runs?runs={of}&experiments=%5B%221%22%5D", tmp_path)
    assert "Comparing 2 Runs" in page
    assert set(re.findall(r"(?:first|second) 1000 B(?= ?<)", page)) == {"first 1000 B", "second 1000 B"}
    assert "hypervolume" in page


def _has(text: str) -> str:
    """Return the script that asks whether a page shows a text."""
    return f"document.body?.innerText.includes({json.dumps(text)})"


def _parent_runs(root: Path, name: str = "% 1000 B") -> list[str]:
    """Return the ids of the parent runs of this name.

    They are read in a separate process, because the client of MLflow keeps its files open.
    """
    asked = (
        "import sys; from mlflow import MlflowClient;"
        "found = MlflowClient(sys.argv[1]).search_runs(['1'], f'attributes.run_name LIKE \\'{sys.argv[2]}\\'');"
        "print(*[run.info.run_id for run in found])"
    )
    ran = subprocess.run(
        [sys.executable, "-c", asked, f"sqlite:///{root / 'mlflow.db'}", name],
        capture_output=True,
        text=True,
        check=True,
    )
    return ran.stdout.split()
