"""Tests of `tuner.execution`."""
