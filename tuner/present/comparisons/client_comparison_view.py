"""The comparison of two clients as text."""

from collections.abc import Iterator
from typing import Final

from objectives.ratios import Ratio
from runners.reporting import in_bytes
from tuner.present.number_text import aligned, number, title
from tuner.results.comparisons.client_comparison import ClientComparison, ComparedPair

_SHOWN: Final = (
    "mb_per_s",
    "records_per_s",
    "client_cpu_ms_per_mb",
    "broker_cpu_ms_per_mb",
    "latency_p50_ms",
    "latency_p99_ms",
    "latency_p999_ms",
)
_SENTENCES: Final = {
    "mb_per_s": ("java's throughput is {times} librdkafka's in these rounds", "{better} is faster"),
    "latency_p99_ms": (
        "java's latency p99 is {times} librdkafka's, both at {rate} records/s",
        "{better} has the lower latency",
    ),
    "client_cpu_ms_per_mb": ("java's CPU time for each MB is {times} librdkafka's", "{better} takes less"),
}
"""For each metric, what the ratio says, and what it means for the client that is better."""


def client_comparison_lines(comparison: ClientComparison) -> Iterator[str]:
    """Yield the lines that `tuner compare-clients` prints."""
    rounds = max(measured.rounds for measured in comparison.sides)
    yield f"records of {in_bytes(comparison.record_bytes)}, each config measured in {rounds} rounds, in turn"
    for pair in comparison.pairs:
        yield ""
        yield from _pair_lines(pair, comparison.rate_records_per_s)
    yield ""
    shown = [name for name in _SHOWN if any(name in measured.metrics for measured in comparison.sides)]
    yield from aligned(
        [
            ["means over all rounds", *(measured.side.name for measured in comparison.sides)],
            *([title(name), *(number(measured.metrics.get(name)) for measured in comparison.sides)] for name in shown),
        ]
    )
    yield ""
    for measured in comparison.sides:
        yield f"guarantee of {measured.side.name}: {measured.guarantee}"
    if len({measured.guarantee for measured in comparison.sides}) > 1:
        yield "the guarantees differ, so the ratios contain what a guarantee costs"


def comparison_warnings(comparison: ClientComparison) -> list[str]:
    """Return what makes a comparison less reliable."""
    return [
        *(f"{each.side.name} lost records" for each in comparison.sides if each.lost),
        *(
            f"{each.side.name} held the fixed rate in {round(each.held_ratio * each.rounds)} of {each.rounds} rounds"
            for each in comparison.sides
            if each.held_ratio < 1
        ),
        *comparison.warnings,
    ]


def _pair_lines(pair: ComparedPair, rate_records_per_s: float | None) -> Iterator[str]:
    with_properties = [side.name for side in pair.sides.values() if side.source]
    versions = {kind: f"{kind} {side.config.client.version}" for kind, side in pair.sides.items()}
    if not with_properties:
        yield f"{' and '.join(versions.values())} at their defaults:"
    else:
        at_defaults = [f"{kind} at its defaults" for kind, side in pair.sides.items() if not side.source]
        yield f"{' and '.join([*with_properties, *at_defaults])}:"
    for metric, ratio in pair.ratios.items():
        claim, meaning = _SENTENCES[metric]
        better = pair.better(metric)
        unclear = "inconclusive, as the interval is wide" if ratio.inconclusive else "no difference shown"
        outcome = meaning.format(better=better) if better else unclear
        yield f"  {claim.format(times=_times(ratio), rate=number(rate_records_per_s))}: {outcome}"
    for metric, why in pair.not_compared.items():
        yield f"  {title(metric)}: could not be compared: {why}"


def _times(ratio: Ratio) -> str:
    """Return `0.82 times (0.75 to 0.90)`."""
    value, _, interval = str(ratio).partition(" ")
    return f"{value} times {interval}"
