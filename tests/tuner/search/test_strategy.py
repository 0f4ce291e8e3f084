"""Proposals depend only on the seed, the index and the trials so far, so a killed study continues where it was."""

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from importlib.util import find_spec
from statistics import fmean

import optuna
import pytest

from objectives.metrics import metrics_of
from objectives.scoring import score
from runners.simulated import SimulatedRunner
from runners.workload import RecordSizes
from search_spaces.client_facts.knobs import Stage
from search_spaces.configs.guarantee import DURABILITY
from search_spaces.configs.producer_config import ProducerConfig
from search_spaces.space.parameters import KnobChange
from search_spaces.space.search_space import SearchSpace
from tests.helpers.choosers import Replay
from tests.helpers.repository import ROOT
from tests.helpers.trials import OBJECTIVES, baseline, results, through_text, trial
from tuner.model.spec import Method, PhaseSpec, SearchSpec, StudySpec, WorkloadSpec
from tuner.model.trial import Proposal, State, Trial, TrialKind
from tuner.present.studies.plan_view import plan_json
from tuner.search import strategy as strategy_module
from tuner.search.bayesian import observations
from tuner.search.expectation import begins_with_model
from tuner.search.samplers import MissingExtra, strategy_of
from tuner.search.schedule import STAGES, searched_from
from tuner.search.strategy import OptunaChooser, Strategy

DEFAULTS = ProducerConfig.parse({})
SPACE = SearchSpace.of(1_000, DEFAULTS)
"""A space in which some knobs depend on others, such as the compression level on the codec."""
GRID_SPACE = SearchSpace.of(
    1_000,
    DEFAULTS,
    changes={
        **{parameter.name: KnobChange(off=True) for parameter in SPACE.parameters if "level" not in parameter.name},
        "linger.ms": KnobChange(choices=("0", "5", "20")),
        "compression.type": KnobChange(choices=("none", "lz4")),
        "compression.level": KnobChange(off=True),
    },
)
STARTUP = 5
TRIALS = 36
"""Enough trials for models to be used, and for NSGA-II to have a second generation."""
LEARNING = (Method.BAYESIAN, Method.TPE, Method.NSGA2)
METHODS = [method for method in Method if method is not Method.GP]

needs_torch = pytest.mark.skipif(find_spec("torch") is None, reason="torch is not installed")


def strategy(method: Method, seed: int = 0, space: SearchSpace | None = None, repeats: int = 1) -> Strategy:
    return strategy_of(study_of(method, repeats), space or (GRID_SPACE if method is Method.GRID else SPACE), seed)


def told_of_the_baseline(method: Method, seed: int = 0, space: SearchSpace | None = None) -> Strategy:
    asked = strategy(method, seed, space)
    asked.tell(baseline(0))
    return asked


def study_of(method: Method, repeats: int = 1) -> StudySpec:
    search = SearchSpec(method=method, startup_trials=STARTUP, repeats=repeats)
    return StudySpec("searched", WorkloadSpec((RecordSizes.fixed(1_000),)), objectives=OBJECTIVES, search=search)


def outcome(number: int, proposal: Proposal) -> Trial:
    """Compute a trial instead of measuring it; every fifth trial fails, and every seventh gives up records."""
    config = proposal.config
    kept = {
        "config": config.values,
        "params": dict(proposal.params),
        "sampler_state": dict(proposal.sampler_state),
    }
    if number % 5 == 4:
        return trial(number, **kept, state=State.FAILED, metrics={}, objectives=(), violations={})  # type: ignore[arg-type]
    linger_ms = config.linger_ms
    codec = 1.5 if config.compression == "lz4" else 1.0
    p99_ms = None if number % 7 == 3 else 2 + 1.5 * linger_ms
    lost = {"delivered_ratio": 0.0} if p99_ms is None else {"held_rate_ratio": 0.9 if linger_ms > 60 else 1.0}
    return trial(number, codec * (50 + linger_ms), p99_ms, metrics=lost, **kept)  # type: ignore[arg-type]


