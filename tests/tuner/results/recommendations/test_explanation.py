"""Why a config is recommended, in sentences that claim no more than was measured."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from runners.workload import RecordSizes
from search_spaces.space.parameters import KnobChange
from tests.helpers.trials import baseline, confirming, plan_of, results, trial
from tests.tuner.confirmation.test_effects import CONFIG, numbers_of, undo_trials
from tests.tuner.results.recommendations.known_runner import LZ4_GAIN, KnownRunner
from tuner.confirmation.plan import ConfirmationPlan
from tuner.execution.studies.run import measure_study
from tuner.execution.studies.study_progress import SilentReporter
from tuner.model.facts import CONFIRMING
from tuner.model.goals import Goal
from tuner.model.spec import ConfirmSpec, Executor, Method, PhaseSpec, SearchSpec, StudySpec, WorkloadSpec
from tuner.model.trial import Trial, TrialKind
from tuner.present.recommendations.explanation_words import effect_words, explanation_markdown, explanation_sections
from tuner.results.recommendations.explanation import FRONT, Explanation, explain
from tuner.results.recommendations.recommend import recommend
from tuner.results.study_results import StudyResults

IMPORTANCE = {
    "mb_per_s": {"compression.type": 0.8, "linger.ms": 0.19, "batch.size": 0.01},
    "latency_p99_ms": {"linger.ms": 1.0},
    FRONT: {"linger.ms": 0.6, "compression.type": 0.4},
}
WON = [(150.0, 2.0), (155.0, 2.05), (146.0, 1.95), (151.0, 2.02)]
LEVEL = [(100.0, 10.0), (98.0, 9.7), (101.5, 10.3), (100.5, 9.9)]


def why(
    trials: Sequence[Trial],
    goal: Goal = Goal.BALANCED,
    plan: ConfirmationPlan | None = None,
    importance: Mapping[str, Mapping[str, float]] = IMPORTANCE,
) -> Explanation:
    """Return the explanation of what these trials of one record size recommend."""
    asked = plan or plan_of(trials)
    size = results(trials, plan=asked)
    facts = {CONFIRMING: {size.record_bytes: asked.as_json()}}
    study = StudyResults("overnight", Path(), "", facts, size.objectives, (size,))
    return explain(study, recommend(study, size.record_bytes, goal), importance)


def proven(config: Mapping[str, str], taken: Sequence[Trial] = (), **changes: Any) -> list[Trial]:
    """Return a search that found a config, the rounds that proved its gain, and those that undo its changes."""
    search = [
        baseline(0, verdict="broker", because="a thread of the broker is busy"),
        trial(1, 150, 2, config=config, verdict="client thread", because="it compresses", **changes),
    ]
    return [*search, *confirming(2, WON, LEVEL, config), *taken]


def text(explanation: Explanation) -> str:
    """Return the whole explanation as text."""
    return "\n".join(
        line for section in explanation_sections(explanation) for line in (section.heading, *section.lines)
    )


def test_each_change_has_its_value_the_old_value_and_its_effect() -> None:
    found = why(proven(CONFIG, undo_trials(rounds=3)))
    said = text(found)
    assert "linger.ms=1 instead of 5: latency p99 " in said
    assert "compression.type=lz4 instead of none: throughput " in said
    assert said.index("linger.ms=1 instead of 5") < said.index("compression.type=lz4"), "the strongest first"
    line = next(line for line in said.splitlines() if line.startswith("linger.ms=1"))
    assert (
        str(next(each for each in found.clear_effects if each.knobs == ("linger.ms",)).gains["latency_p99_ms"]) in line
    )
    assert "throughput the same within" in line
    assert "3 rounds; of these 95 % intervals, about 1 in 20 misses the true value" in said


def test_changes_without_an_effect_have_a_sentence_of_their_own() -> None:
    one = text(why(proven(CONFIG, undo_trials())))
    assert "batch.size=65536 instead of 1000000: no effect shown in 2 rounds; it may still be up to" in one
    assert "You may leave the change out: the config without it was measured, too" in one
    config = {**CONFIG, "sticky.partitioning.linger.ms": "40"}
    two = text(why(proven(config, undo_trials(config=config))))
    assert "no effect of any of them alone shown in 2 rounds; each may still be up to" in two
    assert "was not measured: try it with tuner verify before you leave them out" in two


@pytest.mark.parametrize(
    ("alone", "said"),
    [
        (1.22, "the intervals overlap, so nothing shows"),
        (1.5, "the changes need each other"),
        (1.02, "the changes replace each other"),
    ],
)
def test_the_whole_gain_is_compared_with_the_product_of_effects(alone: float, said: str) -> None:
    config = {"linger.ms": "1", "compression.type": "lz4"}

    def measure(each: Any) -> tuple[float, float]:
        return (150.0 if len(each.values) == 2 else 150.0 / alone), 10.0

    found = text(why(proven(config, undo_trials(config=config, noise=0.005, measure=measure)), Goal.THROUGHPUT))
    assert "throughput: all changes together gain 1.50" in found
    assert f": {said}" in found


def test_without_undo_rounds_the_changes_are_named_without_effects() -> None:
    said = text(why(proven(CONFIG)))
    assert "at least 1.41 times better throughput and at least 4.62 times better latency p99\n" in said
    assert "linger.ms=1 instead of 5" in said
    assert "not measured one by one, because the study has no rounds for it (confirm.undo_rounds: 0)" in said
    assert "for throughput: compression.type (80 %), then linger.ms (19 %)\n" in said


def test_a_single_change_has_the_whole_gain() -> None:
    said = text(why(proven({"linger.ms": "1"})))
    assert "linger.ms=1 instead of 5: the only change, so the whole gain comes from it" in said


def test_changes_that_were_not_undone_alone_are_named_with_the_reason() -> None:
    config = {"acks": "all", "enable.idempotence": "true", "linger.ms": "1"}
    before = {"acks": "1"}
    base = trial(0, 100, 10, kind=TrialKind.BASELINE, config=before)
    rounds = [
        trial(2 + 2 * turn + who, *numbers, kind=TrialKind.CONFIRM, config=values, round=turn)
        for turn, pair in enumerate(zip(WON, LEVEL, strict=True))
        for who, (numbers, values) in enumerate(zip(pair, (config, before), strict=True))
    ]
    taken = undo_trials(config=config, baseline=before)
    trials = [base, trial(1, 150, 2, config=config), *rounds, *taken]
    plan = ConfirmationPlan(base.fingerprint, dict.fromkeys(Goal, (trials[1].fingerprint,)), rounds=4, max_rounds=4)
    said = text(why(trials, plan=plan))
    assert "acks=all instead of 1, together with enable.idempotence=true instead of false" in said
    without = [each for each in taken if each.values.get("acks") != "1"]
    said = text(why([base, trials[1], *rounds, *without], plan=plan))
    assert "not measured alone (there was no time for it)" in said


def test_a_change_without_which_a_constraint_breaks_says_so() -> None:
    taken = [
        each
        if "linger.ms" in each.values
        else trial(
            each.number, 90.0, 900.0, kind=TrialKind.UNDO, round=each.round, config=each.values,
            metrics={"held_rate_ratio": 0.4},
        )
        for each in undo_trials()
    ]  # fmt: skip
    assert "without it, the config breaks held_rate_ratio >= 0.95" in text(why(proven(CONFIG, taken)))


def test_the_verdicts_of_both_configs_are_named() -> None:
    said = text(why(proven(CONFIG)))
    assert "the baseline: broker: a thread of the broker is busy" in said
    assert "trial 1: client thread: it compresses" in said


def test_if_nothing_was_better_the_closest_config_is_named() -> None:
    near = [(103.0, 9.9), (98.0, 10.2), (104.0, 10.0), (99.0, 9.8)]
    said = text(why([baseline(0), trial(1, 120, 9, config=CONFIG), *confirming(2, near, LEVEL, CONFIG)]))
    assert "keep what you have" in said
    assert "trial 1 (batch.size=65536 compression.type=lz4 linger.ms=1): gain over the baseline, from 4 rounds" in said
    assert ": no difference shown" in said
    assert "what each change brings" not in said


def test_a_winner_that_loses_too_much_in_one_metric_says_so() -> None:
    lopsided = [(numbers[0] * 2, numbers[1] * 6) for numbers in WON]
    trials = [baseline(0), trial(1, 300, 9, config=CONFIG), *confirming(2, lopsided, LEVEL, CONFIG)]
    said = text(why(trials))
    assert "but the config's latency p99 is only 0.83 (0.54 to 0.89) times as good as the baseline's" in said


def test_without_confirmation_the_best_single_trial_came_closest() -> None:
    trials = [baseline(0), trial(1, 70, 12), trial(2, 95, 11), trial(3, 60, 10.5)]
    found = why(trials, Goal.THROUGHPUT)
    assert found.closest is not None
    assert found.closest.trial.number == 2
    assert "0.95 times as good as the baseline in its one trial" in text(found)
    assert "no other measured config meets every constraint" in text(why([baseline(0)]))
    again = [baseline(0), *(trial(number, 95, 11, config=CONFIG) for number in (1, 2, 3))]
    assert "times as good as the baseline in the mean of its 3 trials" in text(why(again, Goal.THROUGHPUT))


def test_without_importance_its_section_is_left_out() -> None:
    assert "mattered most" not in text(why(proven(CONFIG), importance={}))


def test_the_metric_of_the_goal_comes_first() -> None:
    taken = undo_trials(
        measure=lambda each: (numbers_of(each)[0] * (1.3 if each.linger_ms == 1 else 1), numbers_of(each)[1])
    )
    trials = proven(CONFIG, taken)
    first = {
        goal: next(line for line in text(why(trials, goal)).splitlines() if line.startswith("linger.ms=1 instead"))
        for goal in (Goal.THROUGHPUT, Goal.LATENCY)
    }
    assert first[Goal.THROUGHPUT].startswith("linger.ms=1 instead of 5: throughput")
    assert first[Goal.LATENCY].startswith("linger.ms=1 instead of 5: latency p99")


def test_goals_with_one_config_share_their_explanation() -> None:
    trials = proven(CONFIG, undo_trials())
    page = explanation_markdown([why(trials, goal) for goal in Goal])
    assert page.count("## ") == 1
    assert "## throughput, latency, balanced: why trial 1" in page
    assert "- linger.ms=1 instead of 5" in page
    assert explanation_markdown([]) == ""


def test_an_effect_is_worded_by_how_certain_it_is() -> None:
    found = why(proven(CONFIG, undo_trials()))
    gain = next(each for each in found.clear_effects if each.knobs == ("linger.ms",)).gains["latency_p99_ms"]
    assert effect_words(gain) == f"{gain} times better"
    worse = type(gain)(0.5, 0.4, 0.625, 2, 0.3, 0.8)
    assert effect_words(worse) == "2.00 (1.60 to 2.50) times worse"
    assert effect_words(type(gain)(1.01, 0.98, 1.04, 2, 0.9, 1.1)) == "the same within 4 %"
    assert effect_words(type(gain)(1.0, 0.5, 2.0, 2, 0.3, 3.0)) == "inconclusive: 1 (0.5 to 2)"
    assert effect_words(type(gain)(1.0, 0.8, 1.2, 2, 0.3, 3.0)) == "no difference shown: 1.00 (0.80 to 1.20)"


OFF = KnobChange(off=True)
SPEC = StudySpec(
    "known",
    WorkloadSpec((RecordSizes.fixed(1000),), saturate=PhaseSpec(1.0, 1.0), paced=PhaseSpec(1.0, 1.0)),
    space={
        "linger.ms": KnobChange(choices=("1", "20")),
        "compression.type": KnobChange(choices=("none", "lz4")),
        "sticky.partitioning.linger.ms": KnobChange(choices=("30", "50")),
        **dict.fromkeys(("enable.idempotence", "max.in.flight", "queue.buffering.max.messages", "batch.size"), OFF),
        **dict.fromkeys(("compression.level.gzip", "compression.level.lz4", "compression.level.zstd"), OFF),
    },
    search=SearchSpec(method=Method.GRID, trials=None, burn_in_max=1, seed=2),
    confirm=ConfirmSpec(rounds=6, max_rounds=6, nominee_repeats=1, nominees=2, undo_rounds=2),
    executor=Executor.SIMULATED,
)


def test_a_whole_study_finds_which_changes_matter(tmp_path: Path) -> None:
    study = measure_study(SPEC, "", tmp_path, SilentReporter(), simulated=KnownRunner(noise_ratio=0.03))
    found = explain(study, recommend(study, "1000", Goal.BALANCED), {})
    assert not found.recommendation.is_baseline
    assert {each.knobs for each in found.clear_effects} == {("linger.ms",), ("compression.type",)}
    (nothing,) = found.unclear_effects
    assert nothing.knobs == ("sticky.partitioning.linger.ms",)
    gains = {each.knobs[0]: each.gains for each in found.effects.each}
    codec, linger = gains["compression.type"]["mb_per_s"], gains["linger.ms"]["latency_p99_ms"]
    assert codec.low <= LZ4_GAIN <= codec.high
    assert linger.low <= 3.0 <= linger.high, "(1 + 5) / (1 + 1)"
    for metric, product in found.effects.product.items():
        whole = found.recommendation.gains[metric]
        assert product.low < whole.high, f"the effects of {metric} multiply"
        assert whole.low < product.high
    assert found.effects.rounds == 2
