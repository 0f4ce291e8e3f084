"""The tables of searches say after how many trials each search had 95 % of the best area."""

from pathlib import Path

from benchmarks.searches.search_runs import StoredSearch
from benchmarks.searches.tables import load, one_table, save, tables


def searched(sampler: str, seed: int, reached_after: int) -> StoredSearch:
    """Return a search of 15 trials that had half of the area at first, and nearly all after this many trials."""
    covered = [0.5 if trial < reached_after else 0.96 for trial in range(1, 16)]
    return StoredSearch("embedded:1000", sampler, seed, 1_260, 0.83, covered, 0.2)


COURSES = [searched("bayesian", seed, after) for seed, after in enumerate((3, 5, 9))]
COURSES += [searched("random", seed, after) for seed, after in enumerate((7, 99, 99))]


def test_searches_that_never_reached_the_area_count_as_longer_than_they_were() -> None:
    head, _, ours, theirs = one_table(COURSES).splitlines()
    assert head.split(" | ")[2:5] == ["trials to 95%: median (quartiles)", "reached by", "area after 15"]
    assert ours == "| `embedded:1000` | bayesian | 5 (5 to 9) | 3 of 3 | 0.96 | 200 |"
    assert theirs == "| `embedded:1000` | random | > 15 (> 15 to > 15) | 1 of 3 | 0.50 | 200 |"


def test_stored_searches_give_the_same_tables(tmp_path: Path) -> None:
    save(tmp_path / "searches.json", COURSES)
    kept = load(tmp_path / "searches.json")
    assert (one_table(kept), tables(kept)) == (one_table(COURSES), tables(COURSES))