def go_on(asked: Strategy, trials: list[Trial], first: int, count: int) -> list[Proposal]:
    """Ask and tell as a running study does; every sixth trial is a config that the sampler has not proposed."""
    proposals = []
    for index in range(first, count):
        own = index % 6 != 5
        if own:
            proposal = asked.ask(index)
            if proposal is None:
                break
            proposals.append(proposal)
        else:
            proposal = Proposal(DEFAULTS.updated({"linger.ms": str(index), "compression.type": "lz4"}), index)
        ended = outcome(len(trials), proposal)
        trials.append(ended)
        asked.tell(ended, index if own else None)
    return proposals


@cache
def run(method: Method, seed: int = 0, count: int = TRIALS) -> tuple[list[Proposal], list[Trial]]:
    """Run a whole search, beginning with a baseline."""
    asked, trials = strategy(method, seed), [baseline(0)]
    asked.tell(trials[0])
    return go_on(asked, trials, 0, count), trials


def values(proposals: list[Proposal]) -> list[dict[str, str]]:
    return [proposal.config.values for proposal in proposals]


@pytest.mark.parametrize("method", [*METHODS, pytest.param(Method.GP, marks=needs_torch)])
def test_proposals_of_every_method_come_from_an_optuna_study(method: Method) -> None:
    """A new method that makes proposals in any other way fails this test."""
    asked = told_of_the_baseline(method)
    known = len(asked.study.trials)
    for index in range(4):
        proposal = asked.ask(index)
        assert proposal is not None
        (under_way,) = [each for each in asked.study.trials if each.state is optuna.trial.TrialState.RUNNING]
        assert under_way.params == proposal.params
        asked.tell(outcome(index, proposal), index)
    assert len(asked.study.trials) == known + 4
    starting_point = asked.ask(4, DEFAULTS.updated({"linger.ms": "20", "compression.type": "lz4"}))
    assert starting_point is not None
    assert starting_point.params == asked.study.trials[-1].params


def test_only_the_strategy_makes_proposals_of_the_search() -> None:
    makers = {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "tuner").rglob("*.py")
        if re.search(r"\bProposal\([^()]*\bindex\b", path.read_text(encoding="utf-8"))
    }
    assert makers == {"tuner/search/strategy.py"}, "a config that was not searched for has no index"


@pytest.mark.parametrize("method", METHODS)
def test_the_same_seed_gives_the_same_proposals(method: Method) -> None:
    first, _ = run(method)
    second, _ = run.__wrapped__(method, count=2 * STARTUP)
    assert first[: len(second)] == second
    assert len(second) > 3
    if method is not Method.GRID:
        assert values(run(method, seed=1, count=4)[0]) != values(first[:4])


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    "killed_after", [pytest.param(2, marks=pytest.mark.long), 9, pytest.param(31, marks=pytest.mark.long)]
)
def test_a_strategy_rebuilt_after_a_kill_proposes_the_same_configs(method: Method, killed_after: int) -> None:
    whole, trials = run(method)
    told = [through_text(each) for each in trials[: 1 + killed_after]]
    rebuilt = strategy(method)
    for each in told:
        rebuilt.tell(each)
    rest = go_on(rebuilt, told, killed_after, TRIALS)
    assert values(rest) == values(whole)[len(whole) - len(rest) :]
    assert rest == whole[len(whole) - len(rest) :]
    assert [each.values for each in told] == [each.values for each in trials]


@pytest.mark.parametrize("method", [Method.BAYESIAN, Method.TPE])
@pytest.mark.parametrize("killed_after", [pytest.param(9, marks=pytest.mark.long), 31])
def test_a_rebuilt_strategy_has_forgotten_the_same_trials(
    monkeypatch: pytest.MonkeyPatch, method: Method, killed_after: int
) -> None:
    remembering_all, _ = run(method)
    for name, count in (("_MOST_TRIALS", 10), ("_KEPT_TRIALS", 7), ("_BEST_TRIALS", 3)):
        monkeypatch.setattr(strategy_module, name, count)
    for name, count in (("MOST_CONFIGS", 10), ("_KEPT_CONFIGS", 7), ("_BEST_CONFIGS", 3)):
        monkeypatch.setattr(observations, name, count)
    live, trials = strategy(method), [baseline(0)]
    live.tell(trials[0])
    whole = go_on(live, trials, 0, TRIALS)
    assert values(whole) != values(remembering_all)
    rebuilt, told = strategy(method), [through_text(each) for each in trials[: 1 + killed_after]]
    for each in told:
        rebuilt.tell(each)
    rest = go_on(rebuilt, told, killed_after, TRIALS)
    assert rest == whole[len(whole) - len(rest) :]


