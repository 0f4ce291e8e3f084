"""Turns the measurements of a trial's phases into the `Trial` that is stored: its metrics, score and verdict."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from objectives.metrics import metrics_of
from objectives.producer_verdict import Evidence, judge
from objectives.racing import Stop
from objectives.scoring import ALWAYS, Constraint, Objective, Score, score
from runners.errors import DeliveryFailed
from runners.measurements.measurement import Measurement
from tuner.execution.trials.steadiness import capacity_of
from tuner.execution.trials.trial_job import TrialOutcome
from tuner.model.measurement_json import measurement_json
from tuner.model.trial import PACED, SATURATED, State, Trial, TrialKind


def trial_of(
    outcome: TrialOutcome,
    objectives: Sequence[Objective],
    constraints: Sequence[Constraint],
    baseline: Mapping[str, float] | None,
    ended_s: float,
) -> tuple[Trial, dict[str, Any]]:
    """Return the trial to store, and its measurements as attachments.

    If the client gave up records, the trial counts as complete but breaks a constraint. It does not count as failed,
    because the sampler learns nothing from a failed trial and would propose similar configs again.

    Args:
        outcome: The outcome of the trial.
        objectives: What the study optimises; empty for a measurement that is not judged.
        constraints: The limits that the study sets.
        baseline: The baseline's metrics so far; None before there are any.
        ended_s: When the trial ended, on the clock `time.monotonic` of this process.
    """
    saturated, paced = outcome.measurements.get(SATURATED), outcome.measurements.get(PACED)
    started = outcome.job.started
    only_the_end = outcome.job.ends.counts_only_the_end
    overloaded = isinstance(outcome.error, DeliveryFailed)
    metrics, window_values = metrics_of(saturated, paced), _window_values(outcome)
    if only_the_end and saturated is not None:
        # The first seconds only brought the target to its normal speed, so they do not count.
        per_s = outcome.progress[SATURATED].records_per_s
        window_values = {"records_per_s": tuple(per_s)}
        metrics["records_per_s"] = capacity_of(per_s)
        metrics["mb_per_s"] = metrics["records_per_s"] * saturated.workload.record_sizes.mean_bytes / 1e6
    if overloaded:
        metrics["delivered_ratio"] = 0.0
    judged = score(metrics, objectives, constraints, baseline)
    burns_in = started.kind is TrialKind.BURN_IN
    early_stops = {name: stop for name, stop in outcome.stops.items() if not stop.falling_behind and not only_the_end}
    lost = next((stop for stop in early_stops.values() if stop.ends_trial), None) if outcome.error is None else None
    main, timed = saturated or paced, paced or saturated
    verdict = judge(Evidence.of(main)) if main is not None else None
    measurements = [measured for measured in (paced, saturated) if measured is not None]
    state = State.COMPLETE if outcome.error is None or overloaded else State.FAILED
    trial = replace(
        started.ended(state, verdict, ended_s),
        metrics=metrics,
        objectives=() if burns_in else judged.values,
        violations={} if burns_in else _violations(judged, metrics, constraints) if lost else dict(judged.violations),
        error=str(outcome.error) if outcome.error is not None else "",
        warnings=_warnings(measurements, timed, {} if lost else early_stops),
        worker=outcome.worker,
        attempts=outcome.attempts,
        load_s=sum(_load_s(measured) for measured in (*measurements, *outcome.replaced)),
        value_bytes=sum(
            measured.counts.acknowledged * measured.workload.record_sizes.mean_bytes
            for measured in (*measurements, *outcome.replaced)
        ),
        sent_bytes=outcome.sent_bytes,
        proposal=started.proposal.index if started.kind is TrialKind.SEARCH else None,
        sampler_state=dict(started.proposal.sampler_state),
        stopped_early=lost.because if lost else "",
        saved_s=_saved_s(outcome, early_stops, skipping=lost is not None) if outcome.error is None else 0.0,
        window_values=window_values,
    )
    return trial, {name: measurement_json(measured) for name, measured in outcome.measurements.items()}


def _violations(judged: Score, metrics: Mapping[str, float], constraints: Sequence[Constraint]) -> dict[str, float]:
    """Return how far a trial that was stopped early violates its constraints, for the metrics that it has measured.

    The trial ended before it could measure the other metrics, so their constraints can't be checked.
    """
    measured = {str(each) for each in (*ALWAYS, *constraints) if each.metric in metrics}
    return {name: violation for name, violation in judged.violations.items() if name in measured}


def _saved_s(outcome: TrialOutcome, early_stops: Mapping[str, Stop], *, skipping: bool) -> float:
    """Return how many seconds of load were saved because phases were stopped early.

    Saved seconds are seconds that were planned but not run. The seconds of repeated phases are subtracted.

    Args:
        outcome: The outcome of the trial.
        early_stops: Why phases were stopped early, by phase.
        skipping: Whether phases that never began count as saved.
    """
    saved_s = 0.0
    for name, workload in outcome.job.phases:
        planned_s, measured = workload.warmup_s + workload.measured_s, outcome.measurements.get(name)
        if measured is None:
            saved_s += planned_s if skipping else 0.0
        elif name in early_stops and measured.series:
            saved_s += max(0.0, planned_s - measured.series[-1].at_s)
    return saved_s - sum(_load_s(measured) for measured in outcome.replaced)


def _window_values(outcome: TrialOutcome) -> dict[str, tuple[float, ...]]:
    """Return, by metric, the values in all measured windows of the phases that ran to their end."""
    return {
        name: tuple(values)
        for phase, seen in outcome.progress.items()
        if phase in outcome.measurements and phase not in outcome.stops
        for name, values in seen.values.items()
        if len(values) == seen.windows
    }


def _warnings(
    measurements: Sequence[Measurement], timed: Measurement | None, cut_short: Mapping[str, Stop]
) -> tuple[str, ...]:
    """Return one sentence for each thing that makes a trial's numbers less certain.

    Args:
        measurements: The measurements of all phases.
        timed: The measurement that the latencies are from; None if there is none.
        cut_short: Why phases were stopped early, by the name of the phase.
    """
    doubts = [sentence for measured in measurements for sentence in _doubts(measured)]
    behind = judge(Evidence.of(timed)).consumers_fell_behind if timed is not None else ""
    cuts = [f"the {name} phase was stopped early: {stop.because}" for name, stop in cut_short.items()]
    return tuple(dict.fromkeys((*doubts, *([behind] if behind else []), *cuts)))


def _doubts(measured: Measurement) -> tuple[str, ...]:
    """Return what makes a measurement less certain: its warnings, and numbers that contradict each other."""
    check, at = measured.latency_check, " at full speed" if measured.workload.rate_records_per_s is None else ""
    return (
        *measured.warnings,
        *measured.counts.differences(),
        *(
            (
                f"the measured latency differs by {100 * check.difference_ratio:+.1f} % from that in the client's "
                f"statistics{at}",
            )
            if check is not None and check.agrees is False
            else ()
        ),
    )


def _load_s(measured: Measurement) -> float:
    """Return the seconds that a phase took, including the time to deliver the records that were still queued."""
    return measured.series[-1].at_s + measured.flush_s if measured.series else 0.0
