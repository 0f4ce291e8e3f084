"""A grid search as a user runs it: whole cells, repeats, and tables of the same numbers in every form."""

import csv
import io
import re
from collections import Counter, defaultdict
from functools import cache
from itertools import combinations
from math import exp, log
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest

from search_spaces.librdkafka.knobs import KNOBS
from tests.helpers.command import tuner
from tests.helpers.stored_studies import write_study
from tuner.present.trial_tables.grid_view import NO_LATENCY
from tuner.results.study_results import SIMULATED

_SEARCHED = {
    "linger.ms": "{choices: [0, 5, 20, 100]}",
    "batch.size": "{choices: [65536, 16384, 1000000]}",
    "compression.type": "{choices: [gzip, none]}",
}
_STUDY = """\
study: {name}
workload:
  record_bytes: 1000
  saturate: {{warmup: 0.5s, measured: 1s}}
  paced: {{warmup: 0.5s, measured: 1s}}
search: {{method: grid, repeats: {repeats}, baseline_every: 6, burn_in_max: 1}}
confirm: {{rounds: 0}}
executor: {{kind: simulated}}
space:
"""


def study(folder: Path, name: str, *knobs: str, repeats: int = 1, trials: int | None = None) -> None:
    """Run a simulated study that searches some of the knobs."""
    lines = [f"  {knob}: {_SEARCHED[knob]}\n" for knob in knobs]
    lines += [f"  {knob.name}: off\n" for knob in KNOBS if knob.name not in knobs]
    path = folder / f"{name}.yaml"
    text = _STUDY.format(name=name, repeats=repeats) + "".join(lines)
    path.write_text(text if trials is None else text.replace("method: grid", f"method: grid, trials: {trials}"))
    ran = tuner("run", str(path), "--no-mlflow")
    assert ran.code == 0, ran.err


