"""Kafka's own tool gets records as ours are: distinct, of the size asked for, the same for the same seed."""

from pathlib import Path

import pytest

from runners.java_tool import write_lines


@pytest.mark.parametrize("size", [10, 1_000, 100_000])
def test_lines_are_distinct_letters_of_one_size(tmp_path: Path, size: int) -> None:
    lines = write_lines(tmp_path / "lines.txt", size, seed=1).read_bytes().splitlines()
    assert {len(line) for line in lines} == {size}
    assert len(set(lines)) == len(lines) >= 200
    assert set(lines[0]) <= set(range(ord("A"), ord("Z") + 1))


def test_the_seed_decides_them(tmp_path: Path) -> None:
    one, same, other = (write_lines(tmp_path / f"{n}", 10_000, seed).read_bytes() for n, seed in enumerate((1, 1, 2)))
    assert one == same != other
