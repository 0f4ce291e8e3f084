"""Burn-in runs, which bring the broker to its normal speed before configs are compared.

The first burn-in run sends records with the baseline, as fast as the client takes them and without a pause, until the
throughput shows no trend. Then the baseline is measured as in a trial, until three measurements in a row show no trend.
Each winner has burn-in runs before its first round of the confirmation, until two in a row show none.

The first run also chooses the fixed rate. If the baseline is faster or slower in the runs that follow, the rate is
chosen again from them, and the burn-in is repeated at the new rate. We saw this with 100 B records: 1.29 million
records/s at the end of a first run of 11 s, and 1.86 to 2.15 million in the next three runs.

A broker is slow after its start. It is slow again when a new config sends to it for the first time: the broker's JVM
has compiled the code that the baseline needs, but not yet the code that other configs need, for example for small
compressed batches. We measured this on ten newly started brokers with 100 B records, after burn-in runs with the
client's defaults. With `compression.type=lz4` and `linger.ms=0.72`, the p95 latency was 4.0 to 10.1 ms in the first
measurement on a broker, and 2.3 to 3.3 ms in the second. The baseline's p95 latency was 7.4 to 8.7 ms in both
measurements.

The load of one config does not warm the broker for another codec or batch size, so each config has its own burn-in
runs. Each record size has burn-in runs of its own, because it has its own baseline, rate and batches. We have not
measured how much each of these differences matters.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import geometric_mean, median
from typing import Final

from objectives.metrics import OUTCOME_METRICS
from runners.workload import RecordSizes
from search_spaces.configs.producer_config import ProducerConfig
from tuner.execution.studies.study_trials import StudyTrials
from tuner.execution.trials.steadiness import (
    LATENCY_TREND_RATIO,
    TREND_RATIO,
    TREND_VALUES,
    has_enough_burn_ins,
    is_steady,
    shows_trend,
)
from tuner.model.errors import TooManyFailures
from tuner.model.facts import RATES
from tuner.model.study_time import UNBROKEN_S
from tuner.model.trial import State, Trial, TrialKind

_ALSO_JUDGED: Final = ("records_per_s", "broker_cpu_ms_per_mb")
"""Metrics that must show no trend in the baseline's burn-in runs, besides the latencies that the study optimises."""

_TO_CHECK_RATE: Final = 2
"""Number of measurements of the baseline after the search from which we check whether the fixed rate still fits."""
_RATE_TOLERANCE: Final = 1.1
"""The factor by which the fixed rate may differ from the rate that the study asks for.

If the difference is larger, the rate is chosen again after the burn-in, and the user is warned after the search.
"""


