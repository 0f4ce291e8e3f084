"""Estimates of what other settings would do to a topic, as text and JSON."""

from dataclasses import asdict
from typing import Any, Final

from runners.reporting import counted, percent
from tuner.prediction.advice import Advice, SettingsEstimate
from tuner.present.number_text import aligned, number
from tuner.present.predictions.prediction_view import ESTIMATE, interval_text

_MOST_APART: Final = 2.0
"""If today's batches and those of the model differ by a larger factor, the estimates are not to be relied on."""
_UNCOUNTED: Final = (
    "Batches overlap in time, so several producers without ids write to this topic. The estimate treats them as one "
    "producer that writes at the mean rate of the last 24 hours. The batches of each real producer are smaller than "
    "shown."
)

_OVERLOADED: Final = (
    "Together, the producers send more than the model's network and disk carry. The model has one broker, so it does "
    "not know whether your brokers carry it."
)


def advice_lines(advice: Advice, topic: str, calibrated_by: str | None, cluster: str) -> list[str]:
    """Return estimates as lines of text.

    Args:
        advice: The estimates.
        topic: Name of the topic.
        calibrated_by: Name of the study that calibrates the model; None if no study does.
        cluster: The options that name the cluster, such as `--bootstrap broker:9092`.
    """
    load, per_producer = advice.load, "" if advice.producers == 1 else " each"
    heads = ["linger.ms", "batch.size", "compression.type", "records per batch", "batches/s", "MB/s sent"]
    rows = [["", *heads, "broker CPU, cores", "p50, ms", "p99, ms"], _row("today", advice.today)]
    rows += [_row("", other) for other in advice.others]
    return [
        f"what other settings would do: {ESTIMATE}",
        f"assumed: the Java client, {counted(advice.producers, 'producer')} of "
        f"{number(load.rate_records_per_s)} records/s{per_producer}, "
        f"{load.record_sizes} B a record, {percent(load.compressibility_ratio)} of it compressible"
        f"{', with keys' if load.key_bytes else ''}",
        *aligned(rows),
        _compared(advice.measured_batch_records, advice.today.batch_records.value),
        f"The model is calibrated by {calibrated_by}."
        if calibrated_by
        else "The model is not calibrated, so the intervals are wide: name a study with --calibrated-by.",
        *(f"What {calibrated_by} measured does not cover all of this: {each}." for each in advice.uncovered),
        *([_UNCOUNTED] if advice.uncounted else []),
        *([_OVERLOADED] if advice.overloaded else []),
        f"Measure it: {command(advice, topic, cluster)}",
    ]


def _compared(found: float, expected: float) -> str:
    """Return how many records a batch has and how many the model expects, with a warning if they differ widely."""
    text = f"Today's batches have {number(found)} records; the model expects {number(expected)}."
    if max(found / expected, expected / found) <= _MOST_APART:
        return text
    return (
        f"{text} So the table does not describe this topic: the model expects records at a steady rate, and these may "
        "have come in bursts. Measure before you change a setting."
    )


def command(advice: Advice, topic: str, cluster: str) -> str:
    """Return the command that measures the estimated settings on a cluster, which `cluster` names by its options."""
    load = advice.load
    rate = f"{max(1.0, load.rate_records_per_s or 0.0):.0f}"
    return (
        f"tuner run {cluster} --client java --like {topic} --record-bytes {load.record_sizes} --rate {rate} "
        f"--compressibility {load.compressibility_ratio:.2f}"
        f"{f' --key-bytes {load.key_bytes}' if load.key_bytes else ''}"
    )


def advice_json(
    advice: Advice, topic: str, calibrated_by: str | None, cluster: str, *, simulated: bool = False
) -> dict[str, Any]:
    """Return estimates as a JSON document, with the arguments of `advice_lines`.

    `simulated` tells whether a model computed what calibrates them.
    """
    load = advice.load
    return {
        "calibrated_by": calibrated_by,
        "simulated": simulated,
        "producers": advice.producers,
        "rate_records_per_s": load.rate_records_per_s,
        "record_bytes": str(load.record_sizes),
        "key_bytes": load.key_bytes,
        "compressibility_ratio": load.compressibility_ratio,
        "measured_batch_records": advice.measured_batch_records,
        "uncovered": list(advice.uncovered),
        "uncounted_producers": advice.uncounted,
        "beyond_one_broker": advice.overloaded,
        "today": _json(advice.today),
        "others": [_json(each) for each in advice.others],
        "command": command(advice, topic, cluster),
    }


def _json(estimate: SettingsEstimate) -> dict[str, Any]:
    no_latency = {"latency_p50_ms": None, "latency_p99_ms": None} if estimate.falls_behind else {}
    return {**asdict(estimate), **no_latency}


def _row(heading: str, estimate: SettingsEstimate) -> list[str]:
    return [
        heading,
        *estimate.settings.values(),
        interval_text(estimate.batch_records),
        number(estimate.batches_per_s),
        number(estimate.mb_per_s),
        interval_text(estimate.broker_cpu_cores),
        *(
            ["falls behind"] * 2
            if estimate.falls_behind
            else map(interval_text, (estimate.latency_p50_ms, estimate.latency_p99_ms))
        ),
    ]