@pytest.mark.parametrize("method", LEARNING)
def test_proposals_depend_on_the_trials_so_far(method: Method) -> None:
    whole, _ = run(method)
    ignorant = strategy(method)
    first = [ignorant.ask(proposal.index) for proposal in whole]
    assert [proposal and proposal.config for proposal in first] != [proposal.config for proposal in whole]


@pytest.mark.parametrize("method", METHODS)
def test_every_proposal_lies_in_the_space_and_has_its_parameters(method: Method) -> None:
    space = GRID_SPACE if method is Method.GRID else SPACE
    proposals, _ = run(method)
    for proposal in proposals:
        assert space.draw(Replay(proposal.params)) == proposal.config
        assert json.loads(json.dumps(dict(proposal.params))) == proposal.params
        assert json.loads(json.dumps(dict(proposal.sampler_state))) == proposal.sampler_state


@pytest.mark.parametrize("method", METHODS)
def test_a_trial_outside_the_space_is_ignored(method: Method) -> None:
    asked = strategy(method)
    asked.tell(trial(0, config={"linger.ms": "899000", "delivery.timeout.ms": "900000"}))
    assert asked.ask(0) == strategy(method).ask(0)


@pytest.mark.parametrize("method", LEARNING)
def test_several_proposals_may_be_under_way_and_end_in_any_order(method: Method) -> None:
    asked = strategy(method)
    under_way = [asked.ask(index) for index in range(6)]
    assert len({proposal.config for proposal in under_way if proposal}) > 1
    for proposal in reversed(under_way):
        assert proposal is not None
        asked.tell(outcome(proposal.index, proposal), proposal.index)
    assert asked.ask(6) is not None


@pytest.mark.parametrize("method", LEARNING)
def test_a_search_continues_when_no_trial_gave_a_value(method: Method) -> None:
    asked = strategy(method)
    for index in range(2 * STARTUP):
        proposal = asked.ask(index)
        assert proposal is not None
        nothing = trial(index, None, None, config=proposal.config.values, params=dict(proposal.params))
        gone = trial(index, config=proposal.config.values, state=State.FAILED, objectives=())
        asked.tell(nothing if index % 2 else gone, index)
    assert asked.ask(2 * STARTUP) is not None


@pytest.mark.parametrize("method", [Method.BAYESIAN, Method.TPE])
def test_a_model_learns_to_avoid_configs_that_break_a_constraint(method: Method) -> None:
    """Long lingers give more throughput in this test, so only the constraint on the rate speaks against them."""

    def short_lingers(held_by_long: float) -> float:
        asked, short = strategy(method), []
        for index in range(30):
            proposal = asked.ask(index)
            assert proposal is not None
            linger_ms = proposal.config.linger_ms
            short.append(linger_ms <= 2)
            config, params = proposal.config.values, dict(proposal.params)
            held = {"held_rate_ratio": 1.0 if short[-1] else held_by_long}
            asked.tell(trial(index, 50 + linger_ms, 5.0, config=config, params=params, metrics=held), index)
        return fmean(short[-15:])

    assert short_lingers(held_by_long=0.5) > short_lingers(held_by_long=1.0) + 0.3


def grid_points() -> list[ProducerConfig]:
    """Return the five configs that a grid proposes: the sixth is the baseline, which other trials measure."""
    home = GRID_SPACE.params_of(DEFAULTS)
    points = [config for config in GRID_SPACE.grid(3) if GRID_SPACE.params_of(config) != home]
    assert len(points) == 5
    return points


def test_a_grid_proposes_every_config_but_the_baseline_once_and_ends() -> None:
    asked = strategy(Method.GRID)
    proposals = [asked.ask(index) for index in range(7)]
    assert [proposal and proposal.config for proposal in proposals] == [*grid_points(), None, None]


