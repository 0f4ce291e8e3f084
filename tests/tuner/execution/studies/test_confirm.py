"""Rounds on newly started brokers, or spread over time, so that their scatter shows how starts and hours differ."""

import datetime
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from runners.simulated import SimulatedRunner
from search_spaces.configs.producer_config import ProducerConfig
from tests.helpers.studies import Told, on_record, simulated_study
from tests.helpers.trials import baseline
from tuner.confirmation.plan import ConfirmationPlan, plans_in
from tuner.execution.budgets.budget import WallClock
from tuner.execution.studies.run import measure_study
from tuner.model.goals import Goal
from tuner.model.spec import Executor, NewBroker, StudySpec
from tuner.model.study_time import rounds_on_new_brokers, spreads_rounds
from tuner.model.target import Target
from tuner.model.trial import Trial, TrialKind
from tuner.results.study_results import load_results
from tuner.storage.sqlite import SqliteStore

EVENING = datetime.datetime(2026, 3, 1, 22, 0)
HOUR = datetime.timedelta(hours=1)


@dataclass(slots=True)
class Night:
    """A wall clock that moves only while the study waits.

    Attributes:
        at: The time.
        stops_at: The time at which the study is interrupted by Ctrl-C.
        slept: How long the study waited each time, in seconds.
    """

    at: datetime.datetime = EVENING
    stops_at: datetime.datetime = EVENING + 1000 * HOUR
    slept: list[float] = field(default_factory=list)

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        # At least the clock's resolution: a shorter sleep would never end, as the clock would stand still.
        self.at += max(datetime.timedelta(seconds=seconds), datetime.timedelta.resolution)
        if self.at >= self.stops_at:
            raise KeyboardInterrupt


@dataclass(slots=True)
class Timed(Told):
    """A `Reporter` that notes when the first trial of each round ended.

    Attributes:
        night: The clock.
        rounds: When the first trial of a round ended, by record size and number of the round.
    """

    night: Night = field(default_factory=Night)
    rounds: dict[tuple[str, int], datetime.datetime] = field(default_factory=dict)

    def trial(self, progress: object, trial: Trial) -> None:
        self.trials.append(trial)
        if trial.kind is TrialKind.CONFIRM and trial.round is not None:
            self.rounds.setdefault((trial.record_bytes, trial.round), self.night.at)


def spread(hours: float = 4, rounds: int = 4, sizes: tuple[int, ...] = (1000,)) -> StudySpec:
    spec = simulated_study(sizes, rounds=rounds, trials=6, burn_in_max=1)
    return replace(spec, confirm=replace(spec.confirm, spread_over_s=hours * 3600, goals=(Goal.LATENCY,)))


def run(folder: Path, night: Night, spec: StudySpec) -> Timed:
    told = Timed(night=night)
    measure_study(spec, "", folder, told, simulated=SimulatedRunner(), clock=WallClock(lambda: night.at, night.sleep))
    return told


def plans_of(folder: Path, size: str = "1000") -> tuple[ConfirmationPlan, ...]:
    with closing(SqliteStore(folder, create=False)) as store:
        return plans_in(store.facts(), size)


def own_brokers(**confirm: object) -> StudySpec:
    spec = replace(simulated_study((1000,), rounds=4, trials=6), executor=Executor.LOCAL)
    return replace(spec, confirm=replace(spec.confirm, goals=(Goal.LATENCY,), **confirm))  # type: ignore[arg-type]


def first_of_rounds(trials: list[Trial]) -> list[int]:
    """Return the indices of the trials that are the first of their round."""
    before = [None, *(each.round for each in trials)]
    return [
        place for place, each in enumerate(trials) if each.kind is TrialKind.CONFIRM and each.round != before[place]
    ]


def test_the_rounds_are_spread_over_the_time(tmp_path: Path) -> None:
    told = run(tmp_path, Night(), spread())
    assert told.rounds == {("1000", number): EVENING + number * HOUR for number in range(4)}
    waits = [each for each in told.sentences if "waiting" in each]
    assert len(waits) == 3
    assert "waiting until 2026-03-01 23:00 for round 2" in waits[0]
    assert plans_of(tmp_path)[0].in_sessions(told.trials)


def test_rounds_that_follow_closely_after_an_interruption_are_one_session(tmp_path: Path) -> None:
    spec = spread(2)
    spec = replace(spec, search=replace(spec.search, until="2026-03-02 00:30"))
    stopped = Night(stops_at=EVENING + 0.1 * HOUR)
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path, stopped, spec)
    told = run(tmp_path, Night(EVENING + 2.25 * HOUR), spec)
    assert len(told.rounds) == 3, "the rounds that the study needs begin before its end"
    (plan,) = plans_of(tmp_path)
    assert plan.gap_s == 1800
    assert not plan.in_sessions(on_record(tmp_path))
    (size,) = load_results(tmp_path).sizes
    assert not any(each.in_sessions for each in size.confirmations)


