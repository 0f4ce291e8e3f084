"""Measured tables are read and replayed as they are, and the model ranks their configs like the measurements."""

import pickle
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.problems.agreement import agreements, rank_correlation
from benchmarks.problems.clusters import JAVA_LAPTOP
from benchmarks.problems.table import MeasuredTable, UnreadableTable, embedded_grid, thesis_tables
from benchmarks.problems.table_runner import TableRunner
from objectives.outcome import metrics_of
from runners.errors import WorkloadRefused
from runners.simulated.inputs import EMBEDDED
from runners.workload import RecordSizes, Workload
from search_spaces.producer_config import ProducerConfig

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
DEFAULTS = ProducerConfig.parse({"acks": "all"})


def load(rate: float | None = None, seed: int = 0, size: int = 1_000, partitions: int = 3) -> Workload:
    return Workload(
        RecordSizes.fixed(size), warmup_s=0, measured_s=2, rate_records_per_s=rate, seed=seed, partitions=partitions
    )


def test_the_thesis_has_sixty_cells() -> None:
    assert len(THESIS.rows) == 60
    assert "De Vos Meaker (2020)" in THESIS.source
    cells = {
        (
            row.sizes.mean_bytes,
            row.config.in_force.integer("batch.size"),
            row.config.linger_ms,
            row.config.acks,
            row.config.in_force.integer("max.in.flight"),
        ): (row.metrics["mb_per_s"], row.metrics["saturated_latency_mean_ms"])
        for row in THESIS.rows
    }
    assert len(cells) == 60
    assert cells[1_000, 16_384, 0, 1, 5] == (119.42, 261.591)
    assert cells[10, 16_384, 0, 0, 5] == (3.27, 0.075)
    assert cells[10_000, 1_000_000, 10, 1, 5] == (405.44, 76.791)
    assert cells[100_000, 16_384, 0, 1, 1] == (254.97, 125.199)


def test_the_table_of_the_thesis_notes_its_pitfalls() -> None:
    assert any("acks=0" in note for note in THESIS.notes)
    assert any("buffer" in note for note in THESIS.notes)
    assert any("Java client's defaults" in note for note in THESIS.notes)


def test_the_model_ranks_the_thesis_like_its_measurements() -> None:
    found = {each.metric: each for each in agreements(THESIS, JAVA_LAPTOP)}
    assert found["mb_per_s"].correlation >= 0.7
    assert found["saturated_latency_mean_ms"].correlation >= 0.7
    assert found["mb_per_s"].within_sizes >= 0.7
    assert found["saturated_latency_mean_ms"].within_sizes >= 0.7
    assert len(found["mb_per_s"].measured) == 60
    assert len(found["saturated_latency_mean_ms"].measured) == 55, (
        "latencies with acks=0 are left out, because no broker answered"
    )


def test_the_model_ranks_our_own_grid_like_its_measurements() -> None:
    grid = embedded_grid()
    found = {each.metric: each for each in agreements(grid, EMBEDDED)}
    assert len(grid.rows) == 185
    for objective in ("mb_per_s", "latency_p99_ms"):
        assert found[objective].correlation >= 0.7
        assert len(found[objective].measured) == 169, "the grid and the defaults"


def test_the_model_ranks_latency_among_configs_that_carry_the_rate() -> None:
    """Batches of 16 kB can't carry the rate, so they are easy to rank and raise the correlation over the whole grid."""
    grid = embedded_grid()
    carrying = replace(grid, rows=tuple(row for row in grid.rows if row.metrics["latency_p99_ms"] < 130))
    found = {each.metric: each for each in agreements(carrying, EMBEDDED)}
    assert len(found["latency_p99_ms"].measured) == 113
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
    assert TABLE.notes == ("made up",)


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


def test_a_replay_gives_what_was_measured() -> None:
    quick = ProducerConfig.parse({"acks": "all", "linger.ms": 0.5, "compression.type": "lz4", "batch.size": 65_536})
    runner = TableRunner(TABLE)
    saturated, paced = runner.run(quick, load()), runner.run(quick, load(20_000))
    found = metrics_of(saturated, paced)
    assert found["mb_per_s"] == pytest.approx(400)
    assert found["latency_p50_ms"] == pytest.approx(1.0, rel=0.005)
    assert found["latency_p99_ms"] == pytest.approx(2.0, rel=0.005)
    assert found["held_rate_ratio"] == 1.0
    assert not any(name.startswith("saturated_latency") for name in found), "the table does not have it"
    assert saturated.warnings == ("replayed from a table, not measured: a small grid (nobody)",)
    assert saturated.origin.generator == "simulated"


