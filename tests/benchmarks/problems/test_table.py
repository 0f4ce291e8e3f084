"""Measured tables are read as they are, and the model ranks their configs like the measurements."""

from dataclasses import replace
from math import isnan
from pathlib import Path

import pytest

from benchmarks.problems.agreement import agreements, rank_correlation
from benchmarks.problems.clusters import JAVA_LAPTOP
from benchmarks.problems.table import MeasuredTable, UnreadableTable, embedded_grid, thesis_tables
from runners.performance_model.constants import EMBEDDED
from search_spaces.client_facts.record_format import records_in_batch, varint_bytes

THESIS = thesis_tables()
OURS = """\
# title: a small grid
# source: nobody
# base: acks=all
# partitions: 3
# rate_records_per_s: 20000
# note: made up
record_bytes,linger.ms,config,repeat,mb_per_s,latency_p50_ms,latency_p99_ms,held_rate_ratio
1000,,,1,250,4,8,1
1000,,,2,260,4,10,1
1000,0.5,compression.type=lz4 batch.size=65536,1,400,1,2,1
1000,0,batch.size=16384,1,15,,,0.5
100:1,,,1,100,4,9,1
"""
TABLE = MeasuredTable.parse(OURS)


def test_the_thesis_has_sixty_cells() -> None:
    assert len(THESIS.rows) == 60
    assert "De Vos Meaker (2020)" in THESIS.source
    cells = {
        (
            row.sizes.mean_bytes,
            row.config.effective_values.integer("batch.size"),
            row.config.linger_ms,
            row.config.acks,
            row.config.effective_values.integer("max.in.flight"),
        ): (row.metrics["mb_per_s"], row.metrics["saturated_latency_mean_ms"])
        for row in THESIS.rows
    }
    assert len(cells) == 60
    mib = 1.048576
    assert cells[1_000, 16_384, 0, 1, 5] == pytest.approx((119.42 * mib, 261.591))
    assert cells[10, 16_384, 0, 0, 5] == pytest.approx((3.27 * mib, 0.075))
    assert cells[10_000, 1_000_000, 10, 1, 5] == pytest.approx((405.44 * mib, 76.791))
    assert cells[100_000, 16_384, 0, 1, 1] == pytest.approx((254.97 * mib, 125.199))


def test_the_megabyte_of_the_thesis_has_1048576_bytes() -> None:
    """With a full buffer, the mean latency is the buffered records divided by the records per second (Little's law).

    The Java client takes a batch's memory from `buffer.memory`: `batch.size`, or the most that one record can take if
    that is more. Source: `RecordAccumulator.append` and `AbstractRecords.estimateSizeInBytesUpperBound`, kafka-clients.
    """
    ratios = []
    for row in THESIS.rows:
        record_bytes, batch_bytes = int(row.sizes.mean_bytes), row.config.effective_values.integer("batch.size")
        upper_bytes = 61 + 21 + 1 + varint_bytes(record_bytes) + record_bytes + 1
        batches = 33_554_432 // max(batch_bytes, upper_bytes)
        full_ms = batches * records_in_batch(batch_bytes, record_bytes) * record_bytes / row.metrics["mb_per_s"] / 1e3
        ratio = row.metrics["saturated_latency_mean_ms"] / full_ms
        if ratio > 0.1 and record_bytes >= 100:
            ratios.append(ratio)
    assert len(ratios) == 30
    assert ratios == pytest.approx([1.0] * 30, abs=0.005)
    assert all(ratio / 1.048576 < 0.96 for ratio in ratios)


def test_megabytes_are_read_as_1000000_bytes_if_the_table_says_nothing() -> None:
    (row, *_) = TABLE.rows
    assert row.metrics["mb_per_s"] == 250
    (converted, *_) = MeasuredTable.parse(OURS.replace("# note", "# megabyte_bytes: 1048576\n# note")).rows
    assert converted.metrics["mb_per_s"] == pytest.approx(262.144)
    with pytest.raises(UnreadableTable, match="megabyte_bytes"):
        MeasuredTable.parse(OURS.replace("# note", "# megabyte_bytes: MiB\n# note"))


