"""The workload: the records that are sent while a config is measured, and their rate.

A config sets how the client sends, and a workload sets what the client sends.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Final, Self

from runners.errors import WorkloadRefused
from runners.number_range import NumberRange
from runners.quantities import SECONDS_PER_DAY, size_bytes
from runners.reporting import counted

MAX_RECORD_BYTES: Final = 64 * 1024 * 1024
MOST_PEAK_RATIO: Final = 100
MOST_KEYS: Final = 200_000
MOST_PARTITIONS: Final = 10_000
MOST_REPLICAS: Final = 100
MOST_PRODUCERS: Final = 100
MOST_CONSUMERS: Final = 64
MOST_COMPRESSIBLE: Final = 0.99
"""The largest compressibility that commands take. A study file may have any number below 1."""
_ENOUGH_KEY_BYTES: Final = 4
_MOST_MIX_BYTES: Final = 4 * MAX_RECORD_BYTES
"""The most that the sizes of a mix may add up to, because a record of each size is kept in memory."""

MOST_RATE_RECORDS_PER_S: Final = 100_000_000
"""The highest fixed rate that a load may have."""
_RANGES: Final = {
    "key_bytes": NumberRange(0, MAX_RECORD_BYTES, whole=True),
    "compressibility_ratio": NumberRange(0, 1, below=True),
    "partitions": NumberRange(1, MOST_PARTITIONS, whole=True),
    "replication": NumberRange(1, MOST_REPLICAS, whole=True),
    "consumers": NumberRange(0, MOST_CONSUMERS, whole=True),
    "warmup_s": NumberRange(0, SECONDS_PER_DAY, unit="seconds"),
    "measured_s": NumberRange(0, SECONDS_PER_DAY, above=True, unit="seconds"),
    "rate_records_per_s": NumberRange(0, MOST_RATE_RECORDS_PER_S, above=True),
    "peak_ratio": NumberRange(1, MOST_PEAK_RATIO),
    "different_keys": NumberRange(1, MOST_KEYS, whole=True),
    "most_frequent_key_ratio": NumberRange(0, 1, below=True),
}
"""The range of each number of a load."""


@dataclass(frozen=True, slots=True)
class RecordSizes:
    """The mix of record sizes in a workload. If all records have the same size, the mix has a single entry.

    Attributes:
        shares: Pairs of a value size in bytes and its share of the records. Sizes ascend, and the shares add up to 1.
            Shares are rounded to 12 digits, so that the text of a mix gives exactly the same mix again.
    """

    shares: tuple[tuple[int, float], ...]

    def __post_init__(self) -> None:
        if not self.shares:
            raise WorkloadRefused("a workload must have at least one record size, but got none")
        for size, share in self.shares:
            if not 1 <= size <= MAX_RECORD_BYTES:
                raise WorkloadRefused(
                    f"a record size must be 1 to {MAX_RECORD_BYTES:,} bytes, but got {size}; "
                    "a record size is the size of the value, without key and headers"
                )
            if not share > 0:
                raise WorkloadRefused(
                    f"the share of each record size must be above 0, but the share of {size} B is {share}"
                )
        sizes = [size for size, _ in self.shares]
        if sizes != sorted(set(sizes)) or not math.isclose(sum(share for _, share in self.shares), 1.0):
            raise WorkloadRefused(f"record sizes must ascend and their shares must add up to 1, but got {self.shares}")
        if sum(sizes) > _MOST_MIX_BYTES:
            raise WorkloadRefused(
                f"the record sizes of a mix must add up to at most {_MOST_MIX_BYTES} bytes, because a record of each "
                f"size is kept in memory, but they add up to {sum(sizes)}; name fewer sizes"
            )
        object.__setattr__(self, "shares", tuple((size, float(f"{share:.12g}")) for size, share in self.shares))

    @classmethod
    def fixed(cls, size_bytes: int) -> Self:
        """Return a mix in which every record has the same size."""
        return cls(((size_bytes, 1.0),))

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse one size such as `1000` or `64KiB`, or a mix such as `100:70,1000:25,10000:5` (sizes with weights).

        Sizes without weights, such as `100,1000`, are refused, because elsewhere they mean two searches. If only some
        sizes have a weight, the others have the weight 1.

        Raises:
            WorkloadRefused: The text does not have this form, or a size or weight is out of range.
        """
        malformed = WorkloadRefused(
            "record sizes must have the form SIZE or SIZE:WEIGHT,SIZE:WEIGHT,..., where a size is a whole number of "
            f"bytes or has a unit, such as 64KiB, but got {text!r}"
        )
        if "," in text and ":" not in text:
            raise malformed
        weights: dict[int, float] = {}
        for part in text.split(","):
            size_text, _, weight_text = part.partition(":")
            try:
                size, weight = _size(size_text), float(weight_text or 1)
            except ValueError:
                raise malformed from None
            if size in weights:
                raise WorkloadRefused(f"a mix may name each record size only once, but {text!r} names {size} twice")
            weights[size] = weight
        total = sum(weights.values())
        if not 0 < total < float("inf"):
            raise WorkloadRefused(f"the weights of a mix must add up to a finite number above 0, but got {text!r}")
        if math.isclose(total, 1.0):  # these are shares already, and a division might change their last digit
            total = 1.0
        return cls(tuple(sorted((size, weight / total) for size, weight in weights.items())))

    @property
    def mean_bytes(self) -> float:
        """Mean value size in bytes."""
        return sum(size * share for size, share in self.shares)

    @property
    def largest_bytes(self) -> int:
        """Largest value size in bytes."""
        return self.shares[-1][0]

    def __str__(self) -> str:
        """Return the sizes and shares as text from which `parse` makes an equal mix: `1000` or `100:0.7,1000:0.3`.

        Records of a study are stored under this text. So it has six digits, as in older releases, where they suffice.
        """
        if len(self.shares) == 1:
            return str(self.shares[0][0])
        six_digits = ",".join(f"{size}:{share:g}" for size, share in self.shares)
        if RecordSizes.parse(six_digits) == self:
            return six_digits
        return ",".join(f"{size}:{share!r}" for size, share in self.shares)