def test_a_grid_with_repeats_measures_each_config_once_before_any_twice() -> None:
    asked = strategy(Method.GRID, repeats=3)
    proposals = [asked.ask(index) for index in range(16)]
    assert [proposal and proposal.config for proposal in proposals] == [*grid_points() * 3, None]


def test_a_grid_continues_with_the_configs_that_were_not_measured() -> None:
    points = grid_points()
    asked = strategy(Method.GRID)
    for number in (0, 2):
        asked.tell(trial(number, config=points[number].values))
    rest = [asked.ask(index) for index in range(4)]
    assert [proposal and proposal.config for proposal in rest] == [points[1], points[3], points[4], None]


def test_a_grid_with_repeats_continues_in_the_middle_of_a_repeat() -> None:
    points = grid_points()
    asked = strategy(Method.GRID, repeats=2)
    for number, place in enumerate((0, 1, 2, 3, 4, 1)):
        asked.tell(trial(number, config=points[place].values))
    rest = [asked.ask(index) for index in range(6, 11)]
    assert [proposal and proposal.config for proposal in rest] == [points[0], points[2], points[3], points[4], None]


def test_a_random_proposal_depends_on_its_index_only() -> None:
    asked = strategy(Method.RANDOM)
    ahead = asked.ask(9)
    for index in range(5):
        asked.ask(index)
    assert asked.ask(9) == ahead


@pytest.mark.parametrize("seed", range(3))
def test_a_quasi_random_proposal_depends_on_its_index_only(seed: int) -> None:
    whole = told_of_the_baseline(Method.QUASI_RANDOM, seed)
    proposals = [whole.ask(index) for index in range(12)]
    for first in (1, 3, 7):
        rebuilt = told_of_the_baseline(Method.QUASI_RANDOM, seed)
        assert [rebuilt.ask(index) for index in range(first, 12)] == proposals[first:]


def test_quasi_random_points_are_more_even_than_random_points() -> None:
    """The first 16 points of a Sobol sequence have one point in each sixteenth of a parameter's range."""
    linear = SearchSpace.of(1_000, DEFAULTS, changes={"linger.ms": KnobChange(low=0, high=16, log=False)})

    def sixteenths(asked: Strategy) -> set[int]:
        proposals = [asked.ask(index) for index in range(16)]
        return {min(int(proposal.config.linger_ms), 15) for proposal in proposals if proposal}

    assert len(sixteenths(told_of_the_baseline(Method.QUASI_RANDOM, space=linear))) == 16
    assert len(sixteenths(told_of_the_baseline(Method.RANDOM, space=linear))) < 16


@pytest.mark.skipif(find_spec("torch") is not None, reason="torch is installed")
def test_gaussian_processes_without_torch_say_what_to_install() -> None:
    with pytest.raises(
        MissingExtra, match=r"needs the package torch.*kafka-tuner\[gp\].*or use search.method bayesian"
    ):
        strategy(Method.GP)


@needs_torch
def test_gaussian_processes_propose_configs_of_the_space() -> None:
    proposals, _ = run(Method.GP, count=8)
    assert all(SPACE.params_of(proposal.config) is not None for proposal in proposals)


def searched(make: Callable[[int], Strategy], seed: int) -> float:
    """Return the hypervolume of the front after 40 trials on the simulated cluster."""
    sizes = RecordSizes.fixed(1_000)
    load = WorkloadSpec((sizes,), saturate=PhaseSpec(0.0, 1.0), paced=PhaseSpec(0.0, 1.0))
    runner, asked, trials = SimulatedRunner(0.03), make(seed), []
    for number in range(40):
        proposal = asked.ask(number - 1) if number else Proposal(DEFAULTS)
        assert proposal is not None
        config = proposal.config
        metrics = metrics_of(
            runner.run(config, replace(load.saturating(sizes), seed=number)),
            runner.run(config, replace(load.paced_at(sizes, 20_000), seed=number)),
        )
        judged = score(metrics, OBJECTIVES, ())
        trials.append(
            trial(
                number,
                kind=TrialKind.SEARCH if number else TrialKind.BASELINE,
                config=config.values,
                params=dict(proposal.params),
                metrics=metrics,
                objectives=OBJECTIVES,
            )
        )
        assert trials[-1].objectives == judged.values
        asked.tell(trials[-1], number - 1 if number else None)
    return results(trials).hypervolume[-1][1]


