"""Stops the load of a phase early, when a rule says so.

The driver, which is the process that runs the study, sees a window (at most a second of the load) only after the window
has ended, while the load continues. So the rule is sent to the worker along with the runner (`Stopping`), and stops the
load there. The driver applies the same rule to the same windows, to learn why the load ended. If a trial has several
producers, only the driver can add up their windows. Then the driver stops the producers.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol

from objectives.forecasts import Forecast, PredictedRange, metrics_in_windows, window_value
from objectives.metrics import OUTCOME_METRICS, metrics_of
from objectives.racing import MIN_WINDOWS, Race, Stop
from runners.measurements.measurement import Measurement, Window, WindowKind
from runners.runner import Runner, Watch, WatchDecision, WindowSchedule, go_on
from runners.workload import RecordSizes, Workload
from search_spaces.configs.producer_config import ProducerConfig
from tuner.model.spec import StudySpec
from tuner.results.search_state import SearchState

HOPELESS_RATIO: Final = 0.8
"""A phase is stopped if the config delivers less than this share of the fixed rate, as it will not catch up."""
_LEAST_WINDOWS: Final = 2
"""The number of measured windows after which a phase may be stopped because its config can't hold the fixed rate."""
_MOST_OTHERS: Final = 200
"""The number of the newest trials of the search from which a race estimates how rare good values are."""


@dataclass(slots=True)
class PhaseProgress:
    """What the measured windows of a phase have shown so far.

    Attributes:
        metrics: The metrics that have a value in each window, such as the throughput.
        values: By metric, one value per measured window. A list ends at the first window without a value.
        windows: The number of measured windows.
        records: The number of records acknowledged in the measured windows.
        seconds: The length of the measured windows together.
        records_per_s: The records per second that were acknowledged in each measured window, which may be 0.
        failed: The number of records that the client gave up, including records of the warm-up.
    """

    metrics: tuple[str, ...]
    values: dict[str, list[float]] = field(default_factory=dict)
    windows: int = 0
    records: int = 0
    seconds: float = 0.0
    records_per_s: list[float] = field(default_factory=list)
    failed: int = 0

    def add(self, window: Window) -> None:
        """Add the numbers of the next window; of a warm-up window, only the number of failed records is added."""
        self.failed += window.failed
        if window.phase is not WindowKind.MEASURED:
            return
        for name in self.metrics:
            seen, value = self.values.setdefault(name, []), window_value(name, window)
            if value is not None and len(seen) == self.windows:
                seen.append(value)
        self.windows += 1
        self.records += window.records
        self.seconds += window.duration_s
        self.records_per_s.append(window.records_per_s)


class StopRule(Protocol):
    """Decides after each window whether a phase ends early. Rules are pickled and sent to the workers."""

    @property
    def metrics(self) -> tuple[str, ...]:
        """The metrics that the rule needs of each window."""

    def judge(self, progress: PhaseProgress) -> Stop | None:
        """Return why the phase should end now; None if it should continue."""


@dataclass(frozen=True, slots=True)
class WholePhase:
    """Never ends a phase early.

    Attributes:
        metrics: The metrics whose values in each window are kept.
    """

    metrics: tuple[str, ...] = ()

    def judge(self, progress: PhaseProgress) -> Stop | None:
        """Return None: the phase continues."""
        return None


@dataclass(frozen=True, slots=True)
class Stopping:
    """A runner that lets another runner measure, and stops that runner's load when a rule says so.

    Attributes:
        runner: The runner that measures.
        rule: Decides after each window whether the phase ends.
    """

    runner: Runner
    rule: StopRule

    def run(self, config: ProducerConfig, workload: Workload, watch: Watch = go_on) -> Measurement:
        """Measure the config, and stop early when the rule or `watch` says so."""
        seen = PhaseProgress(self.rule.metrics)

        def watch_and_judge(window: Window) -> WatchDecision:
            seen.add(window)
            stop = self.rule.judge(seen)
            answer = watch(window)
            return WatchDecision.STOP if stop else answer

        return self.runner.run(config, workload, watch_and_judge)


