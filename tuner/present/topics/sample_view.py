"""The statistics of a topic's records, as a table, as JSON, and as a study file."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, Final

import yaml

from runners.inspection.topic_sample import GZIP, TopicSample
from runners.reporting import counted, percent
from runners.workload import MOST_COMPRESSIBLE, MOST_KEYS, MOST_PEAK_RATIO
from tuner.model.document import document
from tuner.present.console import Unwrapped

TYPICAL_CODEC: Final = "lz4"
"""The codec whose ratio the study's payload gets, if it is known: lz4 removes less than gzip and zstd."""
_SHARES: Final = (0.05, 0.5, 0.95, 0.99, 1.0)
_EVEN_RATIO: Final = 3.0
"""Keys are skewed if the most frequent one has over this many times its even share."""
_SHORTEST_FOR_PEAK_S: Final = 10.0
_BURSTS_RATIO: Final = 1.5
"""There are bursts if the busiest second has this many times the mean number of records."""


def sample_json(topic: str, sample: TopicSample) -> dict[str, Any]:
    """Return the statistics as a JSON document."""
    found = asdict(sample)
    found["sizes"] = {str(size): count for size, count in sample.sizes.items()}
    mix = sample.mix() if sample.sizes else None
    return document("sample", topic=topic, **found, record_bytes=mix)


def print_sample(topic: str, sample: TopicSample, console: Unwrapped) -> None:
    """Print the statistics, one line each."""
    console.show(*(f"{name:<22} {text}" for name, text in _sample_lines(topic, sample)))


def _sample_lines(topic: str, sample: TopicSample) -> list[tuple[str, str]]:
    """Return the statistics as pairs of a name and a text."""
    lines = [
        (
            "topic",
            f"{topic}: {sample.records:,} of the newest records of {counted(sample.partitions, 'partition')}, "
            f"{sample.value_bytes / 1e6:.1f} MB of values",
        )
    ]
    if sample.sizes:
        mean = sample.value_bytes / sum(sample.sizes.values())
        quantiles = ", ".join(
            f"{'largest' if share == 1 else f'p{100 * share:.0f}'} {sample.size_at(share):,}" for share in _SHARES
        )
        lines.append(("value size, bytes", f"mean {mean:,.0f}, {quantiles}"))
        lines.append(("as a mix of sizes", sample.mix()))
    if sample.tombstones:
        lines.append(("without a value", f"{sample.tombstones:,} (tombstones, which delete a key)"))
    lines.append(("keys", _keys(sample)))
    if sample.sizes:
        removed = ", ".join(f"{codec} {percent(ratio)}" for codec, ratio in sample.removed_ratio.items())
        without = "" if TYPICAL_CODEC in sample.removed_ratio else "; other codecs need the package pyarrow"
        lines.append(("compression removes", f"{removed} of batches of 64 KiB{without}"))
    if sample.rate_records_per_s:
        rate = (
            f"{sample.rate_records_per_s:,.0f} on average over {sample.span_s:,.1f} s, "
            f"{sample.busiest_records_per_s:,} in the busiest second"
        )
        lines.append(("rate, records/s", rate))
    elif sample.busiest_records_per_s:
        too_short = f"unknown, because these records were written within {1e3 * sample.span_s:.0f} ms"
        lines.append(("rate, records/s", too_short))
    return lines


def _keys(sample: TopicSample) -> str:
    if not sample.keyed:
        return "none"
    return (
        f"{percent(sample.keyed / sample.records)} of the records have one, mean {sample.key_bytes:.0f} bytes; "
        f"{counted(sample.different_keys, 'different key')}; the most frequent one is that of "
        f"{percent(sample.most_frequent_key_ratio, decimals=1)} of the records"
    )


def peak_ratio(sample: TopicSample) -> float:
    """Return the number of records in the busiest second, divided by the mean; 1 if the sample is too short to tell."""
    if sample.span_s < _SHORTEST_FOR_PEAK_S:
        return 1.0
    return min(MOST_PEAK_RATIO, max(1.0, sample.busiest_records_per_s / sample.rate_records_per_s))


def sampled_study(topic: str, sample: TopicSample, bootstrap: str, command_config: str | None) -> str:
    """Return a study file for records like those of the sample, on topics like theirs.

    Args:
        topic: The topic that was read.
        sample: Its statistics; at least one record has a value.
        bootstrap: The address of the cluster.
        command_config: The path of the file with the connection settings, relative to the study file; None without one.
    """
    codec = TYPICAL_CODEC if TYPICAL_CODEC in sample.removed_ratio else GZIP
    target: dict[str, str] = {"bootstrap": bootstrap, "like": topic}
    if command_config is not None:
        target["command_config"] = command_config
    key_bytes = round(sample.key_bytes * sample.keyed / sample.records)
    keys = min(sample.different_keys, MOST_KEYS, 256 ** min(key_bytes, 4))
    most_frequent = sample.most_frequent_key_ratio
    skew = round(most_frequent, 4) if keys and most_frequent > _EVEN_RATIO / keys else 0.0
    workload: Mapping[str, object] = {
        "record_bytes": [sample.mix()],
        "key_bytes": key_bytes,
        **({"different_keys": keys, "most_frequent_key_ratio": skew} if key_bytes else {}),
        "compressibility_ratio": round(min(MOST_COMPRESSIBLE, sample.removed_ratio[codec]), 2),
    }
    head = [
        f"A study with records like those of topic {topic}: sizes, keys and compressibility are those of "
        f"{sample.records:,} of its",
        f"newest records. The compressibility is what {codec} removes. Run it with: tuner run FILE",
    ]
    text = "".join(f"# {line}\n" for line in head)
    text += yaml.safe_dump({"target": target, "workload": dict(workload)}, sort_keys=False, width=200)
    if sample.rate_records_per_s >= 1:
        ratio = peak_ratio(sample)
        bursts, peak = "", ""
        if ratio >= _BURSTS_RATIO:
            bursts, peak = f", and {ratio:.1f} times as many in the busiest second", f", peak_ratio: {ratio:.1f}"
        text += (
            f"  # The topic got {sample.rate_records_per_s:,.0f} records/s on average{bursts}. To measure latency at "
            "this rate, remove the # below.\n"
            f"  #paced: {{rate_records_per_s: {sample.rate_records_per_s:.0f}{peak}}}\n"
        )
    return text
