"""The next measurement of a confirmation follows from the results store alone."""

import math
from collections.abc import Callable, Collection
from random import Random
from typing import Any

import pytest

from search_spaces.configs.producer_config import ProducerConfig
from tests.helpers.trials import OBJECTIVES, baseline, failed, trial
from tuner.confirmation.gains import confirmations_of
from tuner.confirmation.plan import ConfirmationPlan
from tuner.confirmation.steps import least_steps, most_steps, next_step
from tuner.confirmation.undone_changes import variants_of
from tuner.confirmation.winners import MeasuredPlan
from tuner.model.goals import Goal
from tuner.model.spec import ConfirmSpec
from tuner.model.trial import Trial, TrialKind

BASELINE = {"mb_per_s": 100.0, "latency_p99_ms": 10.0}
FAST, FASTER, QUICK = {"linger.ms": "20"}, {"linger.ms": "30"}, {"linger.ms": "1"}
Measure = Callable[[ProducerConfig, Random], tuple[float, float]]


def fingerprint(config: dict[str, str]) -> str:
    return ProducerConfig.parse(config).fingerprint


CONFIGS = {fingerprint(each): ProducerConfig.parse(each) for each in ({}, FAST, FASTER, QUICK)}


def plan(**changes: object) -> ConfirmationPlan:
    good: dict[str, object] = {
        "baseline": baseline().fingerprint,
        "nominees": {
            Goal.THROUGHPUT: (fingerprint(FAST), fingerprint(FASTER)),
            Goal.LATENCY: (fingerprint(QUICK),),
        },
        "nominee_repeats": 2,
        "rounds": 4,
        "max_rounds": 9,
    }
    return ConfirmationPlan(**{**good, **changes})  # type: ignore[arg-type]


def measured(asked: ConfirmationPlan, trials: list[Trial]) -> MeasuredPlan:
    return MeasuredPlan(asked, trials, BASELINE, OBJECTIVES)


def carried_out(
    asked: ConfirmationPlan,
    measure: Measure,
    trials: list[Trial] | None = None,
    fail: Callable[[int], bool] = lambda _: False,
    configs: dict[str, ProducerConfig] = CONFIGS,
) -> list[Trial]:
    """Return the trials of a whole confirmation, with the values that `measure` returns."""
    done, random = list(trials or []), Random(0)
    while step := next_step(measured(asked, done), configs, seed=1):
        kept: dict[str, Any] = {"kind": step.kind, "round": step.round, "config": dict(step.config.values)}
        number = len(done)
        done.append(failed(number, **kept) if fail(number) else trial(number, *measure(step.config, random), **kept))
        assert number < 500
    return done


def steady(config: ProducerConfig, random: Random) -> tuple[float, float]:
    """Return throughput and latency that grow with linger.ms, with 1 % of noise."""
    linger = config.linger_ms
    return 100 * (1 + (linger - 5) / 100) * random.lognormvariate(0, 0.01), 2 * linger * random.lognormvariate(0, 0.01)


def no_better(_: ProducerConfig, random: Random) -> tuple[float, float]:
    return 100 * random.lognormvariate(0, 0.01), 10 * random.lognormvariate(0, 0.01)


def rounds(trials: list[Trial], kind: TrialKind) -> dict[str, int]:
    found: dict[str, int] = {}
    for each in trials:
        if each.kind is kind:
            found[each.fingerprint] = found.get(each.fingerprint, 0) + 1
    return found


def test_repeats_choose_among_several_nominees_of_a_goal() -> None:
    asked = plan()
    trials = carried_out(asked, steady)
    looked = {fingerprint(FAST): 2, fingerprint(FASTER): 2, fingerprint({}): 2}
    assert rounds(trials, TrialKind.REPEAT) == looked, "a single nominee needs no repeats, but the baseline does"
    winners = measured(asked, trials).winners
    assert winners == {Goal.THROUGHPUT: fingerprint(FASTER), Goal.LATENCY: fingerprint(QUICK)}
    assert measured(asked, trials[:3]).winners == {}, "there is no winner before all repeats are there"


