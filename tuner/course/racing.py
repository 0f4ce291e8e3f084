"""Racing a trial: stop rules that travel to where its load runs, and what the record teaches them.

A load does not wait for what the driver says of its windows, and hears of it a window later. So the rule itself goes
along with a single producer's runner (`Stopping`). The driver asks the same rule about the same windows, which tells
it why the load ended; several producers, whose windows only the driver can put together, are stopped by it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from objectives.outcome import OUTCOME_METRICS, metrics_of
from objectives.racing import MIN_WINDOWS, Forecast, Race, Range, Stop, followed, window_value
from runners.measurement import Measurement, Phase, Window
from runners.runner import Phases, Runner, Watch, WatchDecision, go_on
from runners.workload import RecordSizes, Workload
from search_spaces.producer_config import ProducerConfig
from tuner.model.spec import StudySpec
from tuner.results.size_record import SizeRecord

HOPELESS_RATIO: Final = 0.8
"""Delivering less than this of the fixed rate, a config will not hold it any more."""
_PATIENCE_S: Final = 1.0
_MOST_OTHERS: Final = 200


@dataclass(slots=True)
class PhaseProgress:
    """What the measured windows of a phase have shown so far.

    Attributes:
        metrics: Which are followed.
        values: By metric, one per window; ends where a window had nothing to tell.
        windows: How many there were.
        records: Acknowledged in them.
        seconds: Their length.
        failed: Records given up, in the warm-up too.
    """

    metrics: tuple[str, ...]
    values: dict[str, list[float]] = field(default_factory=dict)
    windows: int = 0
    records: int = 0
    seconds: float = 0.0
    failed: int = 0

    def add(self, window: Window) -> None:
        """Take the next window in."""
        self.failed += window.failed
        if window.phase is not Phase.MEASURED:
            return
        for name in self.metrics:
            seen, value = self.values.setdefault(name, []), window_value(name, window)
            if value is not None and len(seen) == self.windows:
                seen.append(value)
        self.windows += 1
        self.records += window.records
        self.seconds += window.duration_s


@dataclass(frozen=True, slots=True)
class PhaseRule:
    """When to end a phase; asked after each window. Plain data, fit to be sent to a worker.

    Attributes:
        workload: The phase's, all producers together.
        metrics: Which the phase's windows tell of.
        race: What the trial has to beat; None runs it to its end, as long as it holds its rate.
        before: What the phases before it have shown, by metric.
        last: Whether it is the trial's last phase.
        run_to_end: Whether it goes on where the rate can't be held.
    """

    workload: Workload
    metrics: tuple[str, ...] = ()
    race: Race | None = None
    before: Mapping[str, Range] = field(default_factory=dict)
    last: bool = True
    run_to_end: bool = False

    def judge(self, seen: PhaseProgress) -> Stop | None:
        """Whether to end the phase now; None is to go on."""
        offered = self.workload.rate_records_per_s
        if offered is not None and not self.run_to_end and seen.seconds >= _PATIENCE_S:
            held_ratio = seen.records / (offered * seen.seconds)
            if held_ratio < HOPELESS_RATIO:
                return Stop(f"only {held_ratio:.0%} of the rate was delivered", ends_trial=True, falling_behind=True)
        windows = measured_windows(self.workload)
        if self.race is None or not MIN_WINDOWS <= seen.windows < windows:
            return None
        after = f"after {seen.seconds:.3g} of {self.workload.measured_s:g} s"
        if seen.failed:
            return Stop(f"{after} {seen.failed:,} records were given up", ends_trial=True)
        stop = self.race.judge({**self.before, **_expected(self.race, seen)}, last=self.last)
        return None if stop is None else Stop(f"{after} {stop.because}", stop.ends_trial)


@dataclass(frozen=True, slots=True)
class Stopping:
    """Ends another runner's run by a rule.

    Attributes:
        runner: What runs.
        rule: Asked after each window.
    """

    runner: Runner
    rule: PhaseRule

    def run(self, config: ProducerConfig, workload: Workload, watch: Watch = go_on) -> Measurement:
        """See `Runner.run`."""
        seen = PhaseProgress(self.rule.metrics)

        def asked(window: Window) -> WatchDecision:
            seen.add(window)
            stop = self.rule.judge(seen)
            answer = watch(window)
            return WatchDecision.STOP if stop else answer

        return self.runner.run(config, workload, asked)


def race_of(spec: StudySpec, record: SizeRecord, config: ProducerConfig, number: int) -> Race:
    """What a trial that begins now has to beat, by the record alone.

    Args:
        spec: The study's.
        record: Of the record size.
        config: The trial's.
        number: The trial's.
    """
    metrics = followed(spec.objectives, spec.constraints)
    if config.acks == 0:
        # Nobody answers: its latencies are none, and it can't be compared by them.
        metrics = tuple(name for name in metrics if "latency" not in name)
    size, load = RecordSizes.parse(record.record_bytes), spec.workload
    # Of the paced phase at any rate: it has as many windows at all.
    windows = {True: measured_windows(load.paced_at(size, 1.0)), False: measured_windows(load.saturating(size))}
    # A trial whose records nobody acknowledged has windows with latencies, but no latency.
    ended = {
        name: [
            (trial.course[name], trial.metrics[name])
            for trial in record.followed
            if name in trial.course and trial.metrics.get(name, 0.0) > 0
        ]
        for name in metrics
    }
    others = [(trial.number, trial.objectives) for trial in record.searched[-_MOST_OTHERS:]]
    return Race(
        objectives=spec.objectives,
        rivals={
            rival: record.at_time_of(number, rival, values)
            for rival, values in zip(record.front.numbers, record.front.points, strict=True)
        },
        others=tuple(record.at_time_of(number, other, known) for other, values in others if (known := _known(values))),
        constraints=tuple((each, record.baseline_metrics.get(each.metric)) for each in spec.constraints),
        forecasts={name: Forecast.of(ended[name], windows[OUTCOME_METRICS[name].paced]) for name in metrics},
    )


def measured_windows(workload: Workload) -> int:
    """How many windows a phase has that count."""
    phases = Phases.of(workload)
    return len(phases.ends_ns) - phases.warm_windows


def _expected(race: Race, seen: PhaseProgress) -> dict[str, Range]:
    """Where a phase's values will lie, as far as its windows tell."""
    found = {}
    for name, values in seen.values.items():
        forecast = race.forecasts.get(name)
        expected = forecast.range(values) if forecast and len(values) == seen.windows else None
        if expected is not None:
            found[name] = expected
    return found


def ranges_of(race: Race, measured: Measurement, cut_short: PhaseProgress | None, *, paced: bool) -> dict[str, Range]:
    """What a phase that has ended says of the trial's values.

    Args:
        race: What the trial has to beat.
        measured: What it gave.
        cut_short: Its windows, if it was ended before its time.
        paced: Whether it is the paced one.
    """
    if cut_short is not None:
        return _expected(race, cut_short)
    found = metrics_of(None, measured) if paced else metrics_of(measured, None)
    return {
        name: Range(value, value) for name, value in found.items() if OUTCOME_METRICS[name].paced is paced and value > 0
    }


def _known(values: Sequence[float | None]) -> tuple[float, ...] | None:
    """All of them; None where one is missing."""
    known = tuple(value for value in values if value is not None)
    return known if len(known) == len(values) else None
