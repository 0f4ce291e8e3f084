"""Burn-in runs: the baseline is measured until it shows no trend, and each winner before its rounds."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from runners.measurements.histogram import Histogram
from runners.measurements.measurement import Measurement, Window
from runners.runner import Watch, WatchDecision, go_on
from runners.simulated import SimulatedRunner
from runners.workload import Workload
from search_spaces.configs.producer_config import ProducerConfig
from tests.helpers.studies import THROUGHPUT, Told, simulated_study
from tests.helpers.trials import OBJECTIVES, failed, trial
from tuner.execution.studies.run import measure_study
from tuner.model import study_time
from tuner.model.goals import Goal
from tuner.model.spec import ConfirmSpec, StudySpec
from tuner.model.trial import Trial, TrialKind
from tuner.results.study_results import burn_ins_as_baseline
from tuner.search.strategy import Strategy


@dataclass(slots=True)
class Settling:
    """A simulated runner with given latencies in the paced phase.

    Attributes:
        latencies_ms: The latencies of the first paced phases; all later ones have the last latency.
    """

    latencies_ms: list[int]

    def run(self, config: ProducerConfig, workload: Workload, watch: Watch = go_on) -> Measurement:
        """Simulate a run, and replace the latency if it is paced."""
        measured = SimulatedRunner().run(config, replace(workload, seed=0), watch)
        if workload.rate_records_per_s is None:
            return measured
        latency_ms = self.latencies_ms.pop(0) if len(self.latencies_ms) > 1 else self.latencies_ms[0]
        return replace(measured, latency=Histogram.of([latency_ms * 1000] * 100))


class Stalling:
    """A simulated runner that shows a second without any delivery near the start of each load."""

    def run(self, config: ProducerConfig, workload: Workload, watch: Watch = go_on) -> Measurement:
        """Simulate a run, and show its second window as empty."""

        def shown(window: Window) -> WatchDecision:
            return watch(replace(window, records=0, value_bytes=0.0) if window.number == 1 else window)

        return SimulatedRunner().run(config, workload, shown)


def test_a_second_without_deliveries_does_not_keep_the_throughput_from_being_steady(tmp_path: Path) -> None:
    told = Told()
    spec = simulated_study((1000,), trials=2, rounds=0, burn_in_max=4)
    (size,) = measure_study(spec, "", tmp_path, told, simulated=Stalling()).sizes
    first = size.trials[0]
    windows = first.window_values["records_per_s"]
    assert windows[1] == 0.0
    assert len(windows) < study_time.UNBROKEN_S
    assert first.metrics["records_per_s"] == pytest.approx(windows[0]), "the last seconds count"
    assert any("the baseline's throughput is steady" in each for each in told.sentences)


def burn_in_trials(folder: Path, latencies_ms: Sequence[int], spec: StudySpec) -> list[Trial]:
    (size,) = measure_study(spec, "", folder, Told(), simulated=Settling(list(latencies_ms))).sizes
    found = [trial for trial in size.trials if trial.kind is TrialKind.BURN_IN]
    assert list(size.trials[: len(found)]) == found, "burn-in runs come before all other trials"
    return found


@pytest.mark.parametrize(
    ("latencies_ms", "paced"),
    [([10], 3), ([60, 20, 10, 9, 9, 9], 5), ([20, 10, 11, 11], 4), ([160, 80, 40, 20, 10, 5], 5)],
    ids=["at once", "after some", "not while it still falls", "no longer than is allowed"],
)
def test_burn_in_runs_wait_for_the_latency_too(tmp_path: Path, latencies_ms: list[int], paced: int) -> None:
    found = burn_in_trials(tmp_path, latencies_ms, simulated_study((1000,), trials=3, rounds=0, burn_in_max=5))
    assert ["latency_p99_ms" in trial.metrics for trial in found] == [False] + [True] * paced


def test_a_stall_in_the_first_baseline_does_not_decide_the_gains(tmp_path: Path) -> None:
    """The last two burn-in runs count as baselines too; the first of the four was slow."""
    spec = simulated_study((1000,), trials=3, rounds=0, burn_in_max=4)
    (size,) = measure_study(spec, "", tmp_path, Told(), simulated=Settling([40, 10, 11, 11, 60, 5])).sizes
    assert size.baseline is not None
    assert size.baseline.metrics["latency_p99_ms"] == pytest.approx(60, rel=0.05)
    assert size.baseline_metrics["latency_p99_ms"] == pytest.approx(11, rel=0.05)
    assert size.estimates.by_config[size.baseline.fingerprint]["latency_p99_ms"].repeats == 3


def test_the_last_two_burn_in_runs_count_as_baselines() -> None:
    def measured(number: int, p99_ms: float | None, kind: TrialKind = TrialKind.BURN_IN) -> Trial:
        return trial(number, 100.0, p99_ms, kind=kind)

    warm = [measured(0, None), measured(1, 40.0), measured(2, 10.0), measured(3, 11.0)]
    first = measured(4, 60.0, TrialKind.BASELINE)
    found = burn_ins_as_baseline([*warm, first, measured(5, 9.0), measured(6, 9.5)], OBJECTIVES)
    assert [(each.number, each.kind, each.objectives) for each in found] == [
        (2, TrialKind.BASELINE, (100.0, 10.0)),
        (3, TrialKind.BASELINE, (100.0, 11.0)),
    ]
    assert burn_ins_as_baseline(warm, OBJECTIVES) == [], "there is no baseline yet"
    single = [warm[0], warm[1], first]
    assert burn_ins_as_baseline(single, OBJECTIVES) == [], "a single burn-in run can't agree with another"
    more = [*warm, failed(4, kind=TrialKind.BASELINE), measured(5, 10.5), first]
    assert burn_ins_as_baseline(more, OBJECTIVES)[-1].number == 5


def test_samplers_learn_from_burn_in_runs_also_in_a_resumed_study(tmp_path: Path) -> None:
    spec = simulated_study((1000,), trials=2, rounds=0, burn_in_max=4)
    told: list[list[tuple[TrialKind, float]]] = []
    for trials in (2, 3):
        heard: list[tuple[TrialKind, float]] = []
        more = replace(spec, search=replace(spec.search, trials=trials))
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Strategy, "tell", hearing(heard))
            measure_study(more, "", tmp_path, Told(), simulated=Settling([10, 10, 11, 60, 5]))
        told.append(heard)
    assert [kind for kind, _ in told[0]] == [TrialKind.BASELINE] * 3 + [TrialKind.SEARCH]
    assert [round(p99_ms) for _, p99_ms in told[0]] == [10, 11, 60, 5]
    assert told[1][:4] == told[0]


def hearing(heard: list[tuple[TrialKind, float]]) -> Callable[..., None]:
    """Return a replacement for `Strategy.tell` that also records the trials in `heard`."""
    learn = Strategy.tell

    def tell(self: Strategy, trial: Trial, index: int | None = None) -> None:
        heard.append((trial.kind, trial.metrics["latency_p99_ms"]))
        learn(self, trial, index)

    return tell


def test_the_burn_in_does_not_wait_for_a_steady_latency_that_is_no_objective(tmp_path: Path) -> None:
    asked = simulated_study((1000,), trials=3, rounds=0, burn_in_max=4)
    fast = replace(asked, objectives=THROUGHPUT)
    assert len(burn_in_trials(tmp_path / "fast", [10], fast)) == study_time.burn_in_trials(fast) - 1 == 3
    once = replace(asked, search=replace(asked.search, burn_in_max=1))
    assert len(burn_in_trials(tmp_path / "once", [10], once)) == study_time.burn_in_trials(once) == 1
    assert study_time.burn_in_trials(asked) == 5 + 4, "the fixed rate may be chosen again"
    assert study_time.burn_in_trials(fast) == 4


@dataclass(slots=True)
class NewToIt:
    """Simulates a broker that has just started: the baseline is fast at once, any other config is slow at first.

    Attributes:
        latencies_ms: The latencies of the first paced phases of a config; all later ones have the last latency.
    """

    latencies_ms: Sequence[int]
    runs: Counter[str] = field(default_factory=Counter)

    def run(self, config: ProducerConfig, workload: Workload, watch: Watch = go_on) -> Measurement:
        """Simulate a run, and replace the latency if it is paced."""
        measured = SimulatedRunner().run(config, replace(workload, seed=0), watch)
        if workload.rate_records_per_s is None:
            return measured
        run = self.runs[config.fingerprint]
        self.runs[config.fingerprint] += 1
        latency_ms = self.latencies_ms[min(run, len(self.latencies_ms) - 1)] if config.values else 100
        return replace(measured, latency=Histogram.of([latency_ms * 1000] * 100))


WARM = [10]
ONE_WINNER = ConfirmSpec(3, 3, goals=(Goal.LATENCY,), nominees=1, nominee_repeats=0, undo_rounds=0)


def again(folder: Path, latencies_ms: Sequence[int], confirm: ConfirmSpec, burn_in_max: int = 4) -> list[Trial]:
    """Return the trials of `tuner confirm` on a broker that has just started, after a search on a warm broker."""
    spec = replace(simulated_study((1000,), trials=4, burn_in_max=burn_in_max), confirm=replace(confirm, rounds=0))
    (found,) = measure_study(spec, "", folder, Told(), simulated=NewToIt(WARM)).sizes
    asked = replace(spec, confirm=confirm)
    (size,) = measure_study(asked, "", folder, Told(), simulated=NewToIt(latencies_ms), searching=False).sizes
    return list(size.trials[len(found.trials) :])


@pytest.mark.parametrize(
    ("latencies_ms", "burnt_in"),
    [([10], [10, 10]), ([40, 10, 11], [40, 10, 11]), ([80, 40, 20, 10], [80, 40, 20, 10])],
    ids=["at once", "after some", "no longer than is allowed"],
)
def test_a_winner_has_burn_in_runs_before_its_rounds(
    tmp_path: Path, latencies_ms: list[int], burnt_in: list[int]
) -> None:
    trials = again(tmp_path, latencies_ms, ONE_WINNER)
    ours = [each for each in trials if each.config().values and each.kind in (TrialKind.BURN_IN, TrialKind.CONFIRM)]
    last = latencies_ms[-1]
    assert [round(each.metrics["latency_p99_ms"]) for each in ours] == [*burnt_in, last, last, last]
    assert [each.kind for each in ours] == [TrialKind.BURN_IN] * len(burnt_in) + [TrialKind.CONFIRM] * 3
    first_round = next(each.number for each in trials if each.kind is TrialKind.CONFIRM)
    assert all(each.number < first_round for each in ours if each.kind is TrialKind.BURN_IN)


def test_a_config_to_repeat_has_one_burn_in_run_before_its_repeats(tmp_path: Path) -> None:
    trials = again(tmp_path, [40, 11, 10], replace(ONE_WINNER, nominees=2, nominee_repeats=2))
    looks = [round(each.metrics["latency_p99_ms"]) for each in trials if each.kind is TrialKind.REPEAT]
    assert sorted(looks) == [10, 10, 11, 11, 100, 100]
    burnt_in = [each.fingerprint for each in trials if each.kind is TrialKind.BURN_IN and each.config().values]
    assert len(burnt_in) == len(set(burnt_in)) == 2


@pytest.mark.parametrize(("nominees", "burn_ins"), [(1, 1), (2, 0)])
def test_measurements_of_the_same_process_count_as_burn_in_runs(tmp_path: Path, nominees: int, burn_ins: int) -> None:
    confirm = replace(ONE_WINNER, nominees=nominees, nominee_repeats=2 if nominees > 1 else 0)
    spec = replace(simulated_study((1000,), trials=6, burn_in_max=4), confirm=confirm)
    assert study_time.least_winner_burn_in_trials(spec) == burn_ins <= study_time.winner_burn_in_trials(spec) == 4
    (size,) = measure_study(spec, "", tmp_path, Told(), simulated=NewToIt(WARM)).sizes
    assert sum(each.kind is TrialKind.BURN_IN and bool(each.config().values) for each in size.trials) == burn_ins


def test_a_config_whose_measurements_never_agree_has_at_most_burn_in_max_runs(tmp_path: Path) -> None:
    trials = again(tmp_path, [10, 20, 40, 80, 160], replace(ONE_WINNER, nominees=2, nominee_repeats=2))
    winner = next(each.fingerprint for each in trials if each.kind is TrialKind.CONFIRM and each.config().values)
    before = [each.kind for each in trials if each.fingerprint == winner and each.kind is not TrialKind.CONFIRM]
    assert before == [TrialKind.BURN_IN, TrialKind.REPEAT, TrialKind.REPEAT, TrialKind.BURN_IN]


def test_winners_have_no_burn_in_runs_if_at_most_one_is_allowed(tmp_path: Path) -> None:
    trials = again(tmp_path, [40, 10], ONE_WINNER, burn_in_max=1)
    assert not [each for each in trials if each.kind is TrialKind.BURN_IN and each.config().values]
    assert [each for each in trials if each.kind is TrialKind.CONFIRM]


@dataclass(slots=True)
class Cold:
    """Simulates a broker whose throughput grows during the first load.

    Attributes:
        grows_s: Seconds of the first load until the broker has its full throughput.
        speed: The factor by which the throughput of later runs differs.
        same_for: The number of runs before the throughput differs.
        runs: The workloads so far, each with the seconds that it lasted.
    """

    grows_s: float
    speed: float = 1.0
    same_for: int = 1
    runs: list[tuple[Workload, float]] = field(default_factory=list)

    def run(self, config: ProducerConfig, workload: Workload, watch: Watch = go_on) -> Measurement:
        """Simulate a run; in the first run, the windows show how the throughput grows."""
        if self.runs:
            measured = SimulatedRunner().run(config, replace(workload, seed=0), watch)
            self.runs.append((workload, measured.series[-1].at_s))
            differs = workload.rate_records_per_s is None and len(self.runs) > self.same_for
            slow = self.speed if differs else 1.0
            return replace(measured, records=round(slow * measured.records), value_bytes=slow * measured.value_bytes)

        def cold(window: Window) -> WatchDecision:
            part = min(1.0, window.at_s / self.grows_s)
            return watch(replace(window, records=round(part * window.records)))

        measured = SimulatedRunner().run(config, replace(workload, seed=0), cold)
        self.runs.append((workload, measured.series[-1].at_s))
        return measured


@pytest.mark.parametrize(("grows_s", "most_s"), [(1.0, 9.0), (12.0, 21.0), (100.0, study_time.UNBROKEN_S)])
def test_the_first_load_has_no_pause_until_it_shows_no_trend(tmp_path: Path, grows_s: float, most_s: float) -> None:
    cold, told = Cold(grows_s), Told()
    measure_study(simulated_study((1000,), trials=3, rounds=0, burn_in_max=4), "", tmp_path, told, simulated=cold)
    load, lasted_s = cold.runs[0]
    assert load.rate_records_per_s is None
    assert min(grows_s, study_time.UNBROKEN_S) <= lasted_s <= most_s
    (said,) = [sentence for sentence in told.sentences if "of continuous load" in sentence]
    assert ("still shows a trend" in said) is (grows_s > study_time.UNBROKEN_S)


def test_the_rate_is_a_share_of_the_throughput_at_the_end_of_the_load(tmp_path: Path) -> None:
    cold = Cold(12.0)
    (size,) = measure_study(
        simulated_study((1000,), trials=3, rounds=0, burn_in_max=4), "", tmp_path, Told(), simulated=cold
    ).sizes
    warm = size.trials[1].metrics["records_per_s"]
    assert size.rate_records_per_s == pytest.approx(0.3 * warm, rel=0.02)


def test_the_first_load_keeps_to_its_share_of_the_bytes(tmp_path: Path) -> None:
    cold = Cold(100.0)
    spec = simulated_study((1000,), trials=3, rounds=0, burn_in_max=4, max_bytes=10**10)
    measure_study(spec, "", tmp_path, Told(), simulated=cold)
    assert cold.runs[0][1] < 12.0


def test_baselines_that_never_stop_rising_are_named(tmp_path: Path) -> None:
    told, spec = Told(), simulated_study((1000,), trials=3, rounds=0, burn_in_max=4)
    measure_study(spec, "", tmp_path, told, simulated=Settling([80, 60, 45, 30, 20, 15]))
    (said,) = [sentence for sentence in told.sentences if "burn-in ends" in sentence]
    assert "latency_p99_ms (60, then 45, then 30)" in said


@pytest.mark.parametrize(("speed", "warned"), [(1.0, False), (1.3, True), (0.8, True)])
def test_a_rate_that_no_longer_fits_the_capacity_is_named(tmp_path: Path, speed: float, warned: bool) -> None:
    told, spec = Told(), simulated_study((1000,), trials=6, rounds=3, burn_in_max=4)
    measure_study(spec, "", tmp_path, told, simulated=Cold(1.0, speed, same_for=12))
    said = [sentence for sentence in told.sentences if "the fixed rate should be 0.30" in sentence]
    assert len(said) == warned