def _size(text: str) -> int:
    """Return the bytes of a size that may have a unit; without one, it must be a whole number."""
    return size_bytes(text) if text.strip()[-1:].isalpha() else int(text)


@dataclass(frozen=True, slots=True)
class Workload:
    """The load that is sent to one topic.

    Attributes:
        record_sizes: Sizes of the values.
        key_bytes: Size of each key. With 0, records have no key, and the client may choose any partition for them.
        compressibility_ratio: Share of each value that a compressor can remove: 0 is random bytes, 0.9 is mostly
            repetition.
        partitions: Number of partitions of the topic, if we create it.
        replication: Number of replicas of each partition, if we create the topic.
        warmup_s: Seconds of load before the measured phase.
        measured_s: Seconds of load that are measured.
        rate_records_per_s: Fixed rate of a paced load (open loop). With None the load is saturating: records are sent
            as fast as the client accepts them.
        consumers: Number of consumers that read the topic at its tail while it is written.
        one_payload: Whether all records have the same value, as some tools send them. A codec then compresses a batch
            to almost nothing.
        different_keys: Number of different keys. None: each prepared record has its own key, up to about 200,000 keys.
        most_frequent_key_ratio: Share of the records that have the most frequent key. The shares of the other keys
            follow Zipf's law. 0: all keys are equally frequent.
        peak_ratio: With a fixed rate, the rate in a burst divided by the mean rate; see `runners.load.pacing`. 1: the
            rate is constant.
        seed: Seed of the random payload, of the choice of the records whose latency is recorded, and of the noise of
            simulated runs.
    """

    record_sizes: RecordSizes
    key_bytes: int = 0
    compressibility_ratio: float = 0.0
    partitions: int = 3
    replication: int = 1
    warmup_s: float = 3.0
    measured_s: float = 10.0
    rate_records_per_s: float | None = None
    # Fields that the first releases did not have are left out of `repr`. The noise of simulated runs depends on this
    # text, so stored simulated studies still get the same noise. See also LATER_SETTINGS.
    consumers: int = field(default=0, repr=False)
    one_payload: bool = field(default=False, repr=False)
    different_keys: int | None = field(default=None, repr=False)
    most_frequent_key_ratio: float = field(default=0.0, repr=False)
    peak_ratio: float = field(default=1.0, repr=False)
    seed: int = 0

    @classmethod
    def of(cls, source: object, **others: Any) -> Self:
        """Return a workload with the settings in `others`, and all other settings from the attributes of `source`.

        Raises:
            WorkloadRefused: A value is out of range.
        """
        rest = {each.name: getattr(source, each.name) for each in fields(cls) if each.name not in others}
        return cls(**rest, **others)

    def __post_init__(self) -> None:
        for name, allowed in _RANGES.items():
            value = getattr(self, name)
            if value is not None and value not in allowed:
                raise WorkloadRefused(f"{name} {allowed.broken_by(value)}")
        if self.one_payload and len(self.record_sizes.shares) > 1:
            raise WorkloadRefused(f"one payload has one size, but got the record sizes {self.record_sizes}")
        self._check_keys()

    def _check_keys(self) -> None:
        """Check that `key_bytes`, `different_keys` and `most_frequent_key_ratio` do not contradict each other."""
        keys, ratio = self.different_keys, self.most_frequent_key_ratio
        if keys is None and ratio:
            raise WorkloadRefused("most_frequent_key_ratio needs different_keys: how many keys there are")
        if keys is None:
            return
        if keys > 256 ** min(self.key_bytes, _ENOUGH_KEY_BYTES):
            raise WorkloadRefused(
                f"key_bytes must be enough for different_keys, but keys of {counted(self.key_bytes, 'byte')} "
                f"can't be {keys:,} different keys; raise key_bytes"
            )
        if ratio and ratio * keys < 1:
            raise WorkloadRefused(
                f"most_frequent_key_ratio >= 1 / different_keys must hold, but got {ratio:g} and 1/{keys}"
            )

    @property
    def load(self) -> str:
        """Kind of load: `saturate` (as fast as the client accepts records) or `paced` (at a fixed rate)."""
        return "saturate" if self.rate_records_per_s is None else "paced"


LATER_SETTINGS: Final[Mapping[str, Any]] = {each.name: each.default for each in fields(Workload) if not each.repr}
"""The settings that the first releases did not have, with the values that stand for their behaviour.

A setting with this value is left out of the identity that is stored with a study or an experiment, so that studies of
older releases can still be resumed.
"""