@dataclass(frozen=True, slots=True)
class PhaseRule:
    """Ends a phase early if its config can't hold the fixed rate, or will probably miss the front or a constraint.

    Attributes:
        workload: The load of the phase, of all producers together.
        metrics: The metrics that the windows of the phase have values for.
        race: The results that the trial must beat; None if the phase ends early only when the config can't hold the
            fixed rate.
        before: By metric, the range of its value according to the earlier phases of the trial.
        last: Whether this is the last phase of the trial.
    """

    workload: Workload
    metrics: tuple[str, ...] = ()
    race: Race | None = None
    before: Mapping[str, PredictedRange] = field(default_factory=dict)
    last: bool = True

    def judge(self, progress: PhaseProgress) -> Stop | None:
        """Return why the phase should end now; None if it should continue."""
        offered = self.workload.rate_records_per_s
        if offered is not None and progress.windows >= _LEAST_WINDOWS:
            held_ratio = progress.records / (offered * progress.seconds)
            # After a short pause of the host, the newest window has the records that the pause has delayed.
            if max(held_ratio, progress.records_per_s[-1] / offered) < HOPELESS_RATIO:
                return Stop(
                    f"only {held_ratio:.0%} of the fixed rate was delivered", ends_trial=True, falling_behind=True
                )
        windows = _measured_windows(self.workload)
        if self.race is None or not MIN_WINDOWS <= progress.windows < windows:
            return None
        after = f"after {progress.seconds:.3g} of {self.workload.measured_s:g} s,"
        if progress.failed:
            return Stop(f"{after} {progress.failed:,} records were given up", ends_trial=True)
        stop = self.race.judge({**self.before, **_predicted_ranges(self.race, progress)}, last=self.last)
        return None if stop is None else Stop(f"{after} {stop.because}", stop.ends_trial)


def race_of(spec: StudySpec, search: SearchState, config: ProducerConfig, number: int) -> Race:
    """Return the results of the stored trials that a new trial must beat so that it is not stopped early."""
    metrics = metrics_in_windows(spec.objectives, spec.constraints)
    if config.acks == 0:
        # With acks=0 no broker answers, so there are no latencies to compare.
        metrics = tuple(name for name in metrics if "latency" not in name)
    size, load = RecordSizes.parse(search.record_bytes), spec.workload
    # The number of windows does not depend on the rate, so the paced phase gets any rate here.
    windows = {True: _measured_windows(load.paced_at(size, 1.0)), False: _measured_windows(load.saturating(size))}
    # A trial with acks=0 has latencies in its windows but none for the whole phase, so no forecast can learn from it.
    ended = {
        name: [
            (trial.window_values[name], trial.metrics[name])
            for trial in search.with_windows
            if name in trial.window_values and trial.metrics.get(name, 0.0) > 0
        ]
        for name in metrics
    }
    others = [(trial.number, trial.objectives) for trial in search.searched[-_MOST_OTHERS:]]
    return Race(
        objectives=spec.objectives,
        rivals={
            rival: search.at_time_of(number, rival, values)
            for rival, values in zip(search.front.numbers, search.front.points, strict=True)
        },
        others=tuple(
            search.at_time_of(number, other, known) for other, values in others if (known := _complete(values))
        ),
        constraints=tuple((each, search.baseline_metrics.get(each.metric)) for each in spec.constraints),
        forecasts={name: Forecast.of(ended[name], windows[OUTCOME_METRICS[name].paced]) for name in metrics},
    )


def _measured_windows(workload: Workload) -> int:
    """Return how many measured windows a phase has; windows of the warm-up are not measured."""
    schedule = WindowSchedule.of(workload)
    return len(schedule.ends_ns) - schedule.warm_windows


def _predicted_ranges(race: Race, progress: PhaseProgress) -> dict[str, PredictedRange]:
    """Return, by metric, the range in which its value for the whole phase probably lies, if that can be predicted."""
    found = {}
    for name, values in progress.values.items():
        forecast = race.forecasts.get(name)
        expected = forecast.range(values) if forecast and len(values) == progress.windows else None
        if expected is not None:
            found[name] = expected
    return found


def ranges_of(
    race: Race, measured: Measurement, cut_short: PhaseProgress | None, *, paced: bool
) -> dict[str, PredictedRange]:
    """Return, by metric, the range of a phase's values after the phase has ended.

    Args:
        race: The results that the trial must beat.
        measured: The measurement of the phase.
        cut_short: The windows of the phase if it was stopped early; the ranges are then forecasts. None if the phase
            ran to its end, so that its values are known exactly.
        paced: Whether the phase is the paced phase.
    """
    if cut_short is not None:
        return _predicted_ranges(race, cut_short)
    found = metrics_of(None, measured) if paced else metrics_of(measured, None)
    return {
        name: PredictedRange(value, value)
        for name, value in found.items()
        if OUTCOME_METRICS[name].paced is paced and value > 0
    }


def _complete(values: Sequence[float | None]) -> tuple[float, ...] | None:
    """Return the values if none of them is missing; None otherwise."""
    known = tuple(value for value in values if value is not None)
    return known if len(known) == len(values) else None