def users_cluster(until: str, *sizes: int, **confirm: object) -> StudySpec:
    """Return a study on a user's cluster, of which only the measurements are simulated."""
    spec = simulated_study(sizes or (1000,), rounds=4, trials=6, burn_in_max=1, until=until)
    confirmed = replace(spec.confirm, goals=(Goal.LATENCY,), **confirm)  # type: ignore[arg-type]
    return replace(
        spec, confirm=confirmed, executor=Executor.LOCAL, targets=(Target(bootstrap="cluster.example:9092"),)
    )


def test_on_a_users_cluster_the_rounds_take_the_time_that_the_search_leaves(tmp_path: Path) -> None:
    told = run(tmp_path, Night(), users_cluster("23:15"))
    hours = [(at - EVENING) / HOUR for at in told.rounds.values()]
    assert hours == pytest.approx([0, 5 / 12, 10 / 12, 15 / 12], abs=0.05)
    (plan,) = plans_of(tmp_path)
    assert plan.in_sessions(told.trials)


def test_each_record_size_spreads_its_rounds_over_its_own_time(tmp_path: Path) -> None:
    told = run(tmp_path, Night(), users_cluster("00:30", 100, 1000))
    hours = [(at - EVENING) / HOUR for at in told.rounds.values()]
    quarters = [0, 1, 2, 3, 3, 4, 5, 6]
    assert hours == pytest.approx([each * 5 / 12 for each in quarters], abs=0.05)


@pytest.mark.parametrize(
    ("until", "confirm"),
    [("22:40", {}), ("07:00", {"spread_over_s": 0.0})],
    ids=["forty minutes are too short", "turned off"],
)
def test_rounds_that_are_not_spread_follow_one_another(tmp_path: Path, until: str, confirm: dict[str, object]) -> None:
    night = Night()
    told = run(tmp_path, night, users_cluster(until, **confirm))
    assert len(told.rounds) == 4
    assert not night.slept
    assert not plans_of(tmp_path)[0].in_sessions(told.trials)
    assert any("will follow one another" in each for each in told.sentences) is (not confirm)


@pytest.mark.parametrize(
    ("changes", "spreads"),
    [
        ({}, True),
        ({"targets": (Target(),)}, False),
        ({"executor": Executor.SIMULATED}, False),
        ({"confirm": replace(spread().confirm, spread_over_s=3600.0)}, False),
        ({"confirm": replace(spread().confirm, spread_over_s=None, configs=(ProducerConfig.parse({}),))}, False),
    ],
    ids=["a user's cluster", "our own", "simulated", "a given time", "verify"],
)
def test_only_a_search_on_a_users_cluster_spreads_its_rounds_by_default(
    changes: dict[str, object], spreads: bool
) -> None:
    spec = replace(users_cluster("07:00"), **changes)  # type: ignore[arg-type]
    assert spreads_rounds(spec) is spreads
    assert not spreads_rounds(replace(spec, search=replace(spec.search, until=None))), "nothing limits the time"


def test_each_spread_round_begins_with_a_burn_in_run_of_its_first_config(tmp_path: Path) -> None:
    trials = run(tmp_path, Night(), spread()).trials
    begun = first_of_rounds(trials)
    assert len(begun) == 4
    for number in begun:
        assert trials[number - 1].kind is TrialKind.BURN_IN
        assert trials[number - 1].fingerprint == trials[number].fingerprint


def test_an_interrupted_wait_continues_until_the_same_time(tmp_path: Path) -> None:
    stopped = Night(stops_at=EVENING + 1.5 * HOUR)
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path, stopped, spread())
    assert max(stopped.slept) <= 60, "Ctrl-C and a host that slept are noticed soon"
    told = run(tmp_path, Night(EVENING + 1.75 * HOUR), spread())
    assert told.rounds == {("1000", number): EVENING + number * HOUR for number in (2, 3)}


def test_after_a_long_interruption_the_rounds_keep_their_distance(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path, Night(stops_at=EVENING + 0.5 * HOUR), spread())
    told = run(tmp_path, Night(EVENING + 30 * HOUR), spread())
    assert [*told.rounds.values()] == [EVENING + hours * HOUR for hours in (30, 31, 32)]


def test_a_clock_that_is_set_back_does_not_lengthen_the_wait(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path, Night(stops_at=EVENING + 0.5 * HOUR), spread())
    told = run(tmp_path, Night(EVENING - 5 * HOUR), spread())
    assert [*told.rounds.values()] == [EVENING + hours * HOUR for hours in (-4, -3, -2)]


