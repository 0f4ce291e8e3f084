"""Tests of `tuner.results.comparisons`."""
