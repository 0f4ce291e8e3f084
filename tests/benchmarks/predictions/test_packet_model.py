"""The packets of the paper's model, against what they are made of."""

from typing import Final

import pytest

from benchmarks.predictions.packet_model import Packet, PacketModel
from runners.workload import RecordSizes, Workload
from search_spaces.configs.producer_config import ProducerConfig

LOAD: Final = Workload(RecordSizes.fixed(1_000), compressibility_ratio=0.5)


def test_a_packet_has_a_full_batch_of_each_partition() -> None:
    packet = Packet.of(ProducerConfig.parse({"batch.size": 16_384}), LOAD)
    assert packet.records == pytest.approx(3 * (16_384 - 61) / 1_010)
    assert packet.bytes == pytest.approx(3 * 16_384 + 60, rel=0.001)
    assert packet.payload_ratio == pytest.approx(0.99, abs=0.01)
    compressed = Packet.of(ProducerConfig.parse({"batch.size": 16_384, "compression.type": "zstd"}), LOAD)
    assert 0.5 < compressed.bytes / packet.bytes < 0.6


def test_the_fit_finds_the_constants_again() -> None:
    packets = [Packet.of(ProducerConfig.parse({"batch.size": size}), LOAD) for size in (4_096, 16_384, 65_536, 262_144)]
    truth = PacketModel(80e-6, 3e-9, 1.0)
    found = PacketModel.fitted(packets, [truth.records_per_s(each) for each in packets])
    assert (found.fixed_s, found.s_per_byte, found.r_squared) == pytest.approx((80e-6, 3e-9, 1.0), rel=1e-6)
    stored = found.stored_bytes(packets[0], 10.0)
    assert stored == pytest.approx(
        10 * truth.records_per_s(packets[0]) / packets[0].records * packets[0].bytes, rel=0.01
    )
