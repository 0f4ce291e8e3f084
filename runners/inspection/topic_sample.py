"""Statistics of a sample of a topic's records: sizes, keys, compressibility, and when they were written.

The statistics hold no content. Of a key, only a keyed hash is kept, and only while the sample is read.
"""

import hashlib
import importlib
import os
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from runners.clusters.topics.topic_reader import ReadRecord

GZIP: Final = "gzip"
ARROW_CODECS: Final = ("lz4", "snappy", "zstd")
"""Kafka's codecs that Python does not have. Their compression needs the package pyarrow."""
BATCH_BYTES: Final = 65_536
"""Values are compressed in batches of about this size. Larger batches compress a little better."""
MOST_SIZES: Final = 5
SHORTEST_FOR_RATE_S: Final = 1.0
"""The shortest time between the oldest and the newest record from which a rate is computed."""
_ALIKE_RATIO: Final = 1.1
_HASH_BYTES: Final = 8


@dataclass(frozen=True, slots=True)
class TopicSample:
    """Statistics of some of a topic's records. Sizes are of values, without keys and headers, unless stated otherwise.

    Attributes:
        records: The number of records that were read.
        partitions: The number of partitions that they were read from.
        tombstones: How many of them have no value.
        value_bytes: The size of all values.
        sizes: The number of records by the size of their value, in ascending order of the size.
        keyed: How many records have a key.
        key_bytes: Mean size of the keys; 0 without keys.
        different_keys: The number of different keys.
        most_frequent_key_ratio: The share of the keyed records that have the most frequent key; 0 without keys.
        removed_ratio: The share of the values that compression removes, by codec: gzip, and also lz4, snappy and zstd
            if the package pyarrow is installed.
        span_s: Seconds from the oldest to the newest timestamp of the records; 0 without timestamps.
        rate_records_per_s: Mean rate at which the records were written; 0 if `span_s` is below a second, which is
            too short for a rate.
        busiest_records_per_s: The number of records in the second with the most records; 0 without timestamps.
    """

    records: int
    partitions: int
    tombstones: int
    value_bytes: int
    sizes: Mapping[int, int]
    keyed: int
    key_bytes: float
    different_keys: int
    most_frequent_key_ratio: float
    removed_ratio: Mapping[str, float]
    span_s: float
    rate_records_per_s: float
    busiest_records_per_s: int

    def size_at(self, share: float) -> int:
        """Return a quantile of the value sizes, in bytes.

        Args:
            share: The share of the records whose values are at most as large, from 0 to 1.
        """
        ordered = sorted(self.sizes)
        counted = np.cumsum([self.sizes[size] for size in ordered])
        return ordered[int(np.searchsorted(counted, share * counted[-1]))]

    def mix(self) -> str:
        """Return the sizes of the records as a study file has them: one size, or a mix such as `200:67,1000:33`.

        Up to five different sizes are listed without change. More sizes are sorted and divided into five groups with
        the same number of records. Each group is listed with its mean size, and neighbouring groups whose sizes differ
        by less than 10 % are merged. The weights are percentages that add up to 100.
        """
        sizes, counts = np.array(list(self.sizes)), np.array(list(self.sizes.values()))
        groups: list[tuple[float, int]] = list(zip(sizes.tolist(), counts.tolist(), strict=True))
        if len(groups) > MOST_SIZES:
            groups = []
            for part in (part for part in np.array_split(np.repeat(sizes, counts), MOST_SIZES) if part.size):
                mean, many = float(part.mean()), int(part.size)
                if groups and mean < _ALIKE_RATIO * groups[-1][0]:
                    before, fewer = groups.pop()
                    mean, many = (mean * many + before * fewer) / (many + fewer), many + fewer
                groups.append((mean, many))
        weights: Counter[int] = Counter()
        for mean, many in groups:
            weights[max(1, round(mean))] += max(1, round(100 * many / counts.sum()))
        weights[max(weights, key=weights.__getitem__)] += 100 - weights.total()
        return ",".join(f"{size}:{weight}" for size, weight in weights.items()) if len(weights) > 1 else str(*weights)


