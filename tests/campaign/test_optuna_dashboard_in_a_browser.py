"""optuna-dashboard in a real browser shows a study that `tuner export` wrote."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.campaign.browser import await_server, needs_browser, page
from tests.helpers.command import arguments
from tests.helpers.ports import free_port
from tuner.execution.studies.run import measure_study
from tuner.execution.studies.study_progress import SilentReporter
from tuner.study_file import parse_study

pytestmark = [needs_browser, pytest.mark.long]
_STUDY = """
study: shown
workload: {record_bytes: [1000]}
executor: {kind: simulated}
search: {trials: 10}
confirm: {rounds: 0}
"""


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    root = tmp_path_factory.mktemp("studies")
    spec = parse_study(_STUDY, name="shown", folder=root, origin="the test", environ={})
    measure_study(spec, _STUDY, root / "shown", SilentReporter())
    storage = f"sqlite:///{root / 'optuna.db'}"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KAFKA_TUNER_STUDIES", str(root))
        subprocess.run(arguments("export", "shown", "--to", storage), check=True, capture_output=True)
    port = free_port()
    dashboard = Path(sys.executable).parent / "optuna-dashboard"
    server = subprocess.Popen(
        [dashboard, storage, "--host", "127.0.0.1", "--port", str(port)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        await_server(server, f"http://127.0.0.1:{port}/")
        yield f"http://127.0.0.1:{port}"
    finally:
        server.terminate()
        server.wait()


def test_the_study_is_listed(address: str, tmp_path: Path) -> None:
    assert "shown 1000 B" in page(f"{address}/dashboard", tmp_path)


def test_trials_have_params_values_and_user_attributes(address: str, tmp_path: Path) -> None:
    shown = page(f"{address}/dashboard/studies/1/trials?numbers=1", tmp_path)
    for text in ("linger.ms", "batch.size", "mb_per_s", "latency_p99_ms", "verdict", "guarantee"):
        assert text in shown, text


def test_the_dashboard_draws_the_front(address: str, tmp_path: Path) -> None:
    shown = page(f"{address}/dashboard/studies/1", tmp_path)
    assert "Pareto Front" in shown
    assert "js-plotly-plot" in shown