@dataclass(slots=True)
class BurnIn:
    """Makes burn-in runs: measures a config until its measurements show no trend.

    Burn-in runs of earlier processes do not count, because they may have measured on another broker.

    Attributes:
        trials: Runs the trials of the study.
    """

    trials: StudyTrials
    _ready: set[RecordSizes] = field(default_factory=set)
    _announced_burn_in: set[RecordSizes] = field(default_factory=set)
    _rate_checked: set[RecordSizes] = field(default_factory=set)
    _earlier_trials: dict[RecordSizes, int] = field(init=False)

    def __post_init__(self) -> None:
        """Count the stored trials of each record size: earlier processes have measured them."""
        self._earlier_trials = {size: len(search.trials) for size, search in self.trials.searches.items()}

    def rate_after_burn_in(self, size: RecordSizes) -> float | None:
        """Return the fixed rate of the paced phase, in records per second; None if the study has no paced phase.

        Unless this process has done so already, the baseline is first measured until it shows no trend.

        Raises:
            TooManyFailures: Several attempts in a row to measure the baseline gave no throughput.
        """
        if size not in self._ready:
            self._ready.add(size)
            self.trials.reporter.say(f"{size} B: measuring the baseline until its measurements show no trend")
            capacity = self._capacity(size)
            chosen = self.trials.spec.paced and self._choose_rate(size, capacity)
            first = len(self.trials.searches[size].trials)
            # Latencies take longer than the throughput to become stable, so they are measured after it.
            self.run(size, self.trials.spec.baseline, until_no_trend=True)
            if chosen and self._choose_rate_again(size, self.trials.searches[size].trials[first:]):
                self._earlier_trials[size] = len(self.trials.searches[size].trials)
                self.run(size, self.trials.spec.baseline, until_no_trend=True)
        return self._rates().get(str(size))

    def run(self, size: RecordSizes, config: ProducerConfig, *, until_no_trend: bool) -> None:
        """Measure a config until its last measurements show no trend, at most `search.burn_in_max` times.

        Three measurements of the baseline must show no trend, and two of any other config. Earlier measurements of the
        config by this process are counted too. Nothing is measured if `burn_in_max` is 0 or 1, and the measuring stops
        when the study's time or bytes are used up.

        Args:
            size: The record size.
            config: The config that will be compared with others.
            until_no_trend: Whether the last measurements must show no trend; if not, a single one is enough.
        """
        needed, at_most = self.trials.spec.burn_in_metrics or ("records_per_s",), self.trials.spec.search.burn_in_max
        if at_most <= 1:
            return
        of_baseline = config.fingerprint == self.trials.spec.baseline.fingerprint
        last = TREND_VALUES if of_baseline else 2
        for _ in range(at_most + 1):
            trials = self.trials.searches[size].trials[self._earlier_trials[size] :]
            measured = [each for each in trials if each.fingerprint == config.fingerprint and not each.stopped_early]
            measured = [each for each in measured if all(each.metrics.get(name, 0.0) > 0 for name in needed)]
            also = _ALSO_JUDGED if of_baseline and measured else ()
            judged = [*needed, *(name for name in also if all(each.metrics.get(name, 0.0) > 0 for each in measured))]
            values_by_metric = {name: [each.metrics[name] for each in measured] for name in judged}
            no_trend = all(
                has_enough_burn_ins(values, at_most, _ratio_of(name), last=last)
                for name, values in values_by_metric.items()
            )
            enough = no_trend if until_no_trend else bool(measured)
            if enough:
                if of_baseline:
                    self._say_trends(size, values_by_metric)
                return
            rate_records_per_s = self.rate_after_burn_in(size)
            if not self.trials.outlook.may_start(0.0):
                return
            if size not in self._announced_burn_in and not of_baseline:
                self._announced_burn_in.add(size)
                self.trials.reporter.say(
                    f"{size} B: burn-in runs of the configs to compare, as brokers are slow at first with a new config"
                )
            trial = self.trials.run_burn_in(size, config, rate_records_per_s)
            if not all(trial.metrics.get(name, 0.0) > 0 for name in needed):
                return  # the trials that follow show why the config can't be measured

    def _say_trends(self, size: RecordSizes, known: Mapping[str, Sequence[float]]) -> None:
        """Say which metrics of the baseline still show a trend after the maximum number of burn-in runs."""
        last = {name: values[-TREND_VALUES:] for name, values in known.items()}
        moving = [
            f"{name} ({', then '.join(map(_three_digits, values))})"
            for name, values in last.items()
            if len(values) > 1 and shows_trend(values, _ratio_of(name))
        ]
        if moving:
            self.trials.reporter.say(
                f"{size} B: burn-in ends after the maximum number of runs (search.burn_in_max), although the baseline "
                f"still shows a trend in {' and '.join(moving)}; the first trials may differ from later trials"
            )

    def _capacity(self, size: RecordSizes) -> float:
        """Load the target without a pause until the baseline's throughput shows no trend.

        If `burn_in_max` is 0 or 1, the throughput of a single measurement is returned.

        Returns:
            The throughput at the end, in records per second.
        """
        failures, until_steady = 0, self.trials.spec.search.burn_in_max > 1
        while True:
            trial = self.trials.run_burn_in(size, self.trials.spec.baseline, None, until_steady=until_steady)
            if trial.state is State.COMPLETE and trial.metrics.get("records_per_s", 0.0) > 0:
                windows = trial.window_values.get("records_per_s", ())
                if until_steady:
                    now = "is steady" if is_steady(windows) else "still shows a trend, so the first trials may differ"
                    self.trials.reporter.say(
                        f"{size} B: after {trial.load_s:.0f} s of continuous load (at most {UNBROKEN_S:.0f} s), "
                        f"the baseline's throughput {now}"
                    )
                return trial.metrics["records_per_s"]
            # In the search, a config that can't deliver its records is a result. If the baseline can't, it is a
            # failure, because nothing can be compared with it.
            failures += 1
            if failures >= self.trials.spec.safety.max_failures_in_a_row:
                raise TooManyFailures(
                    f"{failures} attempts in a row to measure the baseline gave no throughput. Fix the cause and run "
                    f"the same command again. The last error: {trial.error}"
                )

    def check_rate(self, size: RecordSizes) -> None:
        """Warn once if the fixed rate is not the share of the baseline's throughput that the study asks for.

        The rate was chosen before the search. The target may have become faster or slower since then.
        """
        load, rate = self.trials.spec.workload, self._rates().get(str(size))
        again = [
            trial.metrics["records_per_s"]
            for trial in self.trials.searches[size].trials
            if trial.kind in (TrialKind.REPEAT, TrialKind.CONFIRM)
            and trial.fingerprint == self.trials.spec.baseline.fingerprint
            and trial.metrics.get("records_per_s", 0.0) > 0
        ]
        if size in self._rate_checked or len(again) < _TO_CHECK_RATE or rate is None or load.rate_records_per_s:
            return
        self._rate_checked.add(size)
        capacity = geometric_mean(again[-_TO_CHECK_RATE:])
        if not 1 / _RATE_TOLERANCE <= rate / capacity / load.rate_ratio <= _RATE_TOLERANCE:
            self.trials.reporter.say(
                f"{size} B: the fixed rate should be {load.rate_ratio:.2f} of the baseline's throughput (rate_ratio), "
                f"but is {rate / capacity:.2f} of it: {rate:,.0f} of {capacity:,.0f} records/s. When the rate was "
                f"chosen, the throughput was {rate / load.rate_ratio:,.0f} records/s. All latencies are at this rate"
            )

    def _choose_rate(self, size: RecordSizes, capacity_records_per_s: float) -> bool:
        """Store the fixed rate of this record size's paced phase, and return whether the throughput decided it.

        A rate that is stored already, or that the study file names, stays as it is. The throughput decided a stored
        rate if an earlier process chose it from its first load, and ended before the burn-in did.
        """
        rates, load = self._rates(), self.trials.spec.workload
        if str(size) in rates:
            trials = self.trials.searches[size].trials
            loads = [each.metrics.get("records_per_s", 0.0) for each in trials if each.kind is TrialKind.BURN_IN]
            own = rates[str(size)] in [round(load.rate_ratio * each, 1) for each in loads]
            return own and not load.rate_records_per_s and all(each.kind is TrialKind.BURN_IN for each in trials)
        rates[str(size)] = load.rate_records_per_s or round(load.rate_ratio * capacity_records_per_s, 1)
        self.trials.store.set_fact(RATES, rates)
        return not load.rate_records_per_s

    def _choose_rate_again(self, size: RecordSizes, burn_ins: Sequence[Trial]) -> bool:
        """Replace the fixed rate if it does not fit the throughput of the last burn-in runs, and return whether it did.

        Args:
            size: The record size.
            burn_ins: The burn-in runs of the baseline since the rate was chosen.
        """
        rates, load = self._rates(), self.trials.spec.workload
        last = [each.metrics["records_per_s"] for each in burn_ins if each.metrics.get("records_per_s", 0.0) > 0]
        if not last:
            return False
        before, capacity = rates[str(size)], median(last[-TREND_VALUES:])
        now = round(load.rate_ratio * capacity, 1)
        if 1 / _RATE_TOLERANCE <= now / before <= _RATE_TOLERANCE:
            return False
        self.trials.reporter.say(
            f"{size} B: the fixed rate is now {now:,.0f} records/s instead of {before:,.0f}, because the baseline "
            f"reached {capacity:,.0f} records/s in the last burn-in runs; the burn-in is repeated at this rate"
        )
        self.trials.store.set_fact(RATES, {**rates, str(size): now})
        return True

    def _rates(self) -> dict[str, float]:
        return dict(self.trials.store.facts().get(RATES, {}))


def _ratio_of(metric: str) -> float:
    return LATENCY_TREND_RATIO if OUTCOME_METRICS[metric].paced else TREND_RATIO


def _three_digits(value: float) -> str:
    """Return a value with three significant digits, such as `130,000` or `8.41`."""
    return f"{float(f'{value:.3g}'):,.10g}"