@dataclass(slots=True)
class SampleCount:
    """Counts the records of a sample."""

    _sizes: Counter[int] = field(default_factory=Counter)
    _keys: Counter[bytes] = field(default_factory=Counter)
    _key_bytes: int = 0
    _tombstones: int = 0
    _seconds: Counter[int] = field(default_factory=Counter)
    _oldest_ms: int | None = None
    _newest_ms: int = 0
    _batches: dict[int, bytearray] = field(default_factory=dict)
    _plain_bytes: int = 0
    _packed_bytes: Counter[str] = field(default_factory=Counter)
    _salt: bytes = field(default_factory=lambda: os.urandom(16))
    _codecs: Mapping[str, Callable[[bytes], int]] = field(default_factory=lambda: _compressors())

    def add(self, records: Iterable[ReadRecord], max_bytes: int) -> None:
        """Count records until there are no more, or until they take more than `max_bytes` bytes."""
        taken = 0
        for record in records:
            self._add(record)
            taken += len(record.value or b"") + len(record.key or b"")
            if taken > max_bytes:
                break

    def _add(self, record: ReadRecord) -> None:
        if record.value is None:
            self._tombstones += 1
        else:
            self._sizes[len(record.value)] += 1
            batch = self._batches.setdefault(record.partition, bytearray())
            batch += record.value
            if len(batch) >= BATCH_BYTES:
                self._compress(self._batches.pop(record.partition))
        if record.key is not None:
            self._keys[hashlib.blake2b(record.key, digest_size=_HASH_BYTES, key=self._salt).digest()] += 1
            self._key_bytes += len(record.key)
        if record.timestamp_ms is not None:
            self._seconds[record.timestamp_ms // 1000] += 1
            self._newest_ms = max(self._newest_ms, record.timestamp_ms)
            oldest = self._oldest_ms
            self._oldest_ms = record.timestamp_ms if oldest is None else min(oldest, record.timestamp_ms)

    def _compress(self, batch: bytearray) -> None:
        plain = bytes(batch)
        self._plain_bytes += len(plain)
        for codec, compressed_bytes in self._codecs.items():
            self._packed_bytes[codec] += compressed_bytes(plain)

    def result(self, partitions: int) -> TopicSample:
        """Return the statistics of all records that were counted.

        Args:
            partitions: The number of partitions that they were read from.
        """
        for batch in self._batches.values():
            if batch:
                self._compress(batch)
        self._batches.clear()
        keyed, valued = sum(self._keys.values()), sum(self._sizes.values())
        span_s = 0.0 if self._oldest_ms is None else (self._newest_ms - self._oldest_ms) / 1e3
        timed = sum(self._seconds.values())
        return TopicSample(
            records=valued + self._tombstones,
            partitions=partitions,
            tombstones=self._tombstones,
            value_bytes=sum(size * count for size, count in self._sizes.items()),
            sizes=dict(sorted(self._sizes.items())),
            keyed=keyed,
            key_bytes=self._key_bytes / keyed if keyed else 0.0,
            different_keys=len(self._keys),
            most_frequent_key_ratio=max(self._keys.values()) / keyed if keyed else 0.0,
            removed_ratio={
                codec: max(0.0, 1 - self._packed_bytes[codec] / self._plain_bytes) if self._plain_bytes else 0.0
                for codec in self._codecs
            },
            span_s=span_s,
            rate_records_per_s=timed / span_s if span_s >= SHORTEST_FOR_RATE_S else 0.0,
            busiest_records_per_s=max(self._seconds.values(), default=0),
        )


def _compressors() -> dict[str, Callable[[bytes], int]]:
    """Return functions that compress a batch and return its size in bytes, by codec."""
    compressors: dict[str, Callable[[bytes], int]] = {GZIP: lambda plain: len(zlib.compress(plain))}
    with suppress(ImportError):  # MLflow brings pyarrow, but the container image leaves it out
        compress = importlib.import_module("pyarrow").compress
        for codec in ARROW_CODECS:
            compressors[codec] = lambda plain, codec=codec: len(compress(plain, codec=codec, asbytes=True))  # type: ignore[misc]
    return compressors
