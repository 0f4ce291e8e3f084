"""A study whose driver is killed or stopped at any moment resumes as if nothing had happened."""

import signal
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import psutil
import pytest

from runners.clusters.cluster import RunningCluster
from search_spaces import ProducerConfig, client_of
from tests.campaign.brokers import our_topics
from tests.campaign.child import running_study, told
from tests.helpers.campaign_form import LONG_CAMPAIGN
from tests.helpers.clients import CLIENTS, holders, left_by_java
from tests.helpers.studies import (
    THROUGHPUT,
    Steady,
    StoppedAfter,
    Told,
    of_kind,
    on_record,
    real_study,
    simulated_study,
)
from tests.helpers.waiting import eventually
from tuner.execution.studies.run import measure_study
from tuner.model.spec import Method, StudySpec
from tuner.model.trial import PACED, SATURATED, SEARCHING_KINDS, Trial, TrialKind
from tuner.storage.sqlite import SqliteStore

KILLS = 25 if LONG_CAMPAIGN else 6
TRIALS = 30 if LONG_CAMPAIGN else 12
STEP_S = 0.003
SEED = 20261121
TOLD_BEFORE_A_KILL = 6 if LONG_CAMPAIGN else 9
TRIAL_S = 0.03


def searched(trials: list[Trial]) -> list[dict[str, Any]]:
    """Return the trials of the search without their numbers and times.

    Each start of a driver has its own burn-in runs, which shift the numbers of later trials.
    """
    kept = ("record_bytes", "kind", "state", "values", "params", "metrics", "objectives", "violations")
    return [
        {name: trial.as_json()[name] for name in kept}
        for trial in of_kind(trials, TrialKind.BASELINE, TrialKind.SEARCH)
    ]


def confirmed(trials: list[Trial]) -> list[tuple[str, int | None, str]]:
    return [(trial.record_bytes, trial.round, trial.fingerprint) for trial in of_kind(trials, TrialKind.CONFIRM)]


@pytest.mark.parametrize("seed", [SEED])
def test_killing_a_driver_repeatedly_loses_doubles_and_changes_nothing(tmp_path: Path, seed: int) -> None:
    spec = simulated_study(trials=TRIALS)
    straight = tmp_path / "straight"
    measure_study(spec, "", straight, Told(), simulated=Steady())

    killed = tmp_path / "killed"
    chance = Random(seed)
    reported: list[dict[str, Any]] = []
    kills = 0
    while True:
        with running_study(killed, spec, STEP_S) as child:
            facts = told(child)
            if kills < KILLS:
                reported += kill_after(chance.randrange(TOLD_BEFORE_A_KILL), chance.uniform(0, TRIAL_S), child, facts)
            reported += [fact["trial"] for fact in facts if "trial" in fact]
            child.wait()
        if child.returncode == 0:
            break
        assert child.returncode == -signal.SIGKILL
        kills += 1
        assert kills <= KILLS

    trials = on_record(killed)
    there = {trial.key: trial.as_json() for trial in trials}
    for trial in reported:
        assert there[f"{trial['record_bytes']}/{trial['number']:04d}"] == trial
    assert len(reported) <= len(trials) <= len(reported) + kills, "one trial per kill may be stored and not reported"
    assert searched(trials) == searched(on_record(straight))
    assert confirmed(trials) == confirmed(on_record(straight))
    assert set(Counter(confirmed(trials)).values()) == {1}
    assert kills >= KILLS // 2, "the study ended before enough kills"
    assert_attachments(killed, trials)


def kill_after(
    trials: int, delay_s: float, child: "subprocess.Popen[str]", facts: Iterator[dict[str, Any]]
) -> list[dict[str, Any]]:
    """Kill a child some time after it has reported `trials` trials, and return the reported trials."""
    seen: list[dict[str, Any]] = []
    for fact in facts:
        if "trial" in fact:
            seen.append(fact["trial"])
        if len(seen) >= trials:
            time.sleep(delay_s)
            child.kill()
            break
    return seen


def assert_attachments(folder: Path, trials: list[Trial]) -> None:
    store = SqliteStore(folder, create=False)
    try:
        for trial in trials:
            # A config that can't hold the fixed rate is not measured in the saturating phase.
            assert store.attachment(trial, SATURATED) or store.attachment(trial, PACED)
    finally:
        store.close()


@pytest.mark.parametrize(
    "method",
    [
        Method.BAYESIAN,
        Method.NSGA2,
        *(pytest.param(each, marks=pytest.mark.long) for each in (Method.RANDOM, Method.QUASI_RANDOM, Method.GRID)),
    ],
)
def test_a_driver_stopped_repeatedly_searches_like_one_that_is_not(tmp_path: Path, method: Method) -> None:
    # A generation of NSGA-II has 16 trials, so this is more than one.
    spec = simulated_study((100,), trials=22, method=method, burn_in_max=1, rounds=0)
    measure_study(spec, "", tmp_path / "straight", Told(), simulated=Steady())
    stops = run_with_stops(spec, tmp_path / "stopped")
    assert stops == 7
    assert searched(on_record(tmp_path / "stopped")) == searched(on_record(tmp_path / "straight"))


def run_with_stops(spec: StudySpec, folder: Path) -> int:
    stops = 0
    while True:
        try:
            measure_study(spec, "", folder, StoppedAfter(3, *SEARCHING_KINDS), simulated=Steady())
        except KeyboardInterrupt:
            stops += 1
            assert stops < 1_000
        else:
            return stops


def test_a_finished_study_that_is_run_again_measures_nothing(tmp_path: Path) -> None:
    spec = replace(simulated_study((100,), trials=6), objectives=THROUGHPUT)
    measure_study(spec, "", tmp_path, Told(), simulated=Steady())
    before = on_record(tmp_path)
    again = Told()
    measure_study(spec, "", tmp_path, again, simulated=Steady())
    assert again.trials == []
    assert on_record(tmp_path) == before


@pytest.mark.broker
@pytest.mark.long
@pytest.mark.parametrize("client", CLIENTS)
def test_with_a_killed_driver_its_client_ends_and_the_study_continues(
    tmp_path: Path, broker: RunningCluster, client: str
) -> None:
    spec = replace(real_study(broker.bootstrap, trials=3), baseline=ProducerConfig.parse({}, client_of(client)))
    topics = our_topics(broker)
    with running_study(tmp_path / "real", spec) as child:
        next(fact for fact in told(child) if "trial" in fact)
        driver = psutil.Process(child.pid)
        eventually(lambda: holders(client, driver.children(recursive=True)))
        family = driver.children(recursive=True)
        child.kill()
    eventually(lambda: not [process for process in family if process.is_running()])
    before = on_record(tmp_path / "real")
    assert before
    assert measure_study(spec, "", tmp_path / "real", Told()).finished
    assert on_record(tmp_path / "real")[: len(before)] == before
    assert our_topics(broker) == topics
    assert left_by_java() == []
