"""The gains that a search expects of configs that it has not measured."""

from dataclasses import replace
from math import log
from typing import Final

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.problems.searched import Problem, problem_of
from benchmarks.searches.search_runs import noisy_trial
from objectives.scoring import Objective
from runners.performance_model.constants import EMBEDDED, REMOTE, ClusterConstants
from runners.performance_model.settings import Settings
from runners.workload import RecordSizes
from search_spaces.client import java
from search_spaces.configs.producer_config import ProducerConfig
from search_spaces.errors import ConfigError
from search_spaces.space.search_space import SearchSpace
from tests.helpers.spaces import spaces
from tests.tuner.search.rows import config_at, row_of
from tuner.model.spec import Method, RaySpec, SearchSpec, StudySpec, WorkloadSpec
from tuner.model.trial import Proposal, Trial, TrialKind
from tuner.regression.solving import Array
from tuner.search.bayesian.candidates import Candidates
from tuner.search.expectation import ModelExpectation, expectation_of
from tuner.search.knob_space import KnobSpace

SIZE: Final = RecordSizes.fixed(1_000)
METRICS: Final = ["mb_per_s", "latency_p99_ms"]


def expectation(problem: Problem, metrics: list[str] = METRICS, start: ClusterConstants = EMBEDDED) -> ModelExpectation:
    return ModelExpectation(problem.space, problem.load, metrics, problem.defaults, start)


def trials_of(problem: Problem, count: int) -> list[Trial]:
    """Return the noisy trials of the baseline and of configs that are drawn at random."""
    knobs = KnobSpace(problem.space)
    rows = Candidates(knobs.axes, knobs.allowed).anywhere(count - 1, np.random.default_rng(1))
    configs = [problem.defaults, *(config_at(knobs, row) for row in rows)]
    return [
        noisy_trial(
            problem, number, TrialKind.BASELINE if not number else TrialKind.SEARCH, Proposal(config, number), seed=0
        )
        for number, config in enumerate(configs)
    ]


@settings(max_examples=40, deadline=None)
@given(spaces(), st.integers(0, 1_000))
def test_coordinates_have_the_settings_of_their_config(space: SearchSpace | ConfigError, seed: int) -> None:
    if isinstance(space, ConfigError):
        return
    knobs, load = KnobSpace(space), problem_of("embedded:1000", 0.0).load
    drawn = Candidates(knobs.axes, knobs.allowed).anywhere(3, np.random.default_rng(seed))
    for config in (config_at(knobs, row) for row in drawn):
        (force,) = knobs.effective_values(row_of(knobs, config)[None, :])
        ours, theirs = Settings.of_values(force, load), Settings.of(config, load)
        assert (ours.codec, ours.level, ours.acks, ours.idempotent) == (
            theirs.codec, theirs.level, theirs.acks, theirs.idempotent,
        )  # fmt: skip
        for name in ("batch_bytes", "batch_records", "linger_s", "in_flight", "queue_records", "sticky_s"):
            assert getattr(ours, name) == pytest.approx(getattr(theirs, name), rel=0.02, abs=1e-6), name


def test_the_java_client_is_handled_in_the_same_way() -> None:
    config = ProducerConfig.parse({"linger.ms": 20, "batch.size": 65536, "compression.type": "zstd"}, java())
    knobs = KnobSpace(SearchSpace.of(1_000, ProducerConfig.parse({}, java())))
    load = problem_of("embedded:1000", 0.0).load
    (force,) = knobs.effective_values(row_of(knobs, config)[None, :])
    assert Settings.of_values(force, load) == Settings.of(config, load)


def test_gains_are_relative_to_the_baseline_and_unknown_objectives_are_nan() -> None:
    problem = problem_of("embedded:1000", 0.0)
    knobs = KnobSpace(problem.space)
    better = problem.defaults.updated({"linger.ms": "0.5", "batch.size": "131072"})
    rows = np.stack([row_of(knobs, problem.defaults), row_of(knobs, better)])
    found = expectation(problem, [*METRICS, "client_cpu_ms_per_mb"]).log_ratios(rows)[0]
    assert found[0, :2] == pytest.approx([0.0, 0.0], abs=1e-9)
    throughput, latency = problem.gains(better)
    assert found[1, :2] == pytest.approx([log(throughput), -log(latency)], abs=0.02)
    assert np.isnan(found[:, 2]).all()


def test_the_constants_are_fitted_to_the_trials() -> None:
    """On a host whose constants differ by 30 %, twenty trials make the expected gains better."""
    problem = problem_of("like-embedded:1000", 0.05)
    knobs = KnobSpace(problem.space)
    rows = Candidates(knobs.axes, knobs.allowed).anywhere(200, np.random.default_rng(2))
    truth = [problem.gains(config_at(knobs, row)) for row in rows]
    holds = np.array([gains[0] > 0 for gains in truth])
    true = np.array([[log(one), -log(other)] for one, other in truth if one > 0])
    before, after = expectation(problem), expectation(problem)
    for trial in trials_of(problem, 20):
        after.learn(trial)

    def off(each: ModelExpectation) -> Array:
        return np.asarray(np.median(np.abs(each.log_ratios(rows[holds])[0] - true), axis=0))

    assert holds.sum() > 50
    assert (off(after) < off(before)).all()


