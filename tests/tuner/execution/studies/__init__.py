"""Tests of `tuner.execution.studies`."""
