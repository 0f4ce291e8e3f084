"""Pools of records that are prepared before the load starts, so that the timed loop neither builds nor copies payload.

All records of a pool differ unless one payload is asked for, and a pool is larger than a usual batch. A single payload
that is sent again and again compresses to almost nothing, and makes codecs look several times better than they are.
Source: KAFKA-12611, where Kafka's own tool reported a compression rate of 0.005 for data whose true rate is 0.611.
"""

import zlib
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from runners.workload import RecordSizes, Workload

POOL_BYTES: Final = 16 * 1024 * 1024
MAX_RECORDS: Final = 200_000
MIN_RECORDS: Final = 500
"""Smallest number of records in a pool, unless this many records would be larger than `MOST_POOL_BYTES`."""
MOST_POOL_BYTES: Final = 64 * 1024 * 1024
FEWEST_RECORDS: Final = 4
"""Smallest number of records in a pool, and of its keys, however large they are."""
_ZLIB_SAMPLE_BYTES: Final = 1024 * 1024
_SURELY_DISTINCT_BYTES: Final = 8
"""With this many random bytes in each of 200,000 records, only one pool in a billion has two equal records.

Source: the birthday bound.
"""
_NUMBER_BYTES: Final = 3
"""Enough bytes to number 200,000 records."""
_MOST_ZIPF: Final = 60.0
_ZIPF_STEPS: Final = 50
"""Number of bisection steps that find the exponent of Zipf's law, more exactly than a pool of records can show."""

# Fills the compressible share of a value, with field names and values as in JSON events.
_FILLER: Final = (
    b'{"event":"page_view","user":{"region":"eu-west","plan":"standard"},"device":"mobile","status":"ok","items":[]}'
)


@dataclass(frozen=True, slots=True, eq=False)
class PayloadPool:
    """Distinct records that lie one after another in one block of memory.

    Attributes:
        values: All values, shape (bytes of all values,), uint8. The array is never moved while the pool exists.
        offsets: Index in `values` at which each value begins, shape (records,), int64.
        lengths: Size of each value in bytes, shape (records,), int64.
        keys: The keys, shape (keys, key_bytes), uint8; key_bytes may be 0. By default each record has its own key.
            There are fewer keys if the caller asked for fewer, or if they would take more than `MOST_POOL_BYTES`; the
            records then use the keys in turn.
    """

    values: NDArray[np.uint8]
    offsets: NDArray[np.int64]
    lengths: NDArray[np.int64]
    keys: NDArray[np.uint8]

    def __len__(self) -> int:
        return len(self.lengths)

    @property
    def mean_bytes(self) -> float:
        """Mean size of the values, without keys."""
        return float(self.lengths.mean())

    def bytes_of_first(self, records: int) -> int:
        """Return the exact total size of the values and keys of the first `records` records sent from the pool.

        After the last record of the pool, sending continues with its first record.
        """
        rounds, rest = divmod(records, len(self))
        return rounds * len(self.values) + int(self.offsets[rest]) + records * int(self.keys.shape[1])

    def value(self, index: int) -> bytes:
        """Return the value of the record at `index`."""
        start = int(self.offsets[index])
        return self.values[start : start + int(self.lengths[index])].tobytes()

    def key(self, index: int) -> bytes | None:
        """Return the key of the record at `index`, or None if records have no key."""
        return self.keys[index % len(self.keys)].tobytes() if self.keys.shape[1] else None

    def zlib_ratio(self) -> float:
        """Return the compressed size of the pool's first MiB, divided by its plain size, under zlib level 6."""
        sample = self.values[:_ZLIB_SAMPLE_BYTES].tobytes()
        return len(zlib.compress(sample, 6)) / len(sample)


