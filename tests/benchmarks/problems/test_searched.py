"""The problems on which samplers are compared."""

import pytest

from benchmarks.problems.searched import TABLES, problem_of


@pytest.mark.parametrize("name", TABLES)
def test_a_measured_table_has_a_value_for_each_config_of_its_search_space(name: str) -> None:
    problem = problem_of(name, noise_ratio=0.0)
    assert all(problem.metrics(config, number=1, seed=0)["held_rate_ratio"] > 0 for config in problem.grid())
    assert problem.best_volume() > 0
