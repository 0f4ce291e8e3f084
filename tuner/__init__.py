"""Finds the best Apache Kafka producer configuration for each record size. See `tuner.api`."""

from tuner.api import Study, bench, front, load_study, optuna_study, recommend, run_study

__all__ = ["Study", "bench", "front", "load_study", "optuna_study", "recommend", "run_study"]