@pytest.fixture(scope="module")
def studies(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder of studies: a grid of three knobs with repeats, a grid of one knob, and another search."""
    folder = tmp_path_factory.mktemp("grids")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KAFKA_TUNER_STUDIES", str(folder))
        study(folder, "three", *_SEARCHED, repeats=2)
        study(folder, "one", "linger.ms")
    write_study(folder / "other", trials=12, rounds=0)
    return folder


@pytest.mark.campaign
def test_a_grid_that_ends_early_has_cells_without_a_value(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KAFKA_TUNER_STUDIES", str(tmp_path))
    study(tmp_path, "cut", "linger.ms", "batch.size", trials=7)
    assert '<td class="n">-</td>' in (tmp_path / "cut" / "report.html").read_text()


@pytest.fixture(autouse=True)
def _here(studies: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KAFKA_TUNER_STUDIES", str(studies))


@cache
def measured(name: str) -> list[dict[str, str]]:
    rows = csv.DictReader(io.StringIO(tuner("trials", name, "--csv").out))
    return [row for row in rows if row["kind"] in ("search", "baseline")]


@cache
def tables(name: str) -> dict[tuple[str, str, str], dict[str, Any]]:
    found = tuner("grid", name, "--json").json
    assert (found["schema_version"], found["kind"], found["study"]) == (1, "grid", name)
    return {(table["metric"], table["row_knob"], table["column_knob"]): table for table in found["tables"]}


def test_a_grid_measures_each_config_as_often_as_asked_and_to_its_end() -> None:
    times: Counter[tuple[str, ...]] = Counter()
    for row in measured("three"):
        if row["kind"] == "search":
            times[tuple(row[knob] for knob in _SEARCHED)] += 1
            assert row["mb_per_s"], "also a config that can't hold the fixed rate has a throughput"
            assert row["latency_p99_ms"]
    assert len(times) == 4 * 3 * 2 - 1, "the baseline is a config of the grid, and has trials of its own"
    assert set(times.values()) == {2}


def test_a_cell_is_the_mean_over_the_values_of_the_other_knobs() -> None:
    values: dict[tuple[str, str], dict[str, float]] = defaultdict(dict)
    for row in measured("three"):
        values[row["linger.ms"], row["batch.size"]].setdefault(row["compression.type"], float(row["mb_per_s"]))
    table = tables("three")["mb_per_s", "batch.size", "linger.ms"]
    assert table["averaged_over"] == ["compression.type"]
    assert len(table["cells"]) == 12
    for cell in table["cells"]:
        configs = values[cell["column"], cell["row"]]
        assert cell["configs"] == len(configs) == 2
        assert cell["value"] == pytest.approx(exp(fmean(map(log, configs.values()))), rel=1e-6)


def test_each_pair_of_knobs_has_a_table_with_its_values_in_order() -> None:
    found = tables("three")
    pairs = {(row, column) for _, row, column in found}
    assert {frozenset(pair) for pair in pairs} == {frozenset(pair) for pair in combinations(_SEARCHED, 2)}
    assert {metric for metric, _, _ in found} == {"mb_per_s", "latency_p99_ms"}
    table = found["mb_per_s", "batch.size", "linger.ms"]
    assert (table["rows"], table["columns"]) == (["16384", "65536", "1000000"], ["0", "5", "20", "100"])


def test_a_config_that_misses_the_fixed_rate_shows_its_share_of_it() -> None:
    table = tables("three")["latency_p99_ms", "batch.size", "compression.type"]
    cells = {(cell["row"], cell["column"]): cell for cell in table["cells"]}
    slow, fast = cells["16384", "gzip"], cells["1000000", "none"]
    shares = [
        float(row["held_rate_ratio"])
        for row in measured("three")
        if (row["batch.size"], row["compression.type"]) == ("16384", "gzip")
    ]
    assert max(shares) < 0.95
    assert (slow["value"], slow["configs_behind_rate"]) == (None, 4)
    assert slow["held_rate_ratio"] == pytest.approx(fmean(shares))
    assert (fast["configs_behind_rate"], fast["held_rate_ratio"]) == (0, None)


def test_trials_of_a_config_that_misses_the_rate_show_its_share_in_place_of_a_latency() -> None:
    shown = tuner("trials", "three")
    missed = [row for row in measured("three") if float(row["held_rate_ratio"]) < 0.95]
    assert len(re.findall(r"  \d\d % of rate", shown.out)) == len(missed) > 0
    assert NO_LATENCY in shown.complaint
    assert NO_LATENCY not in tuner("trials", "one").complaint


def test_all_formats_of_a_grid_agree_and_piped_text_has_no_colours() -> None:
    rows = [*csv.DictReader(io.StringIO(tuner("grid", "three", "--csv").out))]
    cells = [cell for table in tables("three").values() for cell in table["cells"]]
    assert [row["value"] for row in rows] == ["" if cell["value"] is None else str(cell["value"]) for cell in cells]
    text = tuner("grid", "three", "--record-bytes", "1000").out
    assert re.search(r"  \d\d % of rate", text)
    assert "three: 1000 B records, throughput, MB/s by batch.size (rows) and linger.ms (columns)" in text
    assert "\x1b" not in text


def test_a_grid_of_one_knob_is_a_column_that_holds_the_baseline() -> None:
    found = tables("one")
    assert [*found] == [("mb_per_s", "linger.ms", ""), ("latency_p99_ms", "linger.ms", "")]
    table = found["mb_per_s", "linger.ms", ""]
    values = {cell["row"]: cell["value"] for cell in table["cells"]}
    assert [*table["rows"]] == ["0", "5", "20", "100"]
    baseline = next(each for each in tuner("front", "one", "--json").json["fronts"][0]["front"] if each["is_baseline"])
    assert values["5"] == pytest.approx(baseline["metrics"]["mb_per_s"]), "5 ms is the client's default"


def test_the_report_has_a_coloured_table_for_each_pair(studies: Path) -> None:
    page = (studies / "three" / "report.html").read_text()
    assert page.count('<table class="grid">') == 6
    assert "% of rate</td>" in page
    best = max(cell["value"] for cell in tables("three")["mb_per_s", "batch.size", "linger.ms"]["cells"])
    assert f'style="background: rgb(0 158 115 / 70%)">{best:.0f}</td>' in page


def test_a_simulated_grid_says_so() -> None:
    assert SIMULATED in tuner("grid", "one").complaint
    assert tuner("grid", "one", "--json").json["simulated"] is True
    assert SIMULATED in tuner("trials", "one").complaint
    assert tuner("trials", "one", "--json").json["simulated"] is True
    for forms in ((), ("--json",), ("--csv",)):
        assert SIMULATED in tuner("compare", "one", "three", *forms).complaint
    assert tuner("compare", "one", "three", "--json").json["simulated"] is True


def test_a_study_without_a_grid_search_says_that_it_has_no_tables() -> None:
    shown = tuner("grid", "other")
    assert (shown.code, shown.out) == (0, "")
    assert "did not search a grid" in shown.complaint
