"""Tests of `benchmarks.predictions`."""