def test_each_record_size_waits_for_its_own_rounds(tmp_path: Path) -> None:
    told = run(tmp_path, Night(), spread(2, 2, (100, 1000)))
    hours = [0, 1, 1, 2]
    assert [*told.rounds.values()] == [EVENING + hour * HOUR for hour in hours]


def test_the_rounds_end_before_the_deadline(tmp_path: Path) -> None:
    spec = spread(8, 4)
    spec = replace(spec, search=replace(spec.search, until="02:00"))
    told = run(tmp_path, Night(), spec)
    assert len(told.rounds) == 4
    assert max(told.rounds.values()) < EVENING + 4 * HOUR
    assert min(told.rounds.values()) == EVENING


def test_a_deadline_that_comes_sooner_shortens_the_wait(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path, Night(stops_at=EVENING + 0.5 * HOUR), spread())
    spec = spread()
    spec = replace(spec, search=replace(spec.search, until="23:15"))
    # The limits of the search have changed, so that a new confirmation begins in the time that is left.
    told = run(tmp_path, Night(EVENING + 0.75 * HOUR), spec)
    assert len(told.rounds) == 4
    assert max(told.rounds.values()) < EVENING + 1.25 * HOUR


def test_no_round_waits_if_spread_over_is_0(tmp_path: Path) -> None:
    night = Night()
    told = run(tmp_path, night, spread(0))
    assert len(told.rounds) == 4
    assert not night.slept
    assert not plans_of(tmp_path)[0].in_sessions(told.trials)


@pytest.mark.parametrize(("gap_s", "in_sessions"), [(60.0, False), (800.0, False), (860.0, True), (3600.0, True)])
def test_rounds_a_minute_apart_count_as_one_session(gap_s: float, in_sessions: bool) -> None:
    plan = ConfirmationPlan(baseline().fingerprint, {}, gap_s=3600.0)
    starts = [EVENING.astimezone() + number * datetime.timedelta(seconds=gap_s) for number in range(3)]
    trials = [
        replace(
            each,
            kind=TrialKind.CONFIRM,
            round=number,
            started_at=(at + place * datetime.timedelta(minutes=3)).isoformat(),
        )
        for number, at in enumerate(starts)
        for place, each in enumerate((baseline(2 * number), baseline(2 * number + 1)))
    ]
    assert plan.in_sessions(trials) is in_sessions
    assert not replace(plan, gap_s=0.0).in_sessions(trials)
    assert not plan.in_sessions([replace(each, started_at="") for each in trials]), "unknown"


def test_each_round_is_on_new_brokers_made_ready_for_its_first_config(tmp_path: Path) -> None:
    told = Told()
    (size,) = measure_study(own_brokers(), "", tmp_path, told, simulated=SimulatedRunner()).sizes
    assert sum("on newly started brokers" in each for each in told.sentences) == 4
    assert plans_of(tmp_path)[0].in_sessions(size.trials)
    trials = list(size.trials)
    begun = first_of_rounds(trials)
    assert len(begun) == 4
    for number in begun:
        burn_ins, measured = trials[number - 2 : number], trials[number : number + 2]
        assert [each.kind for each in (*burn_ins, *measured)] == [TrialKind.BURN_IN] * 2 + [TrialKind.CONFIRM] * 2
        assert [each.fingerprint for each in reversed(burn_ins)] == [each.fingerprint for each in measured]


@pytest.mark.parametrize(
    ("spec", "new_brokers"),
    [
        (own_brokers(), True),
        (own_brokers(new_broker=NewBroker.NEVER), False),
        (own_brokers(configs=(ProducerConfig.parse({"linger.ms": 1}),)), False),
        (own_brokers(new_broker=NewBroker.EACH_ROUND, configs=(ProducerConfig.parse({"linger.ms": 1}),)), True),
        (replace(own_brokers(), targets=(Target(bootstrap="broker:9092"),)), False),
        (replace(own_brokers(), executor=Executor.SIMULATED), False),
    ],
    ids=["own", "never", "verify", "verify on request", "a user's cluster", "simulated"],
)
def test_new_brokers_are_the_default_for_a_search_on_our_own_brokers(spec: StudySpec, new_brokers: bool) -> None:
    assert rounds_on_new_brokers(spec) is new_brokers


def test_a_plan_of_an_older_release_has_all_rounds_on_one_start() -> None:
    stored = ConfirmationPlan(baseline().fingerprint, {}).as_json()
    del stored["new_broker"], stored["gap_s"]
    assert not ConfirmationPlan.from_json(stored).in_sessions(())
