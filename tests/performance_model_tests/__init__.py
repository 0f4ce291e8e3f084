"""Tests of `runners.performance_model`."""
