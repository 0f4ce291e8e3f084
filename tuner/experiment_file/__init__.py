"""Reads experiment files: from YAML to an `ExperimentSpec`, with an error for every mistake that names line and key."""

from tuner.experiment_file.loading import (
    PAPERS,
    named_experiments,
    paper_experiments,
    parse_experiment,
    read_experiment,
)
from tuner.experiment_file.sections import MOST_ROUNDS

__all__ = ["MOST_ROUNDS", "PAPERS", "named_experiments", "paper_experiments", "parse_experiment", "read_experiment"]