def test_a_mean_is_replayed_as_a_mean() -> None:
    row = THESIS.rows[2]
    seen = TableRunner(THESIS).run(row.config, Workload(row.sizes, partitions=1, measured_s=2))
    assert metrics_of(seen, None)["saturated_latency_mean_ms"] == pytest.approx(261.591, rel=0.005)


def test_a_latency_with_acks_0_is_no_metric_of_a_trial() -> None:
    local = next(row for row in THESIS.rows if row.config.acks == 0)
    seen = TableRunner(THESIS).run(local.config, Workload(local.sizes, partitions=1, measured_s=2))
    found = metrics_of(seen, None)
    assert found["mb_per_s"] == pytest.approx(3.27, rel=1e-4)
    assert "saturated_latency_mean_ms" not in found


def test_the_seed_selects_the_repeats_in_turn() -> None:
    runner = TableRunner(TABLE)
    assert [round(runner.run(DEFAULTS, load(seed=seed)).mb_per_s) for seed in range(4)] == [250, 260, 250, 260]


def test_a_config_that_sets_a_default_explicitly_is_the_same() -> None:
    spelt = DEFAULTS.updated({"linger.ms": 5})
    assert TableRunner(TABLE).run(spelt, load()).mb_per_s == pytest.approx(250)


def test_noise_can_be_added_to_a_replay() -> None:
    rates = {TableRunner(TABLE, 0.05, 0.0).run(DEFAULTS, load(seed=seed)).mb_per_s for seed in range(0, 20, 2)}
    assert len(rates) == 10
    assert all(200 < rate < 310 for rate in rates)


@pytest.mark.parametrize(
    ("config", "asked", "says"),
    [
        ({"linger.ms": 1}, load(), r"no row for 1000 B with .*linger\.ms=1; .* it has 3 configs: "),
        ({}, load(size=77), r"it has record sizes 1000, 100$"),
        ({}, load(partitions=4), r"has partitions 3 and the workload has 4"),
        ({}, load(rate=30_000), r"has a paced phase at 20000 records/s and the workload asks for 30000"),
        ({"linger.ms": 0, "batch.size": 16_384}, load(rate=20_000), r"needs latency_p50_ms and latency_p99_ms"),
    ],
)
def test_a_run_that_is_not_in_the_table_is_refused(config: dict[str, object], asked: Workload, says: str) -> None:
    with pytest.raises(WorkloadRefused, match=says):
        TableRunner(TABLE).run(DEFAULTS.updated(config), asked)  # type: ignore[arg-type]


def test_a_paced_phase_is_refused_if_the_table_has_none() -> None:
    row = THESIS.rows[0]
    with pytest.raises(WorkloadRefused, match="has no paced phase"):
        TableRunner(THESIS).run(row.config, Workload(row.sizes, partitions=1, rate_records_per_s=10))


def test_a_pickled_table_gives_the_same_numbers() -> None:
    runner = TableRunner(TABLE, 0.05)
    copy = pickle.loads(pickle.dumps(runner))
    asked = load(20_000)
    assert copy.run(DEFAULTS, asked).series == runner.run(DEFAULTS, asked).series


def test_ranks_are_shared_by_equal_values() -> None:
    assert rank_correlation([1, 2, 3, 4], [10, 20, 30, 40]) == pytest.approx(1)
    assert rank_correlation([1, 2, 3, 4], [4, 3, 2, 1]) == pytest.approx(-1)
    # Source: Spearman's formula for ties is Pearson's correlation of the ranks 1, 2.5, 2.5, 4 and 1, 2, 3, 4.
    assert rank_correlation([1, 2, 2, 4], [1, 2, 3, 4]) == pytest.approx(0.9486833)
    assert rank_correlation([1, 1], [1, 2]) != rank_correlation([1, 1], [1, 2]), (
        "NaN, because equal values have no ranks"
    )
