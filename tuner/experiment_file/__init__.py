"""Reads experiment files: from YAML to an `ExperimentSpec`, with an error for every mistake that names line and key."""

from tuner.experiment_file.loading import (
    PAPERS,
    named_experiments,
    paper_experiments,
    parse_experiment,
    read_experiment,
)

__all__ = ["PAPERS", "named_experiments", "paper_experiments", "parse_experiment", "read_experiment"]
