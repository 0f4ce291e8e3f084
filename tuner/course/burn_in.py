"""Burn-in runs, which bring the broker to its normal speed before anything is compared.

Before anything else, the baseline is measured until two measurements in a row agree. Each winner is measured in the
same way before its first round.

A broker is slow after its start, and again when it gets load from a new config for the first time. After the baseline
was measured, the broker's JVM has compiled the code that the baseline uses, but not yet the code that other configs
need, for example small compressed batches. We measured this on ten freshly started brokers with 100 B records, after
burn-in runs with the client's defaults. With `compression.type=lz4` and `linger.ms=0.72`, the p95 latency was 4.0 to
10.1 ms in the first measurement on a broker, and 2.3 to 3.3 ms in the second. The baseline's p95 latency was 7.4 to
8.7 ms in both measurements.
"""

from dataclasses import dataclass, field
from statistics import fmean
from typing import Final

from runners.workload import RecordSizes
from search_spaces.producer_config import ProducerConfig
from tuner.course.trial_loop import TrialLoop
from tuner.model.errors import TooManyFailures
from tuner.model.trial import Kind, Proposal, State, Trial
from tuner.search.schedule import LATENCY_AGREEMENT_RATIO, is_stable

RATES: Final = "rates"
"""The key under which the results store keeps, by record size, the rate of the paced phase (load at a fixed rate)."""


@dataclass(slots=True)
class Stabiliser:
    """Makes burn-in runs: measures a config until two measurements in a row agree.

    Burn-in runs of earlier processes do not count, because they may have measured on another broker.

    Attributes:
        loop: Runs the trials of the study.
    """

    loop: TrialLoop
    _ready: set[RecordSizes] = field(default_factory=set)
    _announced_burn_in: set[RecordSizes] = field(default_factory=set)
    _earlier_trials: dict[RecordSizes, int] = field(init=False)

    def __post_init__(self) -> None:
        """Count the stored trials of each record size: earlier processes have measured them."""
        self._earlier_trials = {size: len(record.trials) for size, record in self.loop.records.items()}

    def of_baseline(self, size: RecordSizes) -> float | None:
        """Measure the baseline until two measurements in a row agree, unless this process has done that already.

        Returns:
            The fixed rate of the paced phase, in records per second; None if the study has no paced phase.

        Raises:
            TooManyFailures: Several attempts in a row to measure the baseline gave no throughput.
        """
        if size not in self._ready:
            self._ready.add(size)
            self.loop.reporter.say(f"{size} B: measuring the baseline until two measurements in a row agree")
            capacities = self._capacities(size)
            if self.loop.spec.paced:
                self._fix_rate(size, capacities)
                # Latencies take longer than the throughput to become stable, so they are measured after it.
                self.of_config(size, self.loop.spec.baseline, until_agreed=True)
        return self._rates().get(str(size))

    def of_config(self, size: RecordSizes, config: ProducerConfig, *, until_agreed: bool) -> None:
        """Measure a config until two measurements in a row agree, at most `search.burn_in_max` times.

        Earlier measurements of the config by this process are counted too. Nothing is measured if `burn_in_max` is 0
        or 1, and the measuring stops when the study's time or bytes are used up.

        Args:
            size: The record size.
            config: The config that will be compared with others.
            until_agreed: Whether two measurements must agree; if not, a single measurement is enough.
        """
        metrics, at_most = self.loop.spec.stabilising_metrics or ("records_per_s",), self.loop.spec.search.burn_in_max
        if at_most <= 1:
            return
        for _ in range(at_most):
            trials = self.loop.records[size].trials[self._earlier_trials[size] :]
            seen = [each for each in trials if each.fingerprint == config.fingerprint and not each.stopped_early]
            known = [[each.metrics[name] for each in seen if each.metrics.get(name, 0.0) > 0] for name in metrics]
            if all(is_stable(values, at_most, LATENCY_AGREEMENT_RATIO) if until_agreed else values for values in known):
                return
            rate_records_per_s = self.of_baseline(size)
            if not self.loop.may_start(0.0):
                return
            if size not in self._announced_burn_in and config.fingerprint != self.loop.spec.baseline.fingerprint:
                self._announced_burn_in.add(size)
                self.loop.reporter.say(
                    f"{size} B: burn-in runs of the configs to compare, as brokers are slow at first with a new config"
                )
            trial = self._burn_in(size, config, rate_records_per_s)
            if not all(trial.metrics.get(name, 0.0) > 0 for name in metrics):
                return  # the trials that follow show why the config can't be measured

    def _capacities(self, size: RecordSizes) -> list[float]:
        """Measure the throughput of the baseline until it is stable.

        Returns:
            The throughputs of all burn-in runs in their order, in records per second.
        """
        found: list[float] = []
        failures = 0
        while not is_stable(found, self.loop.spec.search.burn_in_max):
            trial = self._burn_in(size, self.loop.spec.baseline, None)
            if trial.state is State.COMPLETE and "records_per_s" in trial.metrics:
                found.append(trial.metrics["records_per_s"])
                failures = 0
                continue
            # In the search, a config that can't deliver its records is a result. If the baseline can't, it is a
            # failure, because nothing can be compared with it.
            failures += 1
            if failures >= self.loop.spec.safety.max_failures_in_a_row:
                raise TooManyFailures(
                    f"the baseline must be measured before any other config, but {failures} attempts in a row gave no "
                    f"throughput. Fix the cause and run the same command again. The last error: {trial.error}"
                )
        return found

    def _fix_rate(self, size: RecordSizes, capacities: list[float]) -> None:
        """Store the fixed rate of this record size's paced phase, unless it is stored already."""
        rates, load = self._rates(), self.loop.spec.workload
        if str(size) not in rates:
            rates[str(size)] = load.rate_records_per_s or round(load.rate_ratio * fmean(capacities[-2:]), 1)
            self.loop.store.set_fact(RATES, rates)

    def _burn_in(self, size: RecordSizes, config: ProducerConfig, rate_records_per_s: float | None) -> Trial:
        return self.loop.run_one(size, Kind.STABILISE, Proposal(0, config, {}), rate_records_per_s)

    def _rates(self) -> dict[str, float]:
        return dict(self.loop.store.facts().get(RATES, {}))