def test_the_model_ranks_the_thesis_like_its_measurements() -> None:
    found = {each.metric: each for each in agreements(THESIS, JAVA_LAPTOP)}
    assert found["mb_per_s"].correlation >= 0.7
    assert found["saturated_latency_mean_ms"].correlation >= 0.7
    assert found["mb_per_s"].within_sizes >= 0.7
    assert found["saturated_latency_mean_ms"].within_sizes >= 0.7
    assert found["mb_per_s"].configs == 60
    assert found["saturated_latency_mean_ms"].configs == 55, (
        "latencies with acks=0 are left out, because no broker answered"
    )


def test_the_model_ranks_our_own_grid_like_its_measurements() -> None:
    grid = embedded_grid()
    found = {each.metric: each for each in agreements(grid, EMBEDDED)}
    assert len(grid.rows) == 185
    for objective in ("mb_per_s", "latency_p99_ms"):
        assert found[objective].correlation >= 0.7
        assert found[objective].configs == 169, "the grid and the defaults"


def test_the_model_ranks_latency_among_configs_that_carry_the_rate() -> None:
    """Batches of 16 kB can't carry the rate, so they are easy to rank and raise the correlation over the whole grid."""
    grid = embedded_grid()
    carrying = replace(grid, rows=tuple(row for row in grid.rows if row.metrics["latency_p99_ms"] < 130))
    found = {each.metric: each for each in agreements(carrying, EMBEDDED)}
    assert found["latency_p99_ms"].configs == 113
    assert found["latency_p99_ms"].correlation >= 0.5
    assert found["mb_per_s"].correlation >= 0.7


def test_columns_of_properties_and_name_value_pairs_make_a_config() -> None:
    assert [dict(row.config.pairs) for row in TABLE.rows[1:4]] == [
        {"acks": "-1"},
        {"acks": "-1", "batch.size": "65536", "compression.type": "lz4", "linger.ms": "0.5"},
        {"acks": "-1", "batch.size": "16384", "linger.ms": "0"},
    ]
    assert TABLE.rows[3].metrics == {"mb_per_s": 15.0, "held_rate_ratio": 0.5}
    assert TABLE.rows[0].rate_records_per_s == 20_000


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("# title: a small grid\n", "", "# title"),
        ("# source: nobody\n", "", "# source"),
        ("record_bytes,", "size,", "column record_bytes"),
        ("1000,,,1,250", "1000,,,1,fast", r"mb_per_s in table, line 8 is 'fast'"),
        ("1000,,,1,250,4,8,1", "1000,,,1,250", "as many cells"),
        ("compression.type=lz4", "compression.type:lz4", "name=value"),
        ("compression.type=lz4", "compression.type=lz5", "line 10"),
        ("1000,,,2", "0,,,2", "line 9"),
    ],
)
def test_an_unreadable_table_is_refused_with_the_line(old: str, new: str, says: str) -> None:
    assert old in OURS
    with pytest.raises(UnreadableTable, match=says):
        MeasuredTable.parse(OURS.replace(old, new))


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnreadableTable, match=r"missing\.csv"):
        MeasuredTable.load(tmp_path / "missing.csv")
    (tmp_path / "there.csv").write_text(OURS)
    assert MeasuredTable.load(tmp_path / "there.csv") == TABLE


def test_ranks_are_shared_by_equal_values() -> None:
    assert rank_correlation([1, 2, 3, 4], [10, 20, 30, 40]) == pytest.approx(1)
    assert rank_correlation([1, 2, 3, 4], [4, 3, 2, 1]) == pytest.approx(-1)
    # Source: Spearman's formula for ties is Pearson's correlation of the ranks 1, 2.5, 2.5, 4 and 1, 2, 3, 4.
    assert rank_correlation([1, 2, 2, 4], [1, 2, 3, 4]) == pytest.approx(0.9486833)
    assert isnan(rank_correlation([1, 1], [1, 2])), "equal values have no ranks"
