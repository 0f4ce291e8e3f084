"""Tests of `tuner.execution.trials`."""