def test_what_no_trial_has_shown_stays_uncertain() -> None:
    """After trials with linger.ms from 5 on, the latency of short lingers is less certain than that of long ones."""
    problem = problem_of("remote:1000", 0.05)
    knobs, expected = KnobSpace(problem.space), expectation(problem, start=REMOTE)
    lingers_ms = ["5", "10", "20", "40"]
    configs = [problem.defaults.updated({"linger.ms": linger_ms}) for linger_ms in lingers_ms]
    for number, config in enumerate(configs * 2):
        expected.learn(noisy_trial(problem, number, TrialKind.SEARCH, Proposal(config, number), seed=0))
    short, long = (problem.defaults.updated({"linger.ms": linger_ms}) for linger_ms in ("0.1", "15"))
    likeliest, *others = expected.log_ratios(np.stack([row_of(knobs, config) for config in (short, long)]))
    of_short, of_long = np.sqrt(np.sum([(other - likeliest)[:, 1] ** 2 for other in others], axis=0))
    assert of_short > 2 * of_long


def test_the_median_latency_does_not_count_if_only_the_p99_is_an_objective() -> None:
    problem = problem_of("embedded:1000", 0.05)
    trials = trials_of(problem, 8)
    slower = [replace(each, metrics={**each.metrics, "latency_p50_ms": 20.0}) for each in trials]
    rows = np.stack([row_of(KnobSpace(problem.space), trial.config()) for trial in trials])

    def expected(metric: str, seen: list[Trial]) -> Array:
        model = expectation(problem, ["mb_per_s", metric])
        for trial in seen:
            model.learn(trial)
        return model.log_ratios(rows)

    assert np.array_equal(expected("latency_p99_ms", trials), expected("latency_p99_ms", slower), equal_nan=True)
    assert not np.allclose(expected("latency_p95_ms", trials), expected("latency_p95_ms", slower), equal_nan=True)


def test_a_resumed_search_expects_the_same() -> None:
    problem = problem_of("like-embedded:1000", 0.05)
    row = row_of(KnobSpace(problem.space), problem.defaults.updated({"linger.ms": "7"}))[None, :]
    whole, resumed = expectation(problem), expectation(problem)
    for trial in trials_of(problem, 13):
        whole.learn(trial)
        whole.log_ratios(row)
        resumed.learn(trial)
    assert (whole.log_ratios(row) == resumed.log_ratios(row)).all()


def test_several_producers_on_one_host_are_expected_to_share_it() -> None:
    """The gains are those of three producers, which differ from those of one."""
    spec = StudySpec("searched", WorkloadSpec((SIZE,), producers=3), search=SearchSpec(method=Method.BAYESIAN))
    three, one = problem_of("embedded:1000/3", 0.0), problem_of("embedded:1000", 0.0)
    space = SearchSpace.of(1_000, spec.baseline)
    rate = three.load.rate_records_per_s
    assert rate is not None
    expected = expectation_of(spec, SIZE, space, rate)
    assert expected is not None
    config = three.defaults.updated({"compression.type": "lz4", "batch.size": "131072"})
    ((gains,),) = expected.log_ratios(row_of(KnobSpace(space), config)[None, :])
    of_three, of_one = ([log(gain) for gain in problem.gains(config)] for problem in (three, one))
    assert of_three != pytest.approx(of_one, abs=0.02)
    assert gains * [1, -1] == pytest.approx(of_three, abs=0.02)


def test_the_search_expects_what_the_topic_has_and_not_what_new_topics_would_have() -> None:
    """With three replicas, acks=all waits for the others; with one, it does not."""
    spec = StudySpec("searched", WorkloadSpec((SIZE,)), search=SearchSpec(method=Method.BAYESIAN))
    space = SearchSpace.of(1_000, spec.baseline)
    config = spec.baseline.updated({"acks": "1"})
    gains = []
    for shape in ({}, {"partitions": 24, "replication": 3}):
        expected = expectation_of(spec, SIZE, space, 10_000.0, shape)
        assert expected is not None
        ((found,),) = expected._log_ratios([expected._start], [Settings.of(config, expected._load)])
        gains.append(found)
    assert gains[0] == pytest.approx([0.0, 0.0])
    assert gains[1][1] < -0.03, "acks=1 has a lower latency"


def test_searches_for_the_java_client_begin_with_the_model() -> None:
    spec = StudySpec("searched", WorkloadSpec((SIZE,)), search=SearchSpec(method=Method.BAYESIAN))
    spec = replace(spec, baseline=ProducerConfig.parse({}, java()))
    assert expectation_of(spec, SIZE, SearchSpace.of(1_000, spec.baseline), 10_000.0) is not None


def test_some_searches_expect_nothing() -> None:
    spec = StudySpec("searched", WorkloadSpec((SIZE,)), search=SearchSpec(method=Method.BAYESIAN))
    space = SearchSpace.of(1_000, spec.baseline)
    assert expectation_of(spec, SIZE, space, 10_000.0) is not None
    for other in (
        replace(spec, search=replace(spec.search, method=Method.TPE)),
        replace(spec, search=replace(spec.search, performance_model=False)),
        replace(spec, workload=replace(spec.workload, producers=2), ray=RaySpec("auto")),
        replace(spec, objectives=(Objective("client_cpu_ms_per_mb"),)),
    ):
        assert expectation_of(other, SIZE, space, 10_000.0) is None
