"""PostgreSQL and the drivers of a study are killed repeatedly, and no trial is lost or stored twice."""

import signal
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from random import Random
from typing import Any
from urllib.parse import quote

import pytest

from tests.campaign.child import GATE
from tests.campaign.shared_child import SharedDriver
from tests.campaign.test_killed_driver import confirmed, searched
from tests.helpers.campaign_form import LONG_CAMPAIGN
from tests.helpers.postgres_server import PASSWORD, PostgresServer, served
from tests.helpers.shared_storage import storage_of
from tests.helpers.studies import Steady, Told, simulated_study
from tuner.execution.studies.run import measure_study
from tuner.model.progress import StudyState
from tuner.model.spec import StudySpec
from tuner.model.trial import PACED, SATURATED, Trial
from tuner.results.study_results import load_results

KILLS = 25 if LONG_CAMPAIGN else 6
TRIALS = 40 if LONG_CAMPAIGN else 16
STEP_S = 0.02
SEED = 20261121
LEASE_S = 4.0
AWAY_S = 2.5


@pytest.fixture(scope="module")
def server(own_places: None) -> Iterator[PostgresServer]:
    """Start a server that waits for its disk at each commit, so that it can be killed."""
    yield from served(durable=True)


@pytest.fixture
def url(server: PostgresServer, request: pytest.FixtureRequest) -> str:
    name = request.node.name
    server.execute(f'CREATE DATABASE "{name}"')
    return server.url(quote(name, safe=""))


@pytest.fixture(scope="module")
def straight(tmp_path_factory: pytest.TempPathFactory) -> list[Trial]:
    """Return the trials of the same study in a folder, when nothing is killed."""
    folder = tmp_path_factory.mktemp("straight")
    results = measure_study(spec(), "", folder, Told(), simulated=Steady())
    return [trial for size in results.sizes for trial in size.trials]


def spec() -> StudySpec:
    return simulated_study((100, 1000), trials=TRIALS, burn_in_max=1)


def assert_whole(url: str, reported: list[dict[str, Any]], straight: list[Trial], most_untold: int) -> None:
    """Check that all reported trials are stored once, and that they are those of a study without kills."""
    store = storage_of(url).read(Path("small"))
    try:
        trials = [trial for _, trial in store.trials()]
        for trial in trials:
            assert store.attachment(trial, SATURATED) or store.attachment(trial, PACED)
    finally:
        store.close()
    there = {trial.key: trial.as_json() for trial in trials}
    assert len(there) == len(trials)
    for told in reported:
        assert there[f"{told['record_bytes']}/{told['number']:04d}"] == told
    assert len(reported) <= len(trials) <= len(reported) + most_untold
    by_size = sorted(trials, key=lambda trial: trial.record_bytes)
    assert searched(by_size) == searched(sorted(straight, key=lambda trial: trial.record_bytes))
    assert confirmed(by_size) == confirmed(sorted(straight, key=lambda trial: trial.record_bytes))
    storage = storage_of(url)
    assert load_results(Path("small"), storage).finished
    with closing(storage.read(Path("small"))) as store:
        progress = store.progress()
    assert progress is not None
    assert progress.state is StudyState.FINISHED


@pytest.mark.long
def test_a_server_killed_again_and_again_loses_and_doubles_nothing(
    server: PostgresServer, url: str, tmp_path: Path, straight: list[Trial]
) -> None:
    chance, kills = Random(SEED), 0
    with SharedDriver(url, tmp_path / "small", spec(), step_s=STEP_S, lease_s=LEASE_S) as driver:
        seen = 1
        while kills < KILLS and driver.wait_for_trials(seen):
            time.sleep(chance.uniform(0, 0.2))
            server.kill()
            kills += 1
            time.sleep(chance.choice([0.0, 0.5, AWAY_S]))
            server.start()
            seen = len(driver.trials) + chance.randrange(1, 5)
        assert driver.wait() == 0, driver.errors
    assert kills == KILLS
    assert_whole(url, driver.trials, straight, most_untold=0)
    assert PASSWORD not in server.log


@pytest.mark.long
def test_a_driver_that_is_killed_is_followed_by_one_on_another_host(
    server: PostgresServer, url: str, tmp_path: Path, straight: list[Trial]
) -> None:
    chance, kills = Random(SEED + 1), 0
    reported: list[dict[str, Any]] = []
    while True:
        folder = tmp_path / f"host{kills}" / "small"
        with SharedDriver(url, folder, spec(), step_s=STEP_S, lease_s=LEASE_S) as driver:
            if kills < KILLS and driver.wait_for_trials(chance.randrange(1, 6)):
                time.sleep(chance.uniform(0, 0.1))
                driver.send(signal.SIGKILL)
            code = driver.wait()
        reported += driver.trials
        if code == 0:
            break
        assert code == -signal.SIGKILL, driver.errors
        kills += 1
    assert kills >= KILLS // 2, "the study ended before enough kills"
    assert_whole(url, reported, straight, most_untold=kills)


@pytest.mark.long
def test_a_server_and_a_driver_killed_together_lose_no_trial(
    server: PostgresServer, url: str, tmp_path: Path, straight: list[Trial]
) -> None:
    chance, kills = Random(SEED + 2), 0
    reported: list[dict[str, Any]] = []
    while True:
        folder = tmp_path / f"host{kills}" / "small"
        with SharedDriver(url, folder, spec(), step_s=STEP_S, lease_s=LEASE_S) as driver:
            if kills < KILLS // 2 and driver.wait_for_trials(chance.randrange(1, 8)):
                time.sleep(chance.uniform(0, 0.1))
                server.kill()
                driver.send(signal.SIGKILL)
                server.start()
            code = driver.wait()
        reported += driver.trials
        if code == 0:
            break
        kills += 1
    assert kills == KILLS // 2
    assert_whole(url, reported, straight, most_untold=kills)


def test_a_second_driver_is_refused_and_a_paused_one_replaced(
    server: PostgresServer, url: str, tmp_path: Path, straight: list[Trial]
) -> None:
    def driver_on(host: str, **environ: str) -> SharedDriver:
        folder = tmp_path / host / "small"
        return SharedDriver(url, folder, spec(), step_s=STEP_S, lease_s=LEASE_S, environ=environ)

    # The first driver waits in the search until the second has replaced it. An interrupted round would be repeated.
    gate = tmp_path / "replaced"
    with driver_on("one", **{GATE: str(gate)}) as one:
        assert one.wait_for_trials(1)
        with driver_on("two") as two:
            assert two.wait() == 1
            assert two.errors == ["StudyBusy"]
            assert two.trials == []
        one.send(signal.SIGSTOP)
        with driver_on("three") as three:
            assert three.wait_for_trials(2)
            gate.touch()
            one.send(signal.SIGCONT)
            assert one.wait() == 1
            assert one.errors == ["StudyTakenOver"]
            assert three.wait() == 0, three.errors
    reported = one.trials + three.trials
    assert len({f"{each['record_bytes']}/{each['number']}" for each in reported}) == len(reported)
    assert_whole(url, reported, straight, most_untold=1)