@pytest.mark.long
def test_a_model_is_no_worse_than_random_search() -> None:
    """Compares the means of five seeds, as single searches differ by a fifth."""
    by_model = [searched(lambda seed: strategy(Method.BAYESIAN, seed), seed) for seed in range(5)]
    by_chance = [searched(lambda seed: strategy(Method.RANDOM, seed), seed) for seed in range(5)]
    assert fmean(by_model) >= fmean(by_chance) > 1.0


SECOND_TURN = ("queue.buffering.max.messages",)
LAST_TURN = ("enable.idempotence", "max.in.flight.requests.per.connection")


def varied(proposals: list[Proposal], names: Sequence[str]) -> bool:
    usual = [DEFAULTS.effective_values.text(name) for name in names]
    return any([proposal.config.effective_values.text(name) for name in names] != usual for proposal in proposals)


def searched_in_turn(space: SearchSpace, count: int) -> list[Proposal]:
    """Return the proposals of a search that begins with a baseline and two configs that are not proposals."""
    asked, proposals = told_of_the_baseline(Method.BAYESIAN, space=space), []
    for number in (1, 2):
        asked.tell(trial(number, 110.0, 9.0))
    for index in range(count):
        proposal = asked.ask(index)
        assert proposal is not None
        proposals.append(proposal)
        config, linger_ms = proposal.config.values, proposal.config.linger_ms
        told = trial(index + 3, 100 + linger_ms / 10, 2 + linger_ms / 4, config=config, params=dict(proposal.params))
        asked.tell(told, index)
    return proposals


@pytest.mark.campaign
def test_few_knobs_are_searched_first_and_the_others_later() -> None:
    proposals = searched_in_turn(SPACE, 60)
    # The baseline and two more configs were measured before the first proposal.
    first, then = STAGES[Stage.SECOND] - 3, STAGES[Stage.LAST] - 3
    assert not varied(proposals[:first], SECOND_TURN + LAST_TURN)
    assert varied(proposals[:first], ["linger.ms"])
    assert varied(proposals[:first], ["compression.type"])
    assert varied(proposals[first:then], SECOND_TURN)
    assert not varied(proposals[:then], LAST_TURN)
    assert varied(proposals[then:], LAST_TURN)
    # Every other proposal changes only the knobs of the first stage.
    assert not varied(proposals[::2], SECOND_TURN + LAST_TURN)


def test_a_waiting_knob_keeps_the_value_of_the_baseline() -> None:
    asked = told_of_the_baseline(Method.BAYESIAN)
    best = {"linger.ms": "1", "queue.buffering.max.messages": "500000", "enable.idempotence": "true"}
    for number, values in enumerate((best, {"linger.ms": "2"}), start=1):
        asked.tell(trial(number, 200.0 / number, 2.0 * number, config=values))
    proposals = [asked.ask(index) for index in range(8)]
    assert not varied([each for each in proposals if each is not None], SECOND_TURN + LAST_TURN)


