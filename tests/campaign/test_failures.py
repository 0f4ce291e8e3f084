"""The failure campaign in a short version; `make failures` runs the long one."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.campaign.failures import LOCAL, Outcome, real_studies, step_clock
from tests.campaign.invariants import STANDSTILL_S, Invariants, standstill_s
from tests.campaign.served_failures import SERVED, served_studies
from tests.campaign.small_disk import fill_disk
from tests.helpers.campaign_form import LONG_CAMPAIGN
from tests.helpers.invented_studies import trial
from tests.helpers.postgres_server import PostgresServer, served
from tuner.model.spec import Executor

SHORT = (
    ("kill", "driver"),
    ("pause", "load process"),
    ("cut", "driver and PostgreSQL"),
)


@pytest.fixture(scope="module")
def server(own_places: None) -> Iterator[PostgresServer]:
    """Start a server that waits for its disk at each commit, so that it can be killed."""
    yield from served(durable=True)


@pytest.fixture
def outcome() -> Iterator[Outcome]:
    """Give an outcome, in which no violation may stand at the end."""
    outcome = Outcome()
    yield outcome
    assert not outcome.invariants.broken
    assert outcome.invariants.trials


@pytest.mark.broker
# MLflow uses deprecated functions of SQLAlchemy when this process creates its store.
@pytest.mark.long
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_parts_of_real_studies_that_fail_lose_nothing(server: PostgresServer, outcome: Outcome) -> None:
    faults = LOCAL if LONG_CAMPAIGN else SHORT
    with real_studies(server, outcome, seed=20261123, mlflow=LONG_CAMPAIGN) as studies:
        studies.fail(faults, Executor.LOCAL)
    assert set(outcome.faults) == set(faults)


@pytest.mark.long
def test_parts_of_a_service_that_fail_lose_nothing(tmp_path: Path, outcome: Outcome) -> None:
    faults = SERVED if LONG_CAMPAIGN else [fault for fault in SERVED if fault[0] != "pause"]
    with served_studies(tmp_path, outcome) as studies:
        studies.fail(faults)
    assert set(outcome.faults) == set(faults)


@pytest.mark.long
def test_a_full_disk_loses_nothing_and_ends_in_a_sentence(tmp_path: Path, outcome: Outcome) -> None:
    try:
        assert fill_disk(tmp_path, outcome.invariants, every=8) > 2
    except PermissionError as error:
        pytest.skip(str(error))


@pytest.mark.long
def test_steps_of_the_clock_lose_nothing(server: PostgresServer, tmp_path: Path, outcome: Outcome) -> None:
    try:
        step_clock(server, tmp_path, outcome, steps=12 if LONG_CAMPAIGN else 4)
    except FileNotFoundError as error:
        pytest.skip(str(error))


def test_the_invariants_see_what_is_lost_doubled_and_changed() -> None:
    found = Invariants()
    found.nothing_lost_or_doubled("night", [trial(1), trial(2)], [], "the start")
    assert not found.broken
    found.nothing_lost_or_doubled("night", [trial(1), trial(3), trial(3)], [trial(4).as_json()], "a kill")
    assert found.broken == [
        "after a kill: trial 1000/0003 of night is stored 2 times",
        "after a kill: trial 1000/0002 of night is lost",
        "after a kill: trial 1000/0004 of night is lost",
    ]
    found.nothing_lost_or_doubled("other", [trial(1)], [], "a kill")
    found.nothing_lost_or_doubled("other", [trial(1, mb_per_s=11.0)], [], "a cut")
    assert found.broken[-1] == "after a cut: trial 1000/0001 of other has changed"


def test_the_invariants_see_a_pause_in_a_measurement() -> None:
    def series(*windows: tuple[float, float]) -> list[dict[str, float]]:
        return [{"at_s": at_s, "records_per_s": rate} for at_s, rate in windows]

    assert standstill_s(series((1, 9), (2, 0), (3, 9))) < STANDSTILL_S
    assert standstill_s(series((1, 9), (7, 9), (8, 9))) > STANDSTILL_S, "the load process stood still"
    assert standstill_s(series((1, 9), *((second, 0) for second in range(2, 8)))) > STANDSTILL_S, "the broker did"
    found = Invariants()
    stopped = {"series": series((1, 9), (7, 9))}
    found.no_pause_believed("night", [trial(1, flagged=True)], lambda *_: stopped, "a pause")
    assert not found.broken
    found.no_pause_believed("night", [trial(2)], lambda *_: stopped, "a pause")
    found.budget_kept("night", 2e8, 1e8, "a pause")
    assert len(found.broken) == 2