def test_a_nominee_that_loses_records_in_a_repeat_can_t_win() -> None:
    asked = plan()

    def losing(config: ProducerConfig, random: Random) -> tuple[float, float]:
        return steady(config, random)

    looked = [
        trial(n, *numbers, kind=TrialKind.REPEAT, round=n // 2, config=config, metrics={"delivered_ratio": delivered})
        for n, (config, numbers, delivered) in enumerate([(FAST, (115.0, 40.0), 1.0), (FASTER, (125.0, 60.0), 0.9)] * 2)
    ]
    trials = carried_out(asked, losing, looked)
    assert measured(asked, trials).winners[Goal.THROUGHPUT] == fingerprint(FAST)


def test_each_round_has_baseline_and_winners_in_a_new_order() -> None:
    trials = carried_out(plan(max_rounds=4), steady)
    confirming = [each for each in trials if each.kind is TrialKind.CONFIRM]
    by_round = [[each.fingerprint for each in confirming if each.round == number] for number in range(4)]
    wanted = sorted([fingerprint({}), fingerprint(FASTER), fingerprint(QUICK)])
    assert [sorted(each) for each in by_round] == [wanted] * 4
    assert len({tuple(each) for each in by_round}) > 1


def test_rounds_end_with_a_narrow_interval_or_at_the_maximum() -> None:
    def noisy(config: ProducerConfig, random: Random) -> tuple[float, float]:
        throughput, latency = steady(config, random)
        return throughput * random.lognormvariate(0, 0.2), latency

    calm = rounds(carried_out(plan(), steady), TrialKind.CONFIRM)
    assert set(calm.values()) == {4}, "with 1 % of noise, the first rounds are enough"
    wild = rounds(carried_out(plan(), noisy), TrialKind.CONFIRM)
    assert wild[fingerprint({})] == 9
    assert wild[fingerprint(QUICK)] == 4, "a config with a narrow interval gets no more rounds"
    assert wild[fingerprint(FASTER)] == 9


@pytest.mark.parametrize(("gain", "wanted"), [(1.05, 4), (1.3, 6), (2.0, 4)])
def test_a_gain_in_p99_gets_rounds_until_one_more_stall_would_not_undo_it(gain: float, wanted: int) -> None:
    def better(config: ProducerConfig, random: Random) -> tuple[float, float]:
        return 100.0, 10 / (gain if config.values else 1.0) * random.lognormvariate(0, 0.003)

    trials = carried_out(plan(nominees={Goal.LATENCY: (fingerprint(QUICK),)}), better)
    assert rounds(trials, TrialKind.CONFIRM)[fingerprint(QUICK)] == wanted


@pytest.mark.parametrize(
    ("gain", "at", "wanted"), [(0.5, 1.0, range(3, 8)), (2.0, 1.0, range(3, 8)), (1.0, 1.0, [8]), (2.0, None, [8])]
)
def test_rounds_end_early_only_if_the_outcome_is_certain(
    gain: float, at: float | None, wanted: Collection[int]
) -> None:
    def measure(config: ProducerConfig, random: Random) -> tuple[float, float]:
        times = gain if config.values else 1.0
        return 100 * times * random.lognormvariate(0, 0.02), 10 / times * random.lognormvariate(0, 0.02)

    asked = plan(
        nominees=dict.fromkeys(Goal, (fingerprint(QUICK),)), rounds=8, max_rounds=8, both_ways=True, decides_at=at
    )
    assert rounds(carried_out(asked, measure), TrialKind.CONFIRM)[fingerprint(QUICK)] in wanted


def test_rounds_end_at_once_if_records_are_lost() -> None:
    asked = plan(nominees={Goal.LATENCY: (fingerprint(QUICK),)}, rounds=8, both_ways=True, decides_at=1.0)
    trials = [
        trial(0, config={}, kind=TrialKind.CONFIRM, round=0),
        trial(1, config=QUICK, kind=TrialKind.CONFIRM, round=0, metrics={"delivered_ratio": 0.9}),
    ]
    assert next_step(measured(asked, trials), CONFIGS, seed=1) is None


def test_checks_after_every_round_rarely_call_an_equal_config_worse() -> None:
    wrong = 0
    asked = plan(nominees={Goal.LATENCY: (fingerprint(QUICK),)}, rounds=8, max_rounds=8, both_ways=True, decides_at=1.0)
    random = Random(5)
    for _ in range(200):
        trials: list[Trial] = []
        while step := next_step(measured(asked, trials), CONFIGS, seed=1):
            numbers = 100 * random.lognormvariate(0, 0.1), 10 * random.lognormvariate(0, 0.1)
            kept: dict[str, Any] = {"kind": step.kind, "round": step.round, "config": dict(step.config.values)}
            trials.append(trial(len(trials), *numbers, **kept))
        (found,) = confirmations_of([measured(asked, trials)])
        wrong += any(gain.high < 1.0 for gain in found.gains.values())
    assert wrong <= 0.05 * 200 + 6, "5 %, plus two standard errors"


def test_a_config_without_a_gain_in_the_first_rounds_gets_no_more() -> None:
    def worse(config: ProducerConfig, random: Random) -> tuple[float, float]:
        factor = 1.0 if not config.values else 0.8
        return factor * 100 * random.lognormvariate(0, 0.1), 10 / factor * random.lognormvariate(0, 0.1)

    trials = carried_out(plan(), worse)
    assert set(rounds(trials, TrialKind.CONFIRM).values()) == {4}
    assert rounds(trials, TrialKind.UNDO) == {}


def test_only_a_proven_winner_gets_undo_rounds() -> None:
    asked = plan(undo_rounds=2)
    assert rounds(carried_out(asked, no_better), TrialKind.UNDO) == {}
    # linger.ms is the only change of these configs. Without it they are the baseline, which the rounds have measured.
    assert rounds(carried_out(asked, steady), TrialKind.UNDO) == {}
    two = {"linger.ms": "30", "batch.size": "65536"}
    wide = {**CONFIGS, fingerprint(two): ProducerConfig.parse(two)}
    asked = plan(undo_rounds=2, nominees={Goal.THROUGHPUT: (fingerprint(two),)})
    taken = rounds(carried_out(asked, steady, configs=wide), TrialKind.UNDO)
    assert taken == dict.fromkeys([fingerprint(two), fingerprint(FASTER), fingerprint({"batch.size": "65536"})], 2)


def test_each_change_is_undone_with_the_knobs_that_depend_on_it() -> None:
    config = ProducerConfig.parse(
        {"linger.ms": "1", "compression.type": "zstd", "compression.level": "3", "batch.size": "65536"}
    )
    found = variants_of(config, ProducerConfig.parse({"linger.ms": "7"}))
    assert set(found) == {"linger.ms", "compression.type", "batch.size"}
    assert found["linger.ms"].values == {**config.values, "linger.ms": "7"}
    assert set(found["compression.type"].values) == {"linger.ms", "batch.size"}
    assert variants_of(config, config) == {}


def test_a_failed_measurement_is_not_repeated() -> None:
    trials = carried_out(plan(), steady, fail=lambda number: number % 5 == 4)
    there = [(each.kind, each.round, each.fingerprint) for each in trials]
    assert len(there) == len(set(there))


def test_a_confirmation_can_be_continued_after_any_measurement() -> None:
    asked = plan(undo_rounds=2)
    whole = carried_out(asked, steady)
    steps = [(each.kind, each.round, each.fingerprint) for each in whole]
    for kept in range(len(whole)):
        step = next_step(measured(asked, whole[:kept]), CONFIGS, seed=1)
        assert step is not None
        assert (step.kind, step.round, step.config.fingerprint) == steps[kept]


def test_rounds_of_an_earlier_confirmation_do_not_count() -> None:
    earlier = carried_out(plan(), no_better)
    spec = ConfirmSpec(rounds=8, max_rounds=8, nominee_repeats=2, undo_rounds=0)
    later = ConfirmationPlan.of(spec, baseline().fingerprint, plan().nominees, earlier)
    assert later.first_round > max(each.round for each in earlier if each.round is not None)
    trials = carried_out(later, steady, earlier)
    assert len(trials) > len(earlier)
    found = {each.fingerprint: each for each in confirmations_of([measured(later, trials)])}
    assert found[fingerprint(FASTER)].gains["mb_per_s"].rounds == 8
    assert found[fingerprint(FASTER)].better("mb_per_s")
    assert found[fingerprint(FASTER)].goals == {Goal.THROUGHPUT}
    assert found[fingerprint(QUICK)].gains["mb_per_s"].high < 1.0


def test_without_nominees_nothing_is_measured() -> None:
    assert next_step(measured(plan(nominees={}), []), CONFIGS, seed=0) is None


def test_a_stored_plan_is_read_back_unchanged() -> None:
    asked = plan(undo_rounds=3, first_round=7)
    assert ConfirmationPlan.from_json(asked.as_json()) == asked
    assert ConfirmationPlan.from_json({**asked.as_json(), "of a newer release": 1}) == asked


@pytest.mark.parametrize("rounds_asked", [0, 3])
def test_the_number_of_measurements_is_known_beforehand(rounds_asked: int) -> None:
    two = (Goal.THROUGHPUT, Goal.LATENCY)
    spec = ConfirmSpec(rounds=rounds_asked, max_rounds=5, nominees=3, nominee_repeats=2, goals=two, undo_rounds=0)
    if not rounds_asked:
        assert most_steps(spec) == least_steps(spec) == 0
        return
    assert least_steps(spec) == 2 * (1 + 6) + 3 * 3
    assert most_steps(spec) == 2 * (1 + 6) + 5 * 3
    assert math.isfinite(most_steps(spec))
