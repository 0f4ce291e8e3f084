"""Computes the number of records in a full batch, and the mean number in the batches that `batch.size` ends.

librdkafka limits a batch by its uncompressed size. The Java client limits the compressed size. It estimates this size
with a ratio that it learns from the batches that it has sent to the topic. This module follows its classes
`CompressionRatioEstimator`, `RecordAccumulator` and `BuiltInPartitioner` (Kafka 4.3). Numbers without another source
come from the log of a broker to which the client sent records of 100 B and 1 kB, in batches of 16 kB to 1 MB.
"""

from dataclasses import dataclass
from typing import Final, Self

import numpy as np

from runners.performance_model.columns import Array, Columns
from runners.performance_model.smoothing import smooth_min
from search_spaces.client_facts.record_format import BATCH_HEADER_BYTES

ESTIMATION_FACTOR: Final = 1.05
"""The Java client multiplies its estimate of the compressed size by this, so that batches stay below their limit.

Source: `MemoryRecordsBuilder.estimatedBytesWritten`.
"""
_LEARNT_PER_BATCH: Final = 0.005
"""By how much the client lowers its ratio after a batch that was compressed better.

Source: `CompressionRatioEstimator`.
"""
_USUAL_EXCESS: Final = 0.045
"""By how much the client's ratio is usually above the true one.

After a batch that was compressed worse than estimated, even by very little, the client raises its ratio by at least
0.05. Ten batches later it is back, and soon comes another such batch. Source: `CompressionRatioEstimator`, and full
batches of 16 kB to 1 MB in our tables of the Java client, where the ratio was 0.025 to 0.05 too large.
"""
_FRAME_BYTES: Final = 15.0
"""What a codec adds to a batch, such as its own header. Source: lz4 and snappy on one record of 100 B."""
_TAKEN_RATIO: Final = 0.42
"""The share of the batches that a request takes along before they are full. Source: the log, without a codec."""
_FEW_REQUESTS: Final = 6.0
"""If a batch fills in less time than this many requests take, the client sometimes sends a batch of one record.

Source: with a codec, batches of 16 kB were as small as after such a batch, and batches of 128 kB were not.
"""
_FEW_POWER: Final = 6.0
_BY_SIZE_POWER: Final = 16.0
_RARELY: Final = 10.0
"""If a batch holds this many times the records that come during `linger.ms`, it practically never fills."""


@dataclass(slots=True)
class FullBatches:
    """The full batches of each load.

    The attributes have the shape (1, loads). The arrays that `Stages` passes may also have (clusters, loads).

    Attributes:
        settings: The client's settings.
        record_bytes: Size of a record in an uncompressed batch.
        usual_ratio: Compressed size of a record as a share of its size, as the Java client estimates it after many full
            batches; 1 without a codec, and for librdkafka.
        alone_ratio: The same after a batch that had a single record.
        takes_along: Whether requests take along batches that are not full: those of a Java client that stays on one of
            several partitions until a batch ends. 0 or 1.
    """

    settings: Columns
    record_bytes: Array
    usual_ratio: Array
    alone_ratio: Array
    takes_along: Array

    @classmethod
    def of(
        cls,
        settings: Columns,
        load: Columns,
        record_bytes: Array,
        removed_bytes: Array,
        removed_alone_bytes: Array,
        compresses: Array,
    ) -> Self:
        """Return the full batches of each load.

        Args:
            settings: The client's settings.
            load: The loads.
            record_bytes: Size of a record in an uncompressed batch.
            removed_bytes: What the codec removes of a record in a large batch.
            removed_alone_bytes: What the codec removes of a record that is alone in its batch.
            compresses: Whether there is a codec, 0 or 1.
        """
        estimates = settings.counts_compressed * compresses

        def estimated(kept_bytes: Array) -> Array:
            return np.where(estimates, ESTIMATION_FACTOR * kept_bytes / record_bytes, 1.0)

        usual_ratio = estimated(record_bytes * (1.0 + _USUAL_EXCESS) - removed_bytes)
        alone_ratio = estimated(record_bytes - removed_alone_bytes + _FRAME_BYTES)
        return cls(settings, record_bytes, usual_ratio, alone_ratio, settings.sticks_by_bytes * (load.partitions > 1))

    def usual_records(self) -> Array:
        """Return the number of records in a full batch; 1 if a single record is larger than the batch limit."""
        return self._records(self.usual_ratio)

    def records_at(self, rate: Array, request_s: Array, elapsed_s: Array) -> Array:
        """Return the number of records in a full batch, if the client sends at a constant rate.

        The number is smaller than usual until the Java client has learnt the usual ratio. The client forgets this ratio
        with each batch of a single record.

        Args:
            rate: The rate of one producer, in records per second.
            request_s: Time between the moments at which the client's thread can send a request.
            elapsed_s: Time since the producer began to send.
        """
        requests = self.usual_records() / (rate * request_s)
        forgets = self.takes_along / (1.0 + (requests / _FEW_REQUESTS) ** _FEW_POWER)
        learnt = self.alone_ratio**forgets * self.usual_ratio ** (1.0 - forgets)
        # A request takes along a part of each batch before it is full. So two batches end in the time that fills one.
        batches = 2.0 * rate * elapsed_s * self.record_bytes / self.settings.batch_bytes
        return self._records(np.maximum(learnt, self.alone_ratio - _LEARNT_PER_BATCH * batches))

    def mean_records(self, full: Array, waited: Array, rate: Array, request_s: Array) -> Array:
        """Return the mean number of records in the batches that end because of their size.

        If a batch of the Java client is full, the client moves on to another partition. The request with the full batch
        takes along what this partition has so far. The client stays there until one more batch is full.

        Args:
            full: Number of records in a full batch.
            waited: Number of records that arrive while a batch waits for `linger.ms`.
            rate: The rate of one producer, in records per second.
            request_s: Time between the moments at which the client's thread can send a request.
        """
        taken = smooth_min(rate * request_s / 2.0, full)
        by_size = 1.0 / (1.0 + np.minimum(_RARELY, full / waited) ** _BY_SIZE_POWER)
        return full * (1.0 - self.takes_along * by_size * _TAKEN_RATIO * (1.0 - taken / full))

    def _records(self, ratio: Array) -> Array:
        settings = self.settings
        by_bytes = (settings.batch_bytes - BATCH_HEADER_BYTES) // (self.record_bytes * ratio)
        return np.maximum(1.0, np.minimum(np.minimum(settings.batch_records, by_bytes), settings.queue_records))