def make_pool(
    sizes: RecordSizes,
    *,
    key_bytes: int = 0,
    compressibility_ratio: float = 0.0,
    one_payload: bool = False,
    different_keys: int | None = None,
    most_frequent_key_ratio: float = 0.0,
    seed: int = 0,
) -> PayloadPool:
    """Make a pool of records; the same arguments always give the same bytes. All values differ unless `one_payload`.

    Args:
        sizes: Sizes of the values. Each size gets its exact share of the pool (rounded to a whole record), in random
            order.
        key_bytes: Size of each key; 0 for no keys. If all keys take more than `MOST_POOL_BYTES`, keys are repeated.
        compressibility_ratio: Share of each value that is filler text, which is the same in all records. The rest is
            random.
        one_payload: Whether all values are the same; the sizes must be equal then.
        different_keys: Number of different keys. None: each record has its own key.
        most_frequent_key_ratio: Share of the records with the most frequent key; 0 if all are equally frequent.
        seed: Any non-negative integer.
    """
    rng = np.random.default_rng(seed)
    at_least = max(FEWEST_RECORDS, min(MIN_RECORDS, MOST_POOL_BYTES / sizes.mean_bytes))
    records = int(np.clip(POOL_BYTES / sizes.mean_bytes, at_least, MAX_RECORDS))
    lengths = _shuffled_lengths(sizes, records, rng)
    offsets = np.concatenate(([0], np.cumsum(lengths)[:-1]))
    values = rng.integers(0, 256, size=int(lengths.sum()), dtype=np.uint8)
    if compressibility_ratio:
        _fill(values, offsets, lengths, compressibility_ratio)
    if one_payload:
        values = np.resize(values[: int(lengths[0])], len(values))
    elif lengths.min() * (1 - compressibility_ratio) < _SURELY_DISTINCT_BYTES:
        _number(values, offsets, lengths)
    most = min(len(lengths), max(FEWEST_RECORDS, MOST_POOL_BYTES // max(key_bytes, 1)))
    if different_keys is None:
        keys = rng.integers(0, 256, size=(most, key_bytes), dtype=np.uint8)
    else:
        keys = _keys(min(different_keys, most), key_bytes, rng)
        if most_frequent_key_ratio:
            shares = zipf_shares(len(keys), most_frequent_key_ratio)
            keys = keys[rng.choice(len(keys), size=most, p=shares)]
    return PayloadPool(values, offsets, lengths, keys)


def _keys(count: int, key_bytes: int, rng: np.random.Generator) -> NDArray[np.uint8]:
    """Return `count` different keys, shape (count, key_bytes)."""
    keys = rng.integers(0, 256, size=(count, key_bytes), dtype=np.uint8)
    numbered = min(key_bytes, _NUMBER_BYTES)
    for digit in range(numbered):
        keys[:, digit] = np.arange(count) >> (8 * digit) & 0xFF
    return keys


def zipf_shares(count: int, largest: float) -> NDArray[np.float64]:
    """Return the shares of keys by Zipf's law: the n-th most frequent key has a share proportional to n^-s.

    Args:
        count: The number of keys.
        largest: The share of the most frequent key, at least 1 / count.

    Returns:
        The shares in descending order, shape (count,). Their sum is 1.
    """
    places = np.arange(1, count + 1, dtype=np.float64)
    low, high = 0.0, _MOST_ZIPF
    for _ in range(_ZIPF_STEPS):
        power = (low + high) / 2
        low, high = (power, high) if 1 / np.sum(places**-power) < largest else (low, power)
    weights = places**-high
    shares: NDArray[np.float64] = weights / weights.sum()
    return shares


def payload_of(workload: Workload) -> tuple[PayloadPool, float]:
    """Return the pool of records of a workload, and its compressed size divided by its plain size, under zlib.

    The last pool is kept for the next measurement, because making one takes a third of a second.
    """
    return _kept_pool(
        workload.record_sizes,
        workload.key_bytes,
        workload.compressibility_ratio,
        workload.one_payload,
        workload.different_keys,
        workload.most_frequent_key_ratio,
        workload.seed,
    )


@lru_cache(maxsize=1)
def _kept_pool(
    sizes: RecordSizes,
    key_bytes: int,
    compressibility_ratio: float,
    one_payload: bool,
    different_keys: int | None,
    most_frequent_key_ratio: float,
    seed: int,
) -> tuple[PayloadPool, float]:
    pool = make_pool(
        sizes,
        key_bytes=key_bytes,
        compressibility_ratio=compressibility_ratio,
        one_payload=one_payload,
        different_keys=different_keys,
        most_frequent_key_ratio=most_frequent_key_ratio,
        seed=seed,
    )
    return pool, pool.zlib_ratio()


def _shuffled_lengths(sizes: RecordSizes, records: int, rng: np.random.Generator) -> NDArray[np.int64]:
    shares = np.array([share for _, share in sizes.shares])
    counts = np.maximum(1, np.round(shares * records)).astype(np.int64)
    lengths = np.repeat(np.array([size for size, _ in sizes.shares], dtype=np.int64), counts)
    rng.shuffle(lengths)
    return lengths


def _fill(
    values: NDArray[np.uint8],
    offsets: NDArray[np.int64],
    lengths: NDArray[np.int64],
    compressibility_ratio: float,
) -> None:
    filler = np.frombuffer(_FILLER * (int(lengths.max()) // len(_FILLER) + 1), dtype=np.uint8)
    for start, length in zip(offsets.tolist(), lengths.tolist(), strict=True):
        filled = int(length * compressibility_ratio)
        values[start + length - filled : start + length] = filler[:filled]


def _number(values: NDArray[np.uint8], offsets: NDArray[np.int64], lengths: NDArray[np.int64]) -> None:
    """Write the number of each record into its first bytes.

    Records with few random bytes could otherwise be equal by chance.
    """
    numbers = np.arange(len(lengths), dtype=np.int64)
    for digit in range(_NUMBER_BYTES):
        roomy = lengths > digit
        values[offsets[roomy] + digit] = (numbers[roomy] >> (8 * digit)) & 0xFF
