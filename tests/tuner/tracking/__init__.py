"""Tests of `tuner.tracking`, the mirror of studies in MLflow."""
