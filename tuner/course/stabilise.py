"""Making the target ready before anything on it is compared: the baseline until it agrees, later each winner too.

A broker that has just started is slower than it will be, and differently so for each config: Java has compiled what the
baseline asks of it, not what small compressed batches do. Measured on ten new brokers of our own that the defaults had
burnt in, 100 B records, `compression.type=lz4` with `linger.ms=0.72`: its p95 was 4.0 to 10.1 ms in the first
measurement on each and 2.3 to 3.3 ms in the second one, the baseline's 7.4 to 8.7 in both.
"""

from dataclasses import dataclass, field
from statistics import fmean
from typing import Final

from runners.workload import RecordSizes
from search_spaces.producer_config import ProducerConfig
from tuner.course.trial_loop import TrialLoop
from tuner.model.errors import TooManyFailures
from tuner.model.trial import Kind, State, Trial
from tuner.search.schedule import LATENCY_AGREEMENT_RATIO, is_stable
from tuner.search.strategy import Proposal

RATES: Final = "rates"
"""Name of the fact that holds the fixed rate of each record size."""


@dataclass(slots=True)
class Stabiliser:
    """What this process has made its target ready for; a later one begins anew, as its broker may be another.

    Attributes:
        loop: Of the study.
    """

    loop: TrialLoop
    _ready: set[RecordSizes] = field(default_factory=set)
    _told: set[RecordSizes] = field(default_factory=set)
    _of_earlier: dict[RecordSizes, int] = field(init=False)

    def __post_init__(self) -> None:
        """What is on record was measured by earlier processes."""
        self._of_earlier = {size: len(record.trials) for size, record in self.loop.records.items()}

    def of_baseline(self, size: RecordSizes) -> float | None:
        """Measure the baseline until it agrees with itself, once; gives the fixed rate of the paced phase.

        Raises:
            TooManyFailures: The baseline gives no number.
        """
        if size not in self._ready:
            self._ready.add(size)
            self.loop.reporter.say(f"{size} B: measuring the baseline until two in a row agree")
            capacities = self._capacities(size)
            if self.loop.spec.paced:
                self._fix_rate(size, capacities)
                # At the fixed rate, as latencies settle later than the capacity.
                self.of_config(size, self.loop.spec.baseline, until_agreed=True)
        return self._rates().get(str(size))

    def of_config(self, size: RecordSizes, config: ProducerConfig, *, until_agreed: bool) -> None:
        """Measure a config until it agrees with itself, or as often as a baseline at most.

        What this process has measured of it counts. Does nothing where no two baselines are to agree either, and no
        more than time and bytes allow.

        Args:
            size: The record size.
            config: What is to be compared.
            until_agreed: Else once is enough.
        """
        metrics, at_most = self.loop.spec.stabilising_metrics or ("records_per_s",), self.loop.spec.search.burn_in_max
        if at_most <= 1:
            return
        for _ in range(at_most):
            trials = self.loop.records[size].trials[self._of_earlier[size] :]
            seen = [each for each in trials if each.fingerprint == config.fingerprint and not each.stopped_early]
            known = [[each.metrics[name] for each in seen if each.metrics.get(name, 0.0) > 0] for name in metrics]
            if all(is_stable(values, at_most, LATENCY_AGREEMENT_RATIO) if until_agreed else values for values in known):
                return
            rate_records_per_s = self.of_baseline(size)
            if not self.loop.may_start(self.loop.ends_s()):
                return
            if size not in self._told and config.fingerprint != self.loop.spec.baseline.fingerprint:
                self._told.add(size)
                self.loop.reporter.say(
                    f"{size} B: burning in what is to be compared, as a broker is slow with what is new"
                )
            trial = self._measured(size, config, rate_records_per_s)
            if not all(trial.metrics.get(name, 0.0) > 0 for name in metrics):
                return  # trial 0, or its rounds, will say why

    def _capacities(self, size: RecordSizes) -> list[float]:
        found: list[float] = []
        in_vain = 0
        while not is_stable(found, self.loop.spec.search.burn_in_max):
            trial = self._measured(size, self.loop.spec.baseline, None)
            if trial.state is State.COMPLETE and "records_per_s" in trial.metrics:
                found.append(trial.metrics["records_per_s"])
                in_vain = 0
                continue
            # A config that does not deliver is no failure elsewhere; but nothing can be compared with such a baseline.
            in_vain += 1
            if in_vain >= self.loop.spec.safety.max_failures_in_a_row:
                raise TooManyFailures(
                    f"the baseline must be measured before anything else, but {in_vain} trials gave no number; the "
                    f"last one: {trial.error}"
                )
        return found

    def _fix_rate(self, size: RecordSizes, capacities: list[float]) -> None:
        """Keep the rate that all configs of a record size are paced at, from now on."""
        rates, load = self._rates(), self.loop.spec.workload
        if str(size) not in rates:
            rates[str(size)] = load.rate_records_per_s or round(load.rate_ratio * fmean(capacities[-2:]), 1)
            self.loop.store.set_fact(RATES, rates)

    def _measured(self, size: RecordSizes, config: ProducerConfig, rate_records_per_s: float | None) -> Trial:
        return self.loop.run_one(size, Kind.STABILISE, Proposal(0, config, {}), rate_records_per_s)

    def _rates(self) -> dict[str, float]:
        rates: dict[str, float] = self.loop.store.facts().get(RATES, {})
        return rates
