"""Tests of the mirror in MLflow."""
