"""Kafka's own consumer tool: its summary is read."""

from benchmarks.peers import consumer_performance


def test_the_summary_of_kafka_s_consumer_tool_is_read() -> None:
    line = (
        "2026-11-25 14:23:13:000, 2026-11-25 14:23:14:101, 28.6102, 25.98, 300000, 272479.5, 768, 333, 85.9, 900900.9"
    )
    assert consumer_performance.records_per_s(line, 300_000) == 900_900.9
    assert consumer_performance.records_per_s(line, 300_001) is None
    assert consumer_performance.records_per_s("WARNING: Exiting before consuming the expected number", 1) is None
