"""Finds the best Apache Kafka producer config for each record size, by measuring. `tuner.api` shows how to use it."""

from tuner.api import (
    Study,
    bench,
    front,
    load_experiment,
    load_study,
    optuna_study,
    recommend,
    run_experiment,
    run_study,
)

__all__ = [
    "Study",
    "bench",
    "front",
    "load_experiment",
    "load_study",
    "optuna_study",
    "recommend",
    "run_experiment",
    "run_study",
]