def test_a_waiting_knob_keeps_the_baselines_value_when_the_baseline_is_forgotten(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name, count in (("MOST_CONFIGS", 6), ("_KEPT_CONFIGS", 4), ("_BEST_CONFIGS", 2)):
        monkeypatch.setattr(observations, name, count)
    asked = told_of_the_baseline(Method.BAYESIAN)
    for number in range(1, 9):
        values = {"linger.ms": str(number), "queue.buffering.max.messages": "500000", "enable.idempotence": "true"}
        asked.tell(trial(number, 200.0 + number, 2.0, config=values))
    proposals = [asked.ask(index) for index in range(4)]
    assert not varied([each for each in proposals if each is not None], SECOND_TURN + LAST_TURN)


def test_a_knob_that_the_study_names_is_among_the_first() -> None:
    named = {"queue.buffering.max.messages": KnobChange(low=10_000), "compression.level": KnobChange(steps=3)}
    space = SearchSpace.of(1_000, DEFAULTS, changes=named)
    stages = {parameter.name: parameter.stage for parameter in space.parameters}
    assert (
        stages["queue.buffering.max.messages"] == stages["compression.level.zstd"] == stages["linger.ms"] == Stage.FIRST
    )
    assert stages["enable.idempotence"] == Stage.LAST
    assert varied(searched_in_turn(space, 12), SECOND_TURN)


def test_when_the_first_knobs_are_exhausted_others_are_searched() -> None:
    few = {name: KnobChange(off=True) for name in ("batch.size", "linger.ms", "sticky.partitioning.linger.ms")}
    few["compression.type"] = KnobChange(choices=("none", "lz4"))
    proposals = searched_in_turn(SearchSpace.of(1_000, DEFAULTS, changes=few), 12)
    assert len({proposal.config.fingerprint for proposal in proposals}) == 12
    assert varied(proposals, SECOND_TURN)


def test_a_space_without_first_stage_knobs_begins_with_the_next_stage() -> None:
    others = ("batch.size", "linger.ms", "sticky.partitioning.linger.ms", "compression.type")
    space = SearchSpace.of(1_000, DEFAULTS, changes={name: KnobChange(off=True) for name in others})
    assert set(searched_from(space).values()) == {0, STAGES[Stage.LAST]}
    proposals = searched_in_turn(space, 8)
    assert varied(proposals, SECOND_TURN)
    assert not varied(proposals, LAST_TURN)


def test_the_second_stage_does_not_wait_if_the_performance_model_knows_its_knobs() -> None:
    waits, known = searched_from(SPACE), searched_from(SPACE, knows_effects=True)
    assert set(waits.values()) == {0, STAGES[Stage.SECOND], STAGES[Stage.LAST]}
    assert {name: 1 if count == STAGES[Stage.SECOND] else count for name, count in waits.items()} == known


def test_a_plan_says_from_when_on_each_knob_is_searched() -> None:
    spec = StudySpec("planned", WorkloadSpec((RecordSizes.fixed(1_000),)), objectives=OBJECTIVES)
    for each, knows in ((spec, True), (replace(spec, search=replace(spec.search, performance_model=False)), False)):
        (size,) = plan_json(each, each.spaces, 100.0, ["embedded"])["sizes"]
        told = {knob["name"]: knob["searched_from_configs"] for knob in size["parameters"]}
        begin = searched_from(SPACE, knows_effects=knows)
        assert begins_with_model(each) is knows
        assert {name: told[name] for name in begin} == begin


def test_a_knob_with_one_value_belongs_to_no_stage() -> None:
    pinned = {"compression.level.lz4": KnobChange(value="3")}
    space = SearchSpace.of(1_000, DEFAULTS, changes=pinned)
    names = {parameter.name for parameter in space.parameters}
    assert names - searched_from(space).keys() == {"compression.level.lz4"}


def test_optuna_searches_a_space_from_the_baseline() -> None:
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    space = SearchSpace.of(100, DEFAULTS, floor=DURABILITY["any"])
    study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=1))
    params = space.params_of(DEFAULTS)
    assert params is not None
    study.enqueue_trial(dict(params))
    for _ in range(60):
        trial = study.ask()
        config = space.draw(OptunaChooser(trial))
        assert trial.params.keys() == (space.params_of(config) or {}).keys()
        study.tell(trial, config.linger_ms + config.acks)
    assert study.trials[0].params == params


def test_a_bayesian_search_ends_when_every_config_was_measured() -> None:
    asked, found = told_of_the_baseline(Method.BAYESIAN, space=GRID_SPACE), [DEFAULTS]
    while (proposal := asked.ask(len(found) - 1)) is not None:
        assert len(found) < 6, "the space has six configs, and the baseline is one of them"
        ended = outcome(1, proposal)
        asked.tell(ended, len(found) - 1)
        found.append(proposal.config)
    assert len({(config.linger_ms, config.compression) for config in found}) == 6
    assert strategy(Method.BAYESIAN).ask(0) is not None, "a space with ranges has no end"
