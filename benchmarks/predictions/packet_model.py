"""The throughput model of Wu, Shang and Wolter (2019), for comparison with the performance model of this project.

A producer under full load fills its batches, and sends them in packets with one batch per partition of a broker. The
interval between two packets is a linear function of their size, which is fitted to measurements. The model ignores all
other properties, such as linger.ms and the number of requests in flight.

Source: H. Wu, Z. Shang, K. Wolter (2019), Performance Prediction for the Apache Kafka Messaging System, sections IV-A
to IV-C, equations 1 and 2.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Self

import numpy as np

from runners.performance_model.constants import CODECS
from runners.performance_model.settings import Settings
from runners.workload import Workload
from search_spaces.client_facts.record_format import BATCH_HEADER_BYTES, record_overhead_bytes
from search_spaces.configs.producer_config import ProducerConfig

_PACKET_HEADER_BYTES: Final = 60.0
_INDEX_BYTES: Final = 8.0
_INDEX_EVERY_BYTES: Final = 4_096.0


@dataclass(frozen=True, slots=True)
class Packet:
    """A packet that a producer sends to a broker.

    Attributes:
        records: Records in it, in full batches of all partitions of the broker; N_b p in the paper.
        batch_records: Records in each batch; N_b in the paper.
        bytes: Its size; S_r in the paper.
        value_bytes: Bytes of the values in it, before compression.
    """

    records: float
    batch_records: float
    bytes: float
    value_bytes: float

    @classmethod
    def of(cls, config: ProducerConfig, load: Workload, brokers: int = 1) -> Self:
        """Return the packet that a producer with this config sends when its batches are full (equation 1)."""
        settings, value = Settings.of(config, load), load.record_sizes.mean_bytes
        record = value + load.key_bytes + record_overhead_bytes(int(value), load.key_bytes or None)
        batch_records = max(1.0, min(settings.batch_records, (settings.batch_bytes - BATCH_HEADER_BYTES) / record))
        codec = CODECS.get(settings.codec)
        left = 1.0 - (load.compressibility_ratio * codec.removed(settings.level) if codec else 0.0)
        batch_bytes = (record * batch_records + BATCH_HEADER_BYTES) * left
        partitions = load.partitions / brokers
        return cls(
            batch_records * partitions,
            batch_records,
            batch_bytes * partitions + _PACKET_HEADER_BYTES,
            value * batch_records * partitions,
        )

    @property
    def payload_ratio(self) -> float:
        """The share of values, before compression, in the bytes of a packet; the relative payload in the paper."""
        return self.value_bytes / self.bytes


@dataclass(frozen=True, slots=True)
class PacketModel:
    """The line that gives the interval between packets from their size; f_p in the paper.

    Attributes:
        fixed_s: The interval of an empty packet, in seconds.
        s_per_byte: By how much the interval grows with each byte.
        r_squared: Which share of the variance of the intervals the line explains.
    """

    fixed_s: float
    s_per_byte: float
    r_squared: float

    @classmethod
    def fitted(cls, packets: Sequence[Packet], records_per_s: Sequence[float]) -> Self:
        """Fit the line to measured throughputs by least squares."""
        sizes = np.array([each.bytes for each in packets])
        intervals = np.array([each.records / rate for each, rate in zip(packets, records_per_s, strict=True)])
        slope, fixed = np.polyfit(sizes, intervals, 1)
        left = intervals - (fixed + slope * sizes)
        return cls(float(fixed), float(slope), float(1.0 - left.var() / intervals.var()))

    def records_per_s(self, packet: Packet) -> float:
        """Return the throughput of a producer that sends such packets."""
        return packet.records / max(1e-9, self.fixed_s + self.s_per_byte * packet.bytes)

    def stored_bytes(self, packet: Packet, seconds: float) -> float:
        """Return what a broker has stored after some seconds, with the entries of its offset index (equation 2)."""
        packets = seconds * self.records_per_s(packet) / packet.records
        return (1.0 + _INDEX_BYTES / _INDEX_EVERY_BYTES) * packets * packet.bytes
